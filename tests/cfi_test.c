// SPDX-License-Identifier: GPL-2.0-only
/*
 * cfi_test.c - call frame instructions written by hand, and the rules they become.
 */
#include "cfi_build.h"
#include "kselftest_harness.h"

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
RULE(register_that_is_computed_is_unknown,
     ".cfi_val_offset 6, -16\n.cfi_escape 0x16, 3, 2, 0x77, 0",
     CALLED, .bp = WALK_REG_UNKNOWN, .bx = WALK_REG_UNKNOWN);
RULE(registers_we_do_not_follow, ".cfi_offset 12, -16\n.cfi_undefined 15\n.cfi_register 2, 1",
     CALLED);
RULE(restored, ".cfi_offset 6, -16\n.cfi_offset 3, -24\n.cfi_restore 6\n.cfi_same_value 3", CALLED);
RULE(remembered, ".cfi_remember_state\n.cfi_def_cfa 6, 16\n.cfi_offset 3, -24\n.cfi_restore_state",
     CALLED);
RULE(gnu_args_size_is_skipped, ".cfi_escape 0x2e, 0x90, 0x01", CALLED);
RULE(negative_offset_extended, ".cfi_escape 0x2f, 6, 2",
     CALLED, .bp = WALK_REG_CFA, .bp_off = 16);
RULE(offsets_of_signed_kind,
     ".cfi_escape 0x12, 7, 0x7e\n.cfi_escape 0x11, 6, 3\n.cfi_escape 0x05, 3, 4",
     .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8, .bp = WALK_REG_CFA, .bp_off = -24,
     .bx = WALK_REG_CFA, .bx_off = -32);
RULE(cfa_offset_of_signed_kind, ".cfi_escape 0x13, 0x7d",
     .cfa = WALK_CFA_SP, .cfa_off = 24, .ra_off = -8);
RULE(plt, CFA_IS("11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22"),
     .cfa = WALK_CFA_PLT, .cfa_off = 8, .cfa_add = 11, .ra_off = -8);
RULE(plt_with_ibt, CFA_IS("11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22"),
     .cfa = WALK_CFA_PLT, .cfa_off = 8, .cfa_add = 9, .ra_off = -8);
RULE(nearly_plt_is_unknown,
     CFA_IS("11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22"), 0);
RULE(plt_by_rbp_is_unknown,
     CFA_IS("11, 0x76, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22"), 0);
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
				       FN("c", NOPS(16) PUSH NOPS(3)) NOPS(4)
				       FN("d", NOPS(1)), ""));
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

TEST_HARNESS_MAIN
