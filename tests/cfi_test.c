// SPDX-License-Identifier: GPL-2.0-only
/*
 * cfi_test.c - call frame information written by hand, and what becomes of it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "stack/cfi.h"

/* Where the linker is told to put code. */
#define TEXT	0x10000

#define RBP	"6"
#define RSP	"7"
#define RIP	"16"

struct built {
	char dir[32];
	struct cfi_table *table;
	int fd;
};

static int run(const char *fmt, const char *dir, const char *options)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, dir, options);
	return system(command);
}

static void write_source(const struct built *b, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/a.s", b->dir);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* Assemble and link; the file is open in b->fd. */
static void build_file(struct built *b, const char *text, const char *ld_options)
{
	char path[64];

	strcpy(b->dir, "/tmp/cfi_test.XXXXXX");
	if (!mkdtemp(b->dir))
		abort();
	write_source(b, text);
	if (run("cd %s && as -o a.o a.s && ld -shared -Ttext=0x10000 --eh-frame-hdr %s -o a a.o 2>log",
		b->dir, ld_options))
		abort();
	snprintf(path, sizeof(path), "%s/a", b->dir);
	b->fd = open(path, O_RDONLY);
	if (b->fd < 0)
		abort();
}

static int compile(struct built *b, const char *text, const char *ld_options)
{
	build_file(b, text, ld_options);
	return cfi_table__new(b->fd, &b->table);
}

static void remove_built(struct built *b)
{
	cfi_table__free(b->table);
	if (!*b->dir)
		return;
	close(b->fd);
	run("rm -r %s%s", b->dir, "");
}

static const struct cfi_row *find_row(const struct cfi_table *t, __u64 vaddr)
{
	const struct cfi_row *found = NULL;

	for (size_t i = 0; i < t->nr_rows && t->rows[i].vaddr <= vaddr; i++)
		found = &t->rows[i];
	return found;
}

static struct walk_rule rule_at(const struct cfi_table *t, __u64 vaddr)
{
	const struct cfi_row *row = find_row(t, vaddr);

	return t->rules[row ? row->rule : 0];
}

static bool starts_at(const struct cfi_table *t, __u64 vaddr)
{
	const struct cfi_row *row = find_row(t, vaddr);

	return row && row->vaddr == vaddr;
}

static const char *text_of(struct walk_rule r)
{
	static char texts[2][100];
	static int nth;

	nth ^= 1;
	snprintf(texts[nth], sizeof(texts[nth]), "cfa %d%+d%+d ra %d%+d bp %d%+d bx %d%+d", r.cfa,
		 r.cfa_off, r.cfa_add, r.ra, r.ra_off, r.bp, r.bp_off, r.bx, r.bx_off);
	return texts[nth];
}

#define EXPECT_RULE(table, vaddr, ...) do {					\
	const struct walk_rule want = { __VA_ARGS__ };				\
										\
	EXPECT_STREQ(text_of(want), text_of(rule_at(table, vaddr)));		\
} while (0)

#define CALLED	.cfa = WALK_CFA_SP, .cfa_off = 8, .ra_off = -8

/* ------------------------------------------------------------------ one rule each */

/* A function: nop, then directives, then 16 more: the rule at its second byte. */
FIXTURE(rule) { struct built b; };
FIXTURE_VARIANT(rule) {
	const char *text;
	struct walk_rule want;
};

FIXTURE_SETUP(rule)
{
	char text[4096];

	memset(self, 0, sizeof(*self));
	snprintf(text, sizeof(text),
		 ".globl f\nf: .cfi_startproc\nnop\n%s\n.skip 16, 0x90\n.cfi_endproc\n",
		 variant->text);
	ASSERT_EQ(0, compile(&self->b, text, ""));
}

FIXTURE_TEARDOWN(rule)
{
	remove_built(&self->b);
}

TEST_F(rule, holds)
{
	EXPECT_RULE(self->b.table, TEXT, CALLED);
	EXPECT_STREQ(text_of(variant->want), text_of(rule_at(self->b.table, TEXT + 1)));
	EXPECT_STREQ(text_of(variant->want), text_of(rule_at(self->b.table, TEXT + 16)));
	EXPECT_RULE(self->b.table, TEXT + 17, 0);
}

/* The text's directives; then the rule's fields. */
#define RULE(name, directives, ...)						\
	FIXTURE_VARIANT_ADD(rule, name) { .text = directives, .want = { __VA_ARGS__ } }

#define CFA_IS(expr)	".cfi_escape 0x0f, " expr "\n"

RULE(nothing_changes, "", CALLED);
RULE(after_push, ".cfi_def_cfa_offset 16\n.cfi_offset " RBP ", -16",
     .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8, .bp = WALK_REG_CFA, .bp_off = -16);
RULE(frame_pointer, ".cfi_def_cfa " RBP ", 16\n.cfi_offset 6, -16\n.cfi_offset 3, -24",
     .cfa = WALK_CFA_BP, .cfa_off = 16, .ra_off = -8, .bp = WALK_REG_CFA, .bp_off = -16,
     .bx = WALK_REG_CFA, .bx_off = -24);
RULE(cfa_by_rbx, ".cfi_def_cfa 3, 32", .cfa = WALK_CFA_BX, .cfa_off = 32, .ra_off = -8);
RULE(cfa_by_rax, ".cfi_def_cfa_register 0", .cfa = WALK_CFA_RAX, .cfa_off = 8, .ra_off = -8);
RULE(cfa_by_r10, ".cfi_def_cfa 10, 0", .cfa = WALK_CFA_R10, .ra_off = -8);
RULE(cfa_by_r11, ".cfi_def_cfa 11, -8", .cfa = WALK_CFA_R11, .cfa_off = -8, .ra_off = -8);
RULE(cfa_by_r13_is_unknown, ".cfi_def_cfa_register 13", 0);
RULE(cfa_by_rsp_again, ".cfi_def_cfa 13, 40\n.cfi_def_cfa_register " RSP,
     .cfa = WALK_CFA_SP, .cfa_off = 40, .ra_off = -8);
RULE(large_frame, ".cfi_def_cfa_offset 0x7fffffff",
     .cfa = WALK_CFA_SP, .cfa_off = 0x7fffffff, .ra_off = -8);
RULE(too_large_frame_is_unknown, ".cfi_escape 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08", 0);
RULE(endless_number_is_unknown,
     ".cfi_escape 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f", 0);
RULE(far_register_is_unknown, ".cfi_offset 6, -40000\n.cfi_offset 3, -32768",
     CALLED, .bp = WALK_REG_UNKNOWN, .bx = WALK_REG_CFA, .bx_off = -32768);
RULE(far_return_address_is_unknown, ".cfi_offset 16, -40000",
     .cfa = WALK_CFA_SP, .cfa_off = 8, .ra = WALK_RA_UNKNOWN);
RULE(return_address_elsewhere, ".cfi_offset 16, -24",
     .cfa = WALK_CFA_SP, .cfa_off = 8, .ra_off = -24);
RULE(lost_registers, ".cfi_undefined 6\n.cfi_register 3, 8",
     CALLED, .bp = WALK_REG_UNKNOWN, .bx = WALK_REG_UNKNOWN);
RULE(register_that_is_computed_is_unknown, ".cfi_val_offset 6, -16\n.cfi_escape 0x16, 3, 2, 0x77, 0",
     CALLED, .bp = WALK_REG_UNKNOWN, .bx = WALK_REG_UNKNOWN);
RULE(registers_we_do_not_follow, ".cfi_offset 12, -16\n.cfi_undefined 15\n.cfi_register 2, 1",
     CALLED);
RULE(restored, ".cfi_offset 6, -16\n.cfi_offset 3, -24\n.cfi_restore 6\n.cfi_same_value 3", CALLED);
RULE(remembered, ".cfi_remember_state\n.cfi_def_cfa 6, 16\n.cfi_offset 3, -24\n.cfi_restore_state",
     CALLED);
RULE(gnu_args_size_is_skipped, ".cfi_escape 0x2e, 0x90, 0x01", CALLED);
RULE(negative_offset_extended, ".cfi_escape 0x2f, 6, 2",
     CALLED, .bp = WALK_REG_CFA, .bp_off = 16);
RULE(offsets_of_signed_kind, ".cfi_escape 0x12, 7, 0x7e\n.cfi_escape 0x11, 6, 3\n.cfi_escape 0x05, 3, 4",
     .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8, .bp = WALK_REG_CFA, .bp_off = -24,
     .bx = WALK_REG_CFA, .bx_off = -32);
RULE(cfa_offset_of_signed_kind, ".cfi_escape 0x13, 0x7d",
     .cfa = WALK_CFA_SP, .cfa_off = 24, .ra_off = -8);
RULE(plt, CFA_IS("11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22"),
     .cfa = WALK_CFA_PLT, .cfa_off = 8, .cfa_add = 11, .ra_off = -8);
RULE(plt_with_ibt, CFA_IS("11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22"),
     .cfa = WALK_CFA_PLT, .cfa_off = 8, .cfa_add = 9, .ra_off = -8);
RULE(nearly_plt_is_unknown, CFA_IS("11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22"), 0);
RULE(plt_by_rbp_is_unknown, CFA_IS("11, 0x76, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22"), 0);
RULE(realigned_frame, CFA_IS("3, 0x76, 0x78, 0x06") ".cfi_escape 0x10, 6, 2, 0x76, 0\n"
     ".cfi_escape 0x10, 3, 2, 0x76, 0x68",
     .cfa = WALK_CFA_AT_BP, .cfa_off = -8, .ra_off = -8, .bp = WALK_REG_BP,
     .bx = WALK_REG_BP, .bx_off = -24);
RULE(cfa_on_the_stack, CFA_IS("6, 0x77, 0xc0, 0x00, 0x06, 0x23, 8"),
     .cfa = WALK_CFA_AT_SP, .cfa_off = 64, .cfa_add = 8, .ra_off = -8);
RULE(cfa_on_the_stack_with_consts, CFA_IS("6, 0x77, 8, 0x06, 0x11, 0x70, 0x22"),
     .cfa = WALK_CFA_AT_SP, .cfa_off = 8, .cfa_add = -16, .ra_off = -8);
RULE(cfa_on_the_stack_with_literal, CFA_IS("5, 0x77, 8, 0x06, 0x38, 0x22"),
     .cfa = WALK_CFA_AT_SP, .cfa_off = 8, .cfa_add = 8, .ra_off = -8);
RULE(more_than_one_addition_is_unknown, CFA_IS("7, 0x77, 8, 0x06, 0x23, 8, 0x23, 8"), 0);
RULE(subtraction_is_unknown, CFA_IS("5, 0x77, 8, 0x06, 0x38, 0x1c"), 0);
RULE(far_addition_is_unknown, CFA_IS("7, 0x77, 8, 0x06, 0x23, 0x80, 0x80, 0x02"), 0);
RULE(cfa_at_rbx_is_unknown, CFA_IS("3, 0x73, 8, 0x06"), 0);
RULE(cfa_in_memory_of_memory_is_unknown, CFA_IS("4, 0x77, 8, 0x06, 0x06"), 0);
RULE(empty_expression_is_unknown, CFA_IS("0"), 0);
RULE(cut_expression_is_unknown, CFA_IS("2, 0x77, 0x80"), 0);
RULE(expression_as_register, CFA_IS("2, 0x76, 16"),
     .cfa = WALK_CFA_BP, .cfa_off = 16, .ra_off = -8);
RULE(offset_on_an_expression_is_unknown, CFA_IS("3, 0x77, 8, 0x06") ".cfi_escape 0x0e, 16", 0);
RULE(register_at_rsp, ".cfi_escape 0x10, 6, 2, 0x77, 24",
     CALLED, .bp = WALK_REG_SP, .bp_off = 24);
RULE(register_at_rcx_is_unknown, ".cfi_escape 0x10, 6, 2, 0x72, 24",
     CALLED, .bp = WALK_REG_UNKNOWN);
RULE(return_address_in_rdi, ".cfi_register 16, 5",
     .cfa = WALK_CFA_SP, .cfa_off = 8, .ra = WALK_RA_RDI);
RULE(return_address_in_rdx_is_unknown, ".cfi_register 16, 1",
     .cfa = WALK_CFA_SP, .cfa_off = 8, .ra = WALK_RA_UNKNOWN);
RULE(return_address_undefined_later_ends, ".cfi_undefined " RIP, .cfa = WALK_CFA_END);
RULE(caller_sp_is_the_cfa, ".cfi_val_offset 7, 0", CALLED);
RULE(caller_sp_elsewhere_is_unknown, ".cfi_val_offset 7, 8", 0);
RULE(caller_sp_in_a_register_is_unknown, ".cfi_register 7, 8", 0);
RULE(caller_sp_saved_is_unknown, ".cfi_offset 7, -16", 0);
RULE(opcode_nobody_knows_ends_it, ".cfi_escape 0x3c, 0x00", 0);
RULE(cut_instruction_ends_it, ".cfi_escape 0x0f, 0x7f, 0x00", 0);
RULE(restoring_nothing_ends_it, ".cfi_escape 0x0b", 0);
RULE(remembering_too_much_ends_it, ".rept 100\n.cfi_escape 0x0a\n.endr", 0);

/* ------------------------------------------------------------------ whole files */

FIXTURE(file) { struct built b; };
FIXTURE_SETUP(file) { memset(self, 0, sizeof(*self)); }
FIXTURE_TEARDOWN(file) { remove_built(&self->b); }

#define NOPS(nr)	".skip " #nr ", 0x90\n"
#define PUSH		"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
#define FN(name, body)	".globl " name "\n" name ": .cfi_startproc\n" body ".cfi_endproc\n"

#define SIGFRAME(bp_off) CFA_IS("4, 0x77, 0xa0, 0x01, 0x06")			\
	".cfi_escape 0x10, 3, 3, 0x77, 0x80, 0x01\n"				\
	".cfi_escape 0x10, 6, 3, 0x77, " bp_off ", 0x00\n"			\
	".cfi_escape 0x10, 7, 3, 0x77, 0xa0, 0x01\n"				\
	".cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01\n"

TEST_F(file, signal_frame_is_known_by_its_layout)
{
	ASSERT_EQ(0, compile(&self->b, FN("a", ".cfi_signal_frame\n" SIGFRAME("0xf8") NOPS(16))
				       FN("b", ".cfi_signal_frame\n" SIGFRAME("0xf0") NOPS(16))
				       FN("c", ".cfi_signal_frame\n" NOPS(16)), ""));
	EXPECT_RULE(self->b.table, TEXT, .cfa = WALK_CFA_SIGNAL);
	EXPECT_RULE(self->b.table, TEXT + 15, .cfa = WALK_CFA_SIGNAL);
	EXPECT_RULE(self->b.table, TEXT + 16, 0);
	EXPECT_RULE(self->b.table, TEXT + 32, 0);
}

#define CONTEXT	FN("f", ".cfi_undefined 16\npush %rax\n.cfi_def_cfa_offset 16\n" NOPS(15))

TEST_F(file, context_root_counts_as_a_return_address)
{
	ASSERT_EQ(0, compile(&self->b, FN("before", NOPS(16)) CONTEXT, ""));
	EXPECT_TRUE(starts_at(self->b.table, TEXT + 16));
	EXPECT_RULE(self->b.table, TEXT + 16, .cfa = WALK_CFA_END, .cfa_add = 1);
	EXPECT_RULE(self->b.table, TEXT + 31, .cfa = WALK_CFA_END, .cfa_add = 1);
	EXPECT_EQ(3, self->b.table->nr_rows);
}

TEST_F(file, program_start_does_not)
{
	ASSERT_EQ(0, compile(&self->b, FN("before", NOPS(16)) CONTEXT, "-e f"));
	EXPECT_RULE(self->b.table, TEXT + 16, .cfa = WALK_CFA_END);
	EXPECT_RULE(self->b.table, TEXT + 31, .cfa = WALK_CFA_END);
}

TEST_F(file, a_root_that_comes_back_later_does_not)
{
	ASSERT_EQ(0, compile(&self->b, FN("f", ".cfi_undefined 16\nnop\n.cfi_offset 16, -8\nnop\n"
					       ".cfi_undefined 16\nnop\n"), ""));
	EXPECT_RULE(self->b.table, TEXT, .cfa = WALK_CFA_END, .cfa_add = 1);
	EXPECT_RULE(self->b.table, TEXT + 1, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 2, .cfa = WALK_CFA_END);
}

TEST_F(file, start_without_cfi_ends_up_to_the_next_function)
{
	ASSERT_EQ(0, compile(&self->b, FN("a", NOPS(16)) ".skip 8\n_start: .skip 24\n"
				       FN("b", NOPS(16)), "-e _start --defsym _start=0x10018"));
	EXPECT_RULE(self->b.table, TEXT + 16, 0);
	EXPECT_RULE(self->b.table, TEXT + 23, 0);
	EXPECT_RULE(self->b.table, TEXT + 24, .cfa = WALK_CFA_END);
	EXPECT_RULE(self->b.table, TEXT + 47, .cfa = WALK_CFA_END);
	EXPECT_RULE(self->b.table, TEXT + 48, CALLED);
}

TEST_F(file, start_without_cfi_ends_a_page_at_most)
{
	ASSERT_EQ(0, compile(&self->b, FN("a", NOPS(16)) ".globl _start\n_start: .skip 10000\n",
			     "-e _start"));
	EXPECT_RULE(self->b.table, TEXT + 16, .cfa = WALK_CFA_END);
	EXPECT_RULE(self->b.table, TEXT + 16 + 4095, .cfa = WALK_CFA_END);
	EXPECT_RULE(self->b.table, TEXT + 16 + 4096, 0);
	EXPECT_EQ(3, self->b.table->nr_rows);
}

TEST_F(file, rows_are_merged_and_rules_shared)
{
	ASSERT_EQ(0, compile(&self->b, FN("a", NOPS(1) PUSH NOPS(14)) FN("b", NOPS(16))
				       FN("c", NOPS(16) PUSH NOPS(3)) NOPS(4) FN("d", NOPS(1)), ""));
	ASSERT_EQ(7, self->b.table->nr_rows);
	EXPECT_EQ(3, self->b.table->nr_rules);
	EXPECT_EQ(TEXT, self->b.table->rows[0].vaddr);
	EXPECT_EQ(TEXT + 2, self->b.table->rows[1].vaddr);
	EXPECT_EQ(TEXT + 16, self->b.table->rows[2].vaddr);
	EXPECT_EQ(TEXT + 49, self->b.table->rows[3].vaddr);
	EXPECT_EQ(TEXT + 52, self->b.table->rows[4].vaddr);
	EXPECT_EQ(TEXT + 56, self->b.table->rows[5].vaddr);
	EXPECT_EQ(TEXT + 57, self->b.table->rows[6].vaddr);
	EXPECT_RULE(self->b.table, TEXT - 1, 0);
	EXPECT_RULE(self->b.table, TEXT + 53, 0);
	EXPECT_RULE(self->b.table, TEXT + 57, 0);
}

TEST_F(file, long_ways_between_rows)
{
	ASSERT_EQ(0, compile(&self->b, FN("a", NOPS(60) PUSH NOPS(200) ".cfi_def_cfa_offset 24\n"
				       NOPS(60000) ".cfi_def_cfa_offset 32\n" NOPS(100000)
				       ".cfi_def_cfa_offset 8\n.cfi_restore 6\n" NOPS(1)), ""));
	EXPECT_RULE(self->b.table, TEXT + 60, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 61, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8,
		    .bp = WALK_REG_CFA, .bp_off = -16);
	EXPECT_TRUE(starts_at(self->b.table, TEXT + 261));
	EXPECT_TRUE(starts_at(self->b.table, TEXT + 60261));
	EXPECT_TRUE(starts_at(self->b.table, TEXT + 160261));
	EXPECT_RULE(self->b.table, TEXT + 160261, CALLED);
}

/* ------------------------------------------------------------------ sections */

#define TWO_ROWS	FN("a", NOPS(1) PUSH NOPS(14))

static void expect_two_rows(struct __test_metadata *_metadata, const struct cfi_table *t)
{
	ASSERT_EQ(3, t->nr_rows);
	EXPECT_RULE(t, TEXT, CALLED);
	EXPECT_RULE(t, TEXT + 2, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8,
		    .bp = WALK_REG_CFA, .bp_off = -16);
	EXPECT_RULE(t, TEXT + 16, 0);
}

TEST_F(file, debug_frame_will_do)
{
	ASSERT_EQ(0, compile(&self->b, ".cfi_sections .debug_frame\n" TWO_ROWS, ""));
	expect_two_rows(_metadata, self->b.table);
}

TEST_F(file, debug_frame_may_be_compressed_by_zlib)
{
	ASSERT_EQ(0, compile(&self->b, ".cfi_sections .debug_frame\n" TWO_ROWS FN("b", NOPS(1))
			     FN("c", NOPS(1)) FN("d", NOPS(1)) FN("e", NOPS(1)),
			     "--compress-debug-sections=zlib"));
	EXPECT_EQ(0, run("readelf -t %s/a | grep -q %s", self->b.dir, "ZLIB"));
	EXPECT_RULE(self->b.table, TEXT + 2, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8,
		    .bp = WALK_REG_CFA, .bp_off = -16);
	EXPECT_RULE(self->b.table, TEXT + 19, CALLED);
}

TEST_F(file, debug_frame_may_be_compressed_by_zstd)
{
	ASSERT_EQ(0, compile(&self->b, ".cfi_sections .debug_frame\n" TWO_ROWS FN("b", NOPS(1))
			     FN("c", NOPS(1)) FN("d", NOPS(1)) FN("e", NOPS(1)),
			     "--compress-debug-sections=zstd"));
	EXPECT_EQ(0, run("readelf -t %s/a | grep -q %s", self->b.dir, "ZSTD"));
	EXPECT_RULE(self->b.table, TEXT + 2, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8,
		    .bp = WALK_REG_CFA, .bp_off = -16);
	EXPECT_RULE(self->b.table, TEXT + 19, CALLED);
}

/* A Go program with C in it: each has its own section. */
TEST_F(file, debug_frame_fills_what_eh_frame_leaves)
{
	static const char raw[] =
		FN("a", NOPS(16)) "nop\nnop\n"
		".section .debug_frame,\"\",@progbits\n"
		"0: .long 3f - 1f\n1: .long -1\n.byte 1, 0, 1, 0x78, 16, 0x0c, 7, 16, 0x90, 1\n3:\n"
		".long 4f - 2f\n2: .long 0\n.quad 0x10008, 10, 0\n4:\n";

	ASSERT_EQ(0, compile(&self->b, raw, ""));
	EXPECT_RULE(self->b.table, TEXT + 15, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 16, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8);
	EXPECT_RULE(self->b.table, TEXT + 18, 0);
}

/* The file in memory, with its section headers gone. */
static __u8 *read_all(const struct built *b, size_t *bytes)
{
	struct stat st;
	__u8 *image;

	if (fstat(b->fd, &st))
		abort();
	image = malloc(st.st_size);
	if (!image || pread(b->fd, image, st.st_size, 0) != st.st_size)
		abort();
	*bytes = st.st_size;
	return image;
}

TEST_F(file, section_headers_are_not_needed)
{
	struct cfi_table *t = NULL;
	Elf64_Ehdr *ehdr;
	size_t bytes;
	__u8 *image;

	ASSERT_EQ(0, compile(&self->b, TWO_ROWS, ""));
	image = read_all(&self->b, &bytes);
	ehdr = (Elf64_Ehdr *)image;
	ehdr->e_shoff = ehdr->e_shnum = ehdr->e_shstrndx = 0;
	ASSERT_EQ(0, cfi_table__new_image(image, bytes, &t));
	expect_two_rows(_metadata, t);
	cfi_table__free(t);
	free(image);
}

TEST_F(file, memory_will_do)
{
	struct cfi_table *t = NULL;
	size_t bytes;
	__u8 *image;

	ASSERT_EQ(0, compile(&self->b, TWO_ROWS, ""));
	image = read_all(&self->b, &bytes);
	ASSERT_EQ(0, cfi_table__new_image(image, bytes, &t));
	expect_two_rows(_metadata, t);
	cfi_table__free(t);
	free(image);
}

TEST_F(file, files_cut_anywhere_are_survived)
{
	size_t bytes;
	__u8 *image;

	ASSERT_EQ(0, compile(&self->b, TWO_ROWS, ""));
	image = read_all(&self->b, &bytes);
	for (size_t cut = 0; cut < bytes; cut++) {
		__u8 *part = malloc(cut ?: 1);	/* of its own: ASan sees reads past its end */
		struct cfi_table *t = NULL;
		int err;

		memcpy(part, image, cut);
		err = cfi_table__new_image(part, cut, &t);
		EXPECT_TRUE(err == -ENOEXEC || err == -ENODATA || (!err && t));
		cfi_table__free(t);
		free(part);
	}
	free(image);
}

/* ------------------------------------------------------------------ entries, byte by byte */

/* In .debug_frame, so that no linker touches them; the CIE's address encoding and the FDE's range. */
#define CODE		".globl a\na: " NOPS(64) ".section .debug_frame,\"\",@progbits\n"
#define ENTRY(id, ...)	".long 9f - 8f\n8: .long " id "\n" __VA_ARGS__ "\n9:\n"
#define CIE_HEAD(letters) ".byte 1\n.asciz \"" letters "\"\n.byte 1, 0x78, 16\n"
#define CIE_TAIL	".byte 0x0c, 7, 8, 0x90, 1\n"
#define CIE(letters, data) ENTRY("-1", CIE_HEAD(letters) data CIE_TAIL)

FIXTURE(raw) { struct built b; };
FIXTURE_VARIANT(raw) {
	const char *text;
	int err;			/* else code at TEXT, 16 bytes of it, has CFI */
};

FIXTURE_SETUP(raw) { memset(self, 0, sizeof(*self)); }
FIXTURE_TEARDOWN(raw) { remove_built(&self->b); }

TEST_F(raw, entries)
{
	ASSERT_EQ(variant->err, compile(&self->b, variant->text, ""));
	if (variant->err)
		return;
	ASSERT_EQ(2, self->b.table->nr_rows);
	EXPECT_RULE(self->b.table, TEXT, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 15, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 16, 0);
}

#define RAW(name, code, want)	FIXTURE_VARIANT_ADD(raw, name) { .text = CODE code, .err = want }

RAW(plain, CIE("", "") ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(udata2_cannot_reach, CIE("zR", ".byte 1, 0x02\n") ENTRY("0", ".short 0xff00, 16\n.byte 0"),
    -ENODATA);
RAW(udata4, CIE("zR", ".byte 1, 0x03\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"), 0);
RAW(sdata4, CIE("zR", ".byte 1, 0x0b\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"), 0);
RAW(udata8, CIE("zR", ".byte 1, 0x04\n") ENTRY("0", ".quad 0x10000, 16\n.byte 0"), 0);
RAW(uleb128, CIE("zR", ".byte 1, 0x01\n") ENTRY("0", ".byte 0x80, 0x80, 0x04, 16\n.byte 0"), 0);
RAW(sleb128, CIE("zR", ".byte 1, 0x09\n") ENTRY("0", ".byte 0x80, 0x80, 0x04, 16\n.byte 0"), 0);
RAW(pcrel, CIE("zR", ".byte 1, 0x1b\n")
    ENTRY("0", ".long 0x10000 - 0x1e, 16\n.byte 0"), 0);
RAW(lsda_and_personality, CIE("zPLR", ".byte 7, 0x9b\n.long 77\n.byte 0x1b, 0x03\n")
    ENTRY("0", ".long 0x10000, 16\n.byte 4\n.long 99"), 0);
RAW(unknown_letter_has_its_size, CIE("zRX", ".byte 2, 0x03, 0xff\n")
    ENTRY("0", ".long 0x10000, 16\n.byte 0"), 0);
RAW(letters_without_size, CIE("R", ".byte 0x03\n") ENTRY("0", ".long 0x10000, 16"), -ENODATA);
RAW(data_past_the_end, CIE("zR", ".byte 0x7f, 0x03\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"),
    -ENODATA);
RAW(indirect, CIE("zR", ".byte 1, 0x83\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"), -ENODATA);
RAW(datarel_of_nothing, CIE("zR", ".byte 1, 0x33\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"),
    -ENODATA);
RAW(version_3, ENTRY("-1", ".byte 3, 0, 1, 0x78, 16\n" CIE_TAIL) ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(version_4, ENTRY("-1", ".byte 4, 0, 8, 0, 1, 0x78, 16\n" CIE_TAIL)
    ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(version_4_of_32_bit, ENTRY("-1", ".byte 4, 0, 4, 0, 1, 0x78, 16\n" CIE_TAIL)
    ENTRY("0", ".quad 0x10000, 16"), -ENODATA);
RAW(version_9, ENTRY("-1", ".byte 9, 0, 1, 0x78, 16\n" CIE_TAIL) ENTRY("0", ".quad 0x10000, 16"),
    -ENODATA);
RAW(another_return_address_column, ENTRY("-1", ".byte 1, 0, 1, 0x78, 15\n" CIE_TAIL)
    ENTRY("0", ".quad 0x10000, 16"), -ENODATA);
RAW(cie_that_moves, ENTRY("-1", CIE_HEAD("") CIE_TAIL ".byte 0x41\n")
    ENTRY("0", ".quad 0x10000, 16"), -ENODATA);
RAW(cie_behind_its_fde, ENTRY("24", ".quad 0x10000, 16") CIE("", ""), 0);
RAW(cie_that_is_none, CIE("", "") ENTRY("4", ".quad 0x10000, 16"), -ENODATA);
RAW(wide_entries, ".long -1\n.quad 2f - 1f\n1: .quad -1\n" CIE_HEAD("") CIE_TAIL "2:\n"
    ".long -1\n.quad 4f - 3f\n3: .quad 0, 0x10000, 16\n4:\n", 0);
RAW(terminator_is_skipped, CIE("", "") ".long 0, 0\n" ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(length_past_the_end, CIE("", "") ENTRY("0", ".quad 0x10000, 16") ".long 1000\n", 0);
RAW(discarded_code, CIE("", "") ENTRY("0", ".quad 0, 16") ENTRY("0", ".quad 0x9000, 16")
    ENTRY("0", ".quad 0x10000, 16") ENTRY("0", ".quad 0x10000, 0") ENTRY("0", ".quad -1, 16"), 0);
RAW(set_loc, CIE("", "")
    ENTRY("0", ".quad 0x10000, 32\n.byte 1\n.quad 0x10010\n.byte 0x3c"), 0);
RAW(set_loc_backwards, CIE("", "")
    ENTRY("0", ".quad 0x10000, 32\n.byte 0x50, 0x01\n.quad 0x10001\n.byte 0x0e, 16"), 0);
RAW(rows_past_the_end, CIE("", "")
    ENTRY("0", ".quad 0x10000, 16\n.byte 0x50, 0x0e, 16, 0x04\n.long -1\n.byte 0x0e, 24"), 0);
RAW(equal_ones, CIE("", "") ENTRY("0", ".quad 0x10000, 16") ENTRY("0", ".quad 0x10000, 16\n.byte 0x0e, 16"), 0);
RAW(overlap_is_clipped, CIE("", "") ENTRY("0", ".quad 0x10004, 12\n.byte 0x48, 0x0e, 8")
    ENTRY("0", ".quad 0x10000, 12"), 0);

TEST_F(file, factors_may_overflow)
{
	ASSERT_EQ(0, compile(&self->b, CODE
			     ENTRY("-1", ".byte 3, 0\n.uleb128 -1\n.sleb128 -1 << 63\n.byte 16\n"
				   CIE_TAIL)
			     ENTRY("0", ".quad 0x10000, 16\n.byte 0x42, 0x0e, 16"), ""));
	EXPECT_RULE(self->b.table, TEXT + 15, .cfa = WALK_CFA_SP, .cfa_off = 8,
		    .ra = WALK_RA_UNKNOWN);
	EXPECT_RULE(self->b.table, TEXT + 16, 0);
}

TEST_F(file, the_later_of_two_that_overlap_is_cut)
{
	ASSERT_EQ(0, compile(&self->b, CODE CIE("", "")
			     ENTRY("0", ".quad 0x10008, 16\n.byte 0x0e, 16, 0x44, 0x0e, 24, 0x44, 0x0e, 32")
			     ENTRY("0", ".quad 0x10000, 14"), ""));
	EXPECT_RULE(self->b.table, TEXT + 13, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 14, .cfa = WALK_CFA_SP, .cfa_off = 24, .ra_off = -8);
	EXPECT_RULE(self->b.table, TEXT + 16, .cfa = WALK_CFA_SP, .cfa_off = 32, .ra_off = -8);
	EXPECT_RULE(self->b.table, TEXT + 24, 0);
	EXPECT_EQ(4, self->b.table->nr_rows);
}

/* ------------------------------------------------------------------ no tables */

TEST_F(file, no_cfi_is_said)
{
	EXPECT_EQ(-ENODATA, compile(&self->b, ".globl a\na: nop\n", ""));
}

TEST(other_files_are_refused)
{
	int dir = open("/tmp", O_RDONLY | O_DIRECTORY), text = open("/etc/passwd", O_RDONLY);
	struct cfi_table *t;

	EXPECT_EQ(-ENOEXEC, cfi_table__new(dir, &t));
	EXPECT_EQ(-ENOEXEC, cfi_table__new(text, &t));
	EXPECT_EQ(-EBADF, cfi_table__new(-1, &t));
	EXPECT_EQ(-ENOEXEC, cfi_table__new_image("", 0, &t));
	close(dir);
	close(text);
}

TEST_F(file, object_files_are_refused)
{
	char path[64];
	int fd;

	build_file(&self->b, TWO_ROWS, "");
	snprintf(path, sizeof(path), "%s/a.o", self->b.dir);
	fd = open(path, O_RDONLY);
	EXPECT_EQ(-ENOEXEC, cfi_table__new(fd, &self->b.table));
	close(fd);
}

TEST_HARNESS_MAIN
