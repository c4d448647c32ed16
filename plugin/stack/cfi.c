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
 * @fde_start: Of the one that runs.
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
	__u64 fde_start;
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
	size_t want = 2 * b->room_rows;
	struct cfi_row *rows;

	/* Files have a row in 6 to 9 bytes of CFI. Room that is not used takes no memory. */
	if (!want)
		want = 256 + (b->elf.eh_frame.bytes + b->elf.debug_frame.bytes) / 4;
	if (want > MAX_ROWS)
		want = MAX_ROWS;
	if (want == b->room_rows)
		return -E2BIG;
	rows = reallocarray(b->table->rows, want, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	b->table->rows = rows;
	b->room_rows = want;
	return 0;
}

/* @vaddr: not before the last row's. Rows of no bytes go, equal neighbours merge. */
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
	else if (vaddr == b->fde_start)
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
	const struct cfi_program prog = cfi_frames__program(&b->frames, fde);
	const struct walk_rule nothing = {};
	int err = 0;

	if (prog.end <= b->covered)
		return 0;
	if (prog.start > b->covered) {
		err = fill_gap(b, prog.start);
		b->covered = prog.start;
	}
	b->fde_start = prog.start;
	b->ends = false;
	err = err ?: cfi_program__run(&prog, add_fde_row, b);
	b->covered = prog.end;
	return err ?: add_row(b, prog.end, &nothing);
}

/* ------------------------------------------------------------------ all of it */

/* By eight bits of their addresses; in the order of @from where these are equal. */
static void sort_by(const struct cfi_fde *from, struct cfi_fde *to, size_t nr, int shift)
{
	size_t next[256] = {}, sum = 0, here;

	for (size_t i = 0; i < nr; i++)
		next[from[i].start >> shift & 0xff]++;
	for (int digit = 0; digit < 256; digit++) {
		here = next[digit];
		next[digit] = sum;
		sum += here;
	}
	for (size_t i = 0; i < nr; i++)
		to[next[from[i].start >> shift & 0xff]++] = from[i];
}

/*
 * By address, and otherwise in the order of the file, .eh_frame first. Digit by digit, because
 * qsort(3) would take as long as all the rest.
 */
static int sort_fdes(struct cfi_frames *frames)
{
	struct cfi_fde *fdes = frames->fdes, *other;
	size_t nr = frames->nr_fdes;
	bool is_sorted = true;
	__u64 differ = 0;

	for (size_t i = 1; i < nr; i++) {
		differ |= fdes[i].start ^ fdes[0].start;
		is_sorted &= fdes[i].start >= fdes[i - 1].start;
	}
	if (is_sorted)
		return 0;
	other = reallocarray(NULL, nr, sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (int shift = 0; shift < 64; shift += 8) {
		if (!(differ >> shift & 0xff))
			continue;
		sort_by(fdes, other, nr, shift);
		frames->fdes = other;
		other = fdes;
		fdes = frames->fdes;
	}
	free(other);
	return 0;
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

/* Up to half of it is unused. */
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
	err = cfi_elf__init(&b->elf, fd, image, bytes) ?: cfi_frames__init(&b->frames, &b->elf);
	if (err)
		return err;
	if (!b->frames.nr_fdes)
		return -ENODATA;
	err = sort_fdes(&b->frames) ?: add_all(b);
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
