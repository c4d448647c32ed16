// SPDX-License-Identifier: GPL-2.0-only
// sources: plugin/stack/tables.c plugin/stack/walk.c plugin/stack/walk_plain.c
// libs: -liberty
/*
 * walk_fuzz.c - random files into the walker's tables, random mappings of them, random stacks.
 *
 * Any walk must end: within the depth asked for, without touching anything but the tables and the
 * copy. After that the arrays themselves are overwritten with input, as a walk would see them while
 * another process is being written, or with a damaged one.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stack/cfi.h"
#include "stack/tables.h"
#include "stack/walk.h"

#define MAX_FILES	4
#define MAX_ROWS	512
#define MAX_RULES	64
#define MAX_MAPS	16
#define MAX_STACK	4096
#define MAX_DEPTH	1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct input {
	const uint8_t *data;
	size_t bytes;
};

/* The next bytes of input; zeroes behind its end. */
static void take(struct input *in, void *to, size_t bytes)
{
	size_t have = in->bytes < bytes ? in->bytes : bytes;

	memset(to, 0, bytes);
	memcpy(to, in->data, have);
	in->data += have;
	in->bytes -= have;
}

static __u32 take_u8(struct input *in)
{
	__u8 value;

	take(in, &value, sizeof(value));
	return value;
}

static __u32 take_u16(struct input *in)
{
	__u16 value;

	take(in, &value, sizeof(value));
	return value;
}

static __u64 take_u64(struct input *in)
{
	__u64 value;

	take(in, &value, sizeof(value));
	return value;
}

/* Mostly what makes sense: else no walk gets far. */
static void take_rule(struct input *in, struct walk_rule *rule)
{
	__u32 how = take_u8(in);

	if (how & 0x80) {
		take(in, rule, sizeof(*rule));
		return;
	}
	*rule = (struct walk_rule) {
		.cfa = how % (WALK_CFA_END + 1), .cfa_off = 8 * (take_u8(in) % 16),
		.cfa_add = how & 0x40 ? 11 : 0, .ra_off = -8,
		.ra = how & 0x20 && how & 0x10 ? WALK_RA_RDI : WALK_RA_CFA,
		.bp = how % 5, .bx = how % 3, .bp_off = -16, .bx_off = -24,
	};
}

static void add_file(struct input *in, struct walk_tables *t, struct walk_file *ret)
{
	static struct cfi_row rows[MAX_ROWS];
	static struct walk_rule rules[MAX_RULES];
	struct cfi_table cfi = { .rows = rows, .rules = rules };
	__u64 vaddr = take_u16(in), step;

	cfi.nr_rules = 1 + take_u8(in) % (MAX_RULES - 1);
	memset(&rules[0], 0, sizeof(rules[0]));
	for (size_t i = 1; i < cfi.nr_rules; i++)
		take_rule(in, &rules[i]);
	cfi.nr_rows = take_u8(in) * 2;
	for (size_t i = 0; i < cfi.nr_rows; i++) {
		rows[i] = (struct cfi_row) { vaddr, take_u8(in) % cfi.nr_rules };
		/* mostly near; sometimes pages away, or where no page is left */
		step = take_u8(in);
		if (step == 0xff)
			step = take_u64(in) >> 20;
		else if (step >= 0xf8)
			step = take_u16(in) * 8;
		vaddr += 1 + step;
	}
	walk_tables__add(t, &cfi, ret);
}

/* One behind the other, each of the first 128 KB of a file's code or less. */
static __u32 add_maps(struct input *in, const struct walk_memory *mem, const struct walk_file *files,
		      size_t nr_files)
{
	__u32 nr = 1 + take_u8(in) % MAX_MAPS;

	for (__u32 i = 0; i < nr; i++) {
		const struct walk_file *file = &files[take_u8(in) % nr_files];
		__u64 start = 0x100000 + i * 0x20000;

		mem->maps[i] = (struct walk_map) {
			.start = start, .end = start + 0x20000 - take_u8(in),
			.bias = start - ((__u64)file->first_page << WALK_PAGE_SHIFT),
			.kind = take_u8(in) % 8, .first_page = file->first_page,
			.page_base = file->page_base, .nr_pages = file->nr_pages,
		};
		if (mem->maps[i].kind > WALK_MAP_FP)
			mem->maps[i].kind = WALK_MAP_TABLE;
	}
	return nr;
}

static __u64 take_code(struct input *in, __u32 nr_maps)
{
	return 0x100000 + take_u8(in) % nr_maps * 0x20000 + take_u16(in);
}

/* What a stack or register holds: code, stack, or anything. */
static __u64 take_word(struct input *in, __u32 nr_maps, __u64 sp)
{
	switch (take_u8(in) % 8) {
	case 0:
		return take_u64(in);
	case 1:
	case 2:
		return sp + 8 * take_u8(in);
	default:
		return take_code(in, nr_maps);
	}
}

static void take_copy(struct input *in, __u32 nr_maps, struct walk_copy *copy)
{
	struct walk_regs *regs = &copy->regs;
	__u64 *words[] = {
		&regs->bp, &regs->bx, &regs->rax, &regs->rdi, &regs->r10, &regs->r11,
		&copy->returns[0], &copy->returns[1], &copy->trampoline,
	};
	__u32 flags = take_u8(in);

	*copy = (struct walk_copy) {
		.exact = flags & 1, .skip_leaf = flags >> 1 & 1, .call_site = flags >> 2 & 1,
	};
	regs->sp = flags & 0x30 ? 0x7ff000 : take_u64(in);
	regs->ip = take_code(in, nr_maps);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		*words[i] = take_word(in, nr_maps, regs->sp);
}

static void walk_once(struct input *in, const struct walk_memory *mem, __u32 nr_maps)
{
	static __u64 ips[MAX_DEPTH];
	static bool exact[MAX_DEPTH];
	struct walk_copy copy;
	struct walk_input walk = {
		.mem = mem, .proc = { .nr = nr_maps }, .copy = &copy, .exact = exact,
	};
	__u64 *stack;
	int status;
	__u32 nr;

	take_copy(in, nr_maps, &copy);
	walk.max = take_u16(in) % (MAX_DEPTH + 1);
	walk.stack_bytes = take_u16(in) % (MAX_STACK + 1);
	/* of its size exactly: a sanitizer sees reads beyond it */
	stack = malloc(walk.stack_bytes);
	walk.stack = stack;
	for (size_t i = 0; i < walk.stack_bytes / 8; i++)
		stack[i] = take_word(in, nr_maps, copy.regs.sp);
	take(in, (char *)stack + (walk.stack_bytes & ~7ULL), walk.stack_bytes & 7);
	status = walk_stack(&walk, ips, &nr);
	if (nr > walk.max || status < 0 || status >= WALK_STATUS_NR || status == WALK_RUNNING)
		abort();
	free(stack);
}

/* Rows of chunks that exist; everything else as it comes. */
static void damage(struct input *in, const struct walk_memory *mem)
{
	take(in, mem->maps, sizeof(*mem->maps) * 2);
	take(in, &mem->pages[take_u8(in)], sizeof(*mem->pages));
	take(in, &mem->chunk(mem->ctx, 0)[take_u16(in) % WALK_CHUNK_ROWS], sizeof(__u32));
	take(in, &mem->rules[take_u8(in)], sizeof(*mem->rules));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct walk_file files[MAX_FILES] = {};
	struct input in = { data, bytes };
	struct walk_memory *mem;
	struct walk_tables *t;
	size_t nr_files = 1 + take_u8(&in) % MAX_FILES;
	__u32 nr_maps;

	if (walk_memory__new_plain(&mem) || walk_tables__new(mem, &t))
		abort();
	for (size_t i = 0; i < nr_files; i++)
		add_file(&in, t, &files[i]);
	nr_maps = add_maps(&in, mem, files, nr_files);
	walk_once(&in, mem, nr_maps);
	damage(&in, mem);
	walk_once(&in, mem, nr_maps);
	walk_tables__free(t);
	walk_memory__free_plain(mem);
	return 0;
}
