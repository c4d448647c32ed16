// SPDX-License-Identifier: GPL-2.0-only
/*
 * The FDEs of a file, sorted by address, are run one after the other; each of their rules becomes a
 * row. The first FDE wins where two overlap, and .eh_frame wins over .debug_frame.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "cfi.h"
#include "cfi_elf.h"
#include "cfi_read.h"

/* 256 MB of them; the largest of programs have a few millions. */
#define MAX_ROWS	(16U << 20)
#define FIRST_SLOTS	1024
/* How far the code at the entry point goes on, where nothing says so. */
#define ENTRY_BYTES	4096

/**
 * struct builder - A table in the making.
 * @slots: Rules by hash: their index + 1; 0: free. At most half of them are taken.
 * @secret: Keeps a file's author from choosing where rules collide.
 * @covered: All rows below are final.
 * @fde: The one that runs.
 * @ends: Its rules end the stack, from its first address on.
 */
struct builder {
	struct cfi_elf elf;
	struct cfi_frames frames;
	struct cfi_table *table;
	size_t room_rows, room_rules;
	__u32 *slots;
	size_t nr_slots;
	__u64 secret[2];
	__u64 covered;
	const struct cfi_fde *fde;
	bool ends;
};

/* ------------------------------------------------------------------ rules */

static size_t hash_rule(const struct builder *b, const struct walk_rule *rule)
{
	unsigned __int128 product;
	__u64 words[2];

	memcpy(words, rule, sizeof(words));
	product = (unsigned __int128)(words[0] ^ b->secret[0]) * (words[1] ^ b->secret[1]);
	return ((__u64)product ^ (__u64)(product >> 64)) & (b->nr_slots - 1);
}

/* The slot of a rule, or the free one where it belongs. */
static __u32 *find_slot(const struct builder *b, const struct walk_rule *rule)
{
	size_t i = hash_rule(b, rule);

	while (b->slots[i] && memcmp(&b->table->rules[b->slots[i] - 1], rule, sizeof(*rule)))
		i = (i + 1) & (b->nr_slots - 1);
	return &b->slots[i];
}

static int grow_rules(struct builder *b)
{
	size_t want = b->nr_slots ? 2 * b->nr_slots : FIRST_SLOTS;
	struct walk_rule *rules = reallocarray(b->table->rules, want / 2, sizeof(*rules));
	__u32 *slots;

	if (!rules)
		return -ENOMEM;
	b->table->rules = rules;
	slots = calloc(want, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(b->slots);
	b->slots = slots;
	b->nr_slots = want;
	for (size_t i = 0; i < b->table->nr_rules; i++)
		*find_slot(b, &rules[i]) = i + 1;
	return 0;
}

/* Return: its index, or a negative errno. */
static int add_rule(struct builder *b, const struct walk_rule *rule)
{
	struct cfi_table *t = b->table;
	__u32 *slot = find_slot(b, rule);
	int err;

	if (*slot)
		return *slot - 1;
	if (t->nr_rules == WALK_MAX_RULES)
		return -E2BIG;
	if (t->nr_rules == b->nr_slots / 2) {
		err = grow_rules(b);
		if (err)
			return err;
		slot = find_slot(b, rule);
	}
	t->rules[t->nr_rules++] = *rule;
	*slot = t->nr_rules;
	return t->nr_rules - 1;
}

/* ------------------------------------------------------------------ rows */

static int grow_rows(struct builder *b)
{
	size_t want = b->room_rows ? 2 * b->room_rows : 256;
	struct cfi_row *rows;

	if (want > MAX_ROWS)
		return -E2BIG;
	rows = reallocarray(b->table->rows, want, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	b->table->rows = rows;
	b->room_rows = want;
	return 0;
}

/* From an address on, which is none before the last row's. Rows of no bytes go, equal ones merge. */
static int add_row(struct builder *b, __u64 vaddr, const struct walk_rule *rule)
{
	struct cfi_table *t = b->table;
	int idx = add_rule(b, rule), err;

	if (idx < 0)
		return idx;
	if (t->nr_rows && t->rows[t->nr_rows - 1].vaddr == vaddr)
		t->nr_rows--;
	if (idx == (int)(t->nr_rows ? t->rows[t->nr_rows - 1].rule : 0))
		return 0;
	if (t->nr_rows == b->room_rows) {
		err = grow_rows(b);
		if (err)
			return err;
	}
	t->rows[t->nr_rows++] = (struct cfi_row) { .vaddr = vaddr, .rule = idx };
	return 0;
}

/*
 * A function that ends the stack at its very first instruction may have been made a return address
 * without a call, as makecontext(3) does with __start_context. The program's own start was not.
 */
static int add_fde_row(void *ctx, __u64 vaddr, const struct walk_rule *rule)
{
	struct builder *b = ctx;
	struct walk_rule changed = *rule;

	if (rule->cfa != WALK_CFA_END)
		b->ends = false;
	else if (vaddr == b->fde->start)
		b->ends = vaddr != b->elf.entry;
	if (b->ends)
		changed.cfa_add = 1;
	return add_row(b, vaddr > b->covered ? vaddr : b->covered, &changed);
}

/* No CFI for [b->covered, end), but the program's start may be in there (ld.so's has none). */
static int fill_gap(struct builder *b, __u64 end)
{
	const struct walk_rule ends = { .cfa = WALK_CFA_END }, nothing = {};
	const struct cfi_segment *seg;
	__u64 entry = b->elf.entry;
	int err;

	if (!entry || entry < b->covered || entry >= end)
		return 0;
	seg = cfi_elf__segment(&b->elf, entry);
	if (!seg)
		return 0;
	err = add_row(b, entry, &ends);
	if (end > seg->end)
		end = seg->end;
	if (end - entry > ENTRY_BYTES)
		end = entry + ENTRY_BYTES;
	return err ?: add_row(b, end, &nothing);
}

static int add_fde_rows(struct builder *b, const struct cfi_fde *fde)
{
	const struct walk_rule nothing = {};
	int err;

	if (fde->end <= b->covered)
		return 0;
	err = fde->start > b->covered ? fill_gap(b, fde->start) : 0;
	if (err)
		return err;
	if (fde->start > b->covered)
		b->covered = fde->start;
	b->fde = fde;
	b->ends = false;
	err = cfi_frames__run(&b->frames, &b->elf, fde, add_fde_row, b);
	b->covered = fde->end;
	return err ?: add_row(b, fde->end, &nothing);
}

/* ------------------------------------------------------------------ all of it */

static int compare_fdes(const void *a, const void *b)
{
	const struct cfi_fde *fa = a, *fb = b;

	if (fa->start != fb->start)
		return fa->start < fb->start ? -1 : 1;
	if (fa->is_debug != fb->is_debug)
		return fa->is_debug < fb->is_debug ? -1 : 1;
	return fa->code < fb->code ? -1 : fa->code > fb->code;
}

static void sort_fdes(struct cfi_frames *frames)
{
	for (size_t i = 1; i < frames->nr_fdes; i++) {
		if (compare_fdes(&frames->fdes[i - 1], &frames->fdes[i]) > 0) {
			qsort(frames->fdes, frames->nr_fdes, sizeof(*frames->fdes), compare_fdes);
			return;
		}
	}
}

static int add_all(struct builder *b)
{
	const struct walk_rule nothing = {};
	int err = grow_rules(b);

	if (!err)
		err = add_rule(b, &nothing);
	for (size_t i = 0; i < b->frames.nr_fdes && err >= 0; i++)
		err = add_fde_rows(b, &b->frames.fdes[i]);
	return err ?: fill_gap(b, ~0ULL);
}

/* Doubling has left up to half of it unused. */
static void trim(struct cfi_table *t)
{
	struct cfi_row *rows = reallocarray(t->rows, t->nr_rows, sizeof(*rows));
	struct walk_rule *rules = reallocarray(t->rules, t->nr_rules, sizeof(*rules));

	t->rows = rows ?: t->rows;
	t->rules = rules ?: t->rules;
}

static int build(struct builder *b, int fd, const void *image, size_t bytes)
{
	int err;

	memcpy(b->secret, (const void *)getauxval(AT_RANDOM), sizeof(b->secret));
	err = cfi_elf__init(&b->elf, fd, image, bytes) ?:
	      cfi_frames__read(&b->frames, &b->elf, false) ?:
	      cfi_frames__read(&b->frames, &b->elf, true);
	if (err)
		return err;
	if (!b->frames.nr_fdes)
		return -ENODATA;
	sort_fdes(&b->frames);
	err = add_all(b);
	if (!err && !b->table->nr_rows)
		return -ENODATA;
	if (!err)
		trim(b->table);
	return err;
}

static int new_table(int fd, const void *image, size_t bytes, struct cfi_table **ret)
{
	struct builder b = {};
	int err;

	b.table = calloc(1, sizeof(*b.table));
	if (!b.table)
		return -ENOMEM;
	err = build(&b, fd, image, bytes);
	free(b.slots);
	cfi_frames__exit(&b.frames);
	cfi_elf__exit(&b.elf);
	if (err)
		cfi_table__free(b.table);
	else
		*ret = b.table;
	return err;
}

int cfi_table__new(int fd, struct cfi_table **ret)
{
	return fd < 0 ? -EBADF : new_table(fd, NULL, 0, ret);
}

int cfi_table__new_image(const void *image, size_t bytes, struct cfi_table **ret)
{
	return new_table(-1, image, bytes, ret);
}

void cfi_table__free(struct cfi_table *t)
{
	if (!t)
		return;
	free(t->rows);
	free(t->rules);
	free(t);
}
