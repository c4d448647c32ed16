// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks over stacks made up here, by tables made up here.
 *
 * The file has one function for each rule, FN_BYTES long; addr(RULE) is somewhere in it, as a
 * return address would be. Words of the stack are set one by one.
 */
#include <linux/types.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "kselftest_harness.h"
#include "stack/cfi.h"
#include "stack/tables.h"
#include "stack/walk.h"

#define FN_BYTES	0x100
#define BIAS		0x555500000000ULL
#define SP		0x7ffc00001000ULL	/* of the leaf */
#define NR_WORDS	512
#define NR_RULES	40
#define JIT		0x7f0000000000ULL	/* a mapping without CFI */
#define LATE		0x7f1000000000ULL	/* one whose table is to come */
#define TRAMPOLINE	0x7fffffffe000ULL

/* What the kernel pushes for a handler, behind its return address. */
#define SIG(reg)	(offsetof(ucontext_t, uc_mcontext.gregs[REG_##reg]))

enum {
	NONE,
	SP8, SP16, SP32, BP16, BX16, RAX8, R10_8, R11_8, AT_SP, AT_BP, PLT, SIGNAL, END, START,
	RDI, RA_UNKNOWN, RA_LOW, STUCK,
	SAVE_BP, SAVE_BX, SAVE_BOTH, BP_AT_BP, BX_AT_BP, BX_AT_SP, BP_LOST, BX_LOST,
};

static const struct walk_rule rules[NR_RULES] = {
#define RULE(cfa_, off, ...) { .cfa = WALK_CFA_##cfa_, .cfa_off = off, .ra_off = -8, ##__VA_ARGS__ }
	[SP8] = RULE(SP, 8),
	[SP16] = RULE(SP, 16),
	[SP32] = RULE(SP, 32),
	[BP16] = RULE(BP, 16, .bp = WALK_REG_CFA, .bp_off = -16),
	[BX16] = RULE(BX, 16),
	[RAX8] = RULE(RAX, 8),
	[R10_8] = RULE(R10, 8),
	[R11_8] = RULE(R11, 8),
	[AT_SP] = RULE(AT_SP, 16, .cfa_add = 8),
	[AT_BP] = RULE(AT_BP, -8, .bp = WALK_REG_BP, .bp_off = 0),
	[PLT] = RULE(PLT, 8, .cfa_add = 11),
	[SIGNAL] = RULE(SIGNAL, 0),
	[END] = RULE(END, 0),
	[START] = RULE(END, 0, .cfa_add = 1),
	[RDI] = RULE(SP, 0, .ra = WALK_RA_RDI),
	[RA_UNKNOWN] = RULE(SP, 8, .ra = WALK_RA_UNKNOWN),
	[RA_LOW] = { .cfa = WALK_CFA_SP, .cfa_off = 32, .ra_off = -24 },
	[STUCK] = RULE(SP, -8),
	[SAVE_BP] = RULE(SP, 16, .bp = WALK_REG_CFA, .bp_off = -16),
	[SAVE_BX] = RULE(SP, 16, .bx = WALK_REG_CFA, .bx_off = -16),
	[SAVE_BOTH] = RULE(SP, 24, .bp = WALK_REG_CFA, .bp_off = -16, .bx = WALK_REG_CFA,
			   .bx_off = -24),
	[BP_AT_BP] = RULE(SP, 8, .bp = WALK_REG_BP, .bp_off = 0),
	[BX_AT_BP] = RULE(BP, 16, .bp = WALK_REG_CFA, .bp_off = -16, .bx = WALK_REG_BP,
			  .bx_off = -8),
	[BX_AT_SP] = RULE(SP, 16, .bx = WALK_REG_SP, .bx_off = 0),
	[BP_LOST] = RULE(SP, 8, .bp = WALK_REG_UNKNOWN),
	[BX_LOST] = RULE(SP, 8, .bx = WALK_REG_UNKNOWN),
};

FIXTURE(walk) {
	struct walk_memory *mem;
	struct walk_tables *tables;
	struct walk_copy copy;
	struct walk_input in;
	__u64 stack[NR_WORDS];
	__u64 ips[NR_WORDS];
	bool exact[NR_WORDS];
	__u32 nr;
};

static __u64 addr(unsigned int rule)
{
	return BIAS + 0x10000 + rule * FN_BYTES + 0x10;
}

FIXTURE_SETUP(walk)
{
	struct cfi_row rows[NR_RULES];
	struct cfi_table cfi = {
		.rows = rows, .nr_rows = NR_RULES, .rules = (struct walk_rule *)rules,
		.nr_rules = NR_RULES,
	};
	struct walk_file file;

	memset(self, 0, sizeof(*self));
	for (__u32 i = 0; i < NR_RULES; i++)
		rows[i] = (struct cfi_row) { 0x10000 + i * FN_BYTES, i };
	ASSERT_EQ(0, walk_memory__new_plain(&self->mem));
	ASSERT_EQ(0, walk_tables__new(self->mem, &self->tables));
	ASSERT_EQ(0, walk_tables__add(self->tables, &cfi, &file));
	self->mem->maps[7] = (struct walk_map) {
		.start = BIAS + 0x10000, .end = BIAS + 0x20000, .bias = BIAS, .kind = WALK_MAP_TABLE,
		.first_page = file.first_page, .page_base = file.page_base,
		.nr_pages = file.nr_pages,
	};
	self->mem->maps[8] = (struct walk_map) {
		.start = JIT, .end = JIT + 0x10000, .kind = WALK_MAP_FP,
	};
	self->mem->maps[9] = (struct walk_map) { .start = LATE, .end = LATE + 0x10000 };
	self->copy = (struct walk_copy) { .regs = { .sp = SP }, .exact = 1 };
	self->in = (struct walk_input) {
		.mem = self->mem, .proc = { .first = 7, .nr = 3 }, .copy = &self->copy,
		.stack = self->stack, .stack_bytes = sizeof(self->stack), .max = NR_WORDS,
		.exact = self->exact,
	};
}

FIXTURE_TEARDOWN(walk)
{
	walk_tables__free(self->tables);
	walk_memory__free_plain(self->mem);
}

static int walk(FIXTURE_DATA(walk) *self, __u64 ip)
{
	self->copy.regs.ip = ip;
	return walk_stack(&self->in, self->ips, &self->nr);
}

#define EXPECT_IPS(...) do {								\
	const __u64 want_[] = { __VA_ARGS__ };						\
	size_t nr_ = sizeof(want_) / sizeof(*want_);					\
	EXPECT_EQ(nr_, self->nr);							\
	for (size_t i_ = 0; i_ < nr_ && i_ < self->nr; i_++)				\
		EXPECT_EQ(want_[i_], self->ips[i_]);				\
} while (0)

TEST_F(walk, leaf_that_is_the_end)
{
	EXPECT_EQ(WALK_END, walk(self, addr(END)));
	EXPECT_IPS(addr(END));
	EXPECT_TRUE(self->exact[0]);
}

TEST_F(walk, stack_pointer)
{
	self->stack[0] = addr(SP16);
	self->stack[2] = addr(SP32);
	self->stack[6] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SP16), addr(SP32), addr(END));
	EXPECT_TRUE(self->exact[0]);
	EXPECT_FALSE(self->exact[1]);
}

TEST_F(walk, return_address_of_zero_is_the_end)
{
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8));
}

TEST_F(walk, rbp)
{
	self->copy.regs.bp = SP + 8 * 4;
	self->stack[4] = SP + 8 * 10;
	self->stack[5] = addr(BP16);
	self->stack[11] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(BP16)));
	EXPECT_IPS(addr(BP16), addr(BP16), addr(END));
}

TEST_F(walk, rbp_saved_by_a_callee)
{
	self->copy.regs.bp = 0x1234;
	self->stack[0] = SP + 8 * 8;
	self->stack[1] = addr(SP8);
	self->stack[2] = addr(BP16);
	self->stack[9] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SAVE_BP)));
	EXPECT_IPS(addr(SAVE_BP), addr(SP8), addr(BP16), addr(END));
}

TEST_F(walk, rbx)
{
	self->copy.regs.bx = SP + 8 * 3;
	self->stack[4] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(BX16)));
	EXPECT_IPS(addr(BX16), addr(END));
}

TEST_F(walk, rbp_and_rbx_saved_by_a_callee)
{
	self->stack[0] = SP + 8 * 12;	/* rbx */
	self->stack[1] = SP + 8 * 5;	/* rbp */
	self->stack[2] = addr(BP16);
	self->stack[6] = addr(BX16);
	self->stack[13] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SAVE_BOTH)));
	EXPECT_IPS(addr(SAVE_BOTH), addr(BP16), addr(BX16), addr(END));
}

TEST_F(walk, rbx_saved_below_rbp_and_at_rsp)
{
	self->copy.regs.bp = SP + 8 * 4;
	self->stack[3] = SP + 8 * 9;	/* rbx */
	self->stack[4] = SP + 8 * 20;	/* rbp */
	self->stack[5] = addr(BX16);
	self->stack[10] = addr(BX_AT_SP);
	self->stack[11] = SP + 8 * 14;	/* rbx */
	self->stack[12] = addr(BX16);
	self->stack[15] = addr(BP16);
	self->stack[21] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(BX_AT_BP)));
	EXPECT_IPS(addr(BX_AT_BP), addr(BX16), addr(BX_AT_SP), addr(BX16), addr(BP16), addr(END));
}

TEST_F(walk, scratch_registers_of_the_leaf)
{
	self->stack[0] = addr(END);
	self->copy.regs.rax = SP;
	EXPECT_EQ(WALK_END, walk(self, addr(RAX8)));
	EXPECT_IPS(addr(RAX8), addr(END));
	self->copy.regs.r10 = SP;
	EXPECT_EQ(WALK_END, walk(self, addr(R10_8)));
	EXPECT_IPS(addr(R10_8), addr(END));
	self->copy.regs.r11 = SP;
	EXPECT_EQ(WALK_END, walk(self, addr(R11_8)));
	EXPECT_IPS(addr(R11_8), addr(END));
}

TEST_F(walk, scratch_registers_of_callers_are_unknown)
{
	static const int users[] = { RAX8, R10_8, R11_8, RDI };

	self->copy.regs.rax = self->copy.regs.r10 = self->copy.regs.r11 = SP + 16;
	self->copy.regs.rdi = addr(END);
	self->stack[2] = addr(END);
	for (int i = 0; i < 4; i++) {
		self->stack[0] = addr(users[i]);
		EXPECT_EQ(WALK_NO_REG, walk(self, addr(SP8)));
		EXPECT_IPS(addr(SP8), addr(users[i]));
	}
}

TEST_F(walk, frame_address_in_memory)
{
	self->stack[2] = SP + 8 * 8;		/* CFA 8 above it */
	self->stack[8] = addr(SP8);
	self->stack[9] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(AT_SP)));
	EXPECT_IPS(addr(AT_SP), addr(SP8), addr(END));
}

/* lea 8(%rsp),%r10; and; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10 */
TEST_F(walk, realigned_frame)
{
	self->copy.regs.bp = SP + 8 * 4;
	self->stack[3] = SP + 8 * 8;		/* the CFA */
	self->stack[4] = SP + 8 * 10;		/* the caller's rbp */
	self->stack[7] = addr(BP16);
	self->stack[11] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(AT_BP)));
	EXPECT_IPS(addr(AT_BP), addr(BP16), addr(END));
}

TEST_F(walk, plt_entry_before_and_after_its_push)
{
	self->stack[0] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(PLT) + 10));
	EXPECT_IPS(addr(PLT) + 10, addr(END));
	self->stack[0] = 3;
	self->stack[1] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(PLT) + 11));
	EXPECT_IPS(addr(PLT) + 11, addr(END));
}

TEST_F(walk, signal_frame)
{
	__u64 *frame = &self->stack[3], start = addr(SAVE_BP) - 0x10;

	self->stack[0] = 0;
	self->stack[1] = 0;
	self->stack[2] = addr(SIGNAL);
	frame[SIG(RBP) / 8] = SP + 8 * 60;
	frame[SIG(RBX) / 8] = SP + 8 * 70;
	frame[SIG(RSP) / 8] = SP + 8 * 50;
	frame[SIG(RIP) / 8] = start;	/* the first instruction: not the function before */
	self->stack[50] = SP + 8 * 60;
	self->stack[51] = addr(BP16);
	self->stack[60] = 0;
	self->stack[61] = addr(BX16);
	self->stack[71] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SAVE_BOTH)));
	EXPECT_IPS(addr(SAVE_BOTH), addr(SIGNAL), start, addr(BP16), addr(BX16), addr(END));
	EXPECT_TRUE(self->exact[1]);
	EXPECT_TRUE(self->exact[2]);
	EXPECT_FALSE(self->exact[3]);
}

TEST_F(walk, signal_frame_brings_lost_registers_back)
{
	__u64 *frame = &self->stack[1];

	self->stack[0] = addr(SIGNAL);
	frame[SIG(RBP) / 8] = SP + 8 * 60;
	frame[SIG(RSP) / 8] = SP + 8 * 50;
	frame[SIG(RIP) / 8] = addr(BP16);
	self->stack[61] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(BP_LOST)));
	EXPECT_IPS(addr(BP_LOST), addr(SIGNAL), addr(BP16), addr(END));
}

TEST_F(walk, signal_frame_cut_off)
{
	self->stack[0] = addr(SIGNAL);
	self->in.stack_bytes = 8 + SIG(RIP);
	EXPECT_EQ(WALK_FAULT, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SIGNAL));
}

TEST_F(walk, return_address_in_rdi)
{
	self->copy.regs.rdi = addr(SP8);
	self->stack[0] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(RDI)));
	EXPECT_IPS(addr(RDI), addr(SP8), addr(END));
}

TEST_F(walk, return_address_nowhere)
{
	EXPECT_EQ(WALK_NO_REG, walk(self, addr(RA_UNKNOWN)));
	EXPECT_IPS(addr(RA_UNKNOWN));
}

TEST_F(walk, return_address_elsewhere)
{
	self->stack[1] = addr(SP8);
	self->stack[4] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(RA_LOW)));
	EXPECT_IPS(addr(RA_LOW), addr(SP8), addr(END));
}

TEST_F(walk, lost_register_ends_the_walk_when_needed)
{
	self->stack[0] = addr(BP16);
	EXPECT_EQ(WALK_NO_REG, walk(self, addr(BP_LOST)));
	EXPECT_IPS(addr(BP_LOST), addr(BP16));
	self->stack[0] = addr(BX16);
	EXPECT_EQ(WALK_NO_REG, walk(self, addr(BX_LOST)));
	EXPECT_IPS(addr(BX_LOST), addr(BX16));
}

TEST_F(walk, lost_register_that_nobody_needs)
{
	self->stack[0] = addr(BX_LOST);
	self->stack[1] = addr(SP8);
	self->stack[2] = addr(SAVE_BP);		/* saved anew: known from here on */
	self->stack[3] = SP + 8 * 10;
	self->stack[4] = addr(BP16);
	self->stack[11] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(BP_LOST)));
	EXPECT_IPS(addr(BP_LOST), addr(BX_LOST), addr(SP8), addr(SAVE_BP), addr(BP16), addr(END));
}

TEST_F(walk, register_saved_out_of_reach_is_lost)
{
	self->copy.regs.bp = 0x1234;
	self->stack[0] = addr(BP_AT_BP);	/* at *(0x1234): cannot be read */
	self->stack[1] = addr(SP8);
	self->stack[2] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(BP_AT_BP)));
	EXPECT_IPS(addr(BP_AT_BP), addr(BP_AT_BP), addr(SP8), addr(END));
	self->stack[1] = addr(BP16);
	EXPECT_EQ(WALK_NO_REG, walk(self, addr(BP_AT_BP)));
}

TEST_F(walk, code_without_cfi)
{
	self->copy.regs.bp = SP + 8;
	self->stack[0] = addr(END);
	self->stack[2] = addr(END);
	EXPECT_EQ(WALK_NO_CFI, walk(self, addr(NONE)));
	EXPECT_IPS(addr(NONE));
}

TEST_F(walk, frame_below_its_callee)
{
	EXPECT_EQ(WALK_STUCK, walk(self, addr(STUCK)));
	self->copy.regs.bp = SP - 16;
	EXPECT_EQ(WALK_STUCK, walk(self, addr(BP16)));
	self->copy.regs.bp = SP - 15;
	EXPECT_EQ(WALK_FAULT, walk(self, addr(BP16)));
}

TEST_F(walk, unknown_address)
{
	self->stack[0] = 0x1000;
	EXPECT_EQ(WALK_NO_MAP, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), 0x1000);
	EXPECT_EQ(WALK_NO_MAP, walk(self, BIAS + 0xffff));
	EXPECT_EQ(WALK_NO_MAP, walk(self, BIAS + 0x20000));
	EXPECT_EQ(WALK_NO_CFI, walk(self, BIAS + 0x10000));
	EXPECT_EQ(WALK_NO_CFI, walk(self, addr(NR_RULES - 1)));
}

TEST_F(walk, no_mappings)
{
	self->in.proc.nr = 0;
	EXPECT_EQ(WALK_NO_MAP, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8));
}

TEST_F(walk, mapping_without_its_table)
{
	self->stack[0] = LATE + 0x10;
	EXPECT_EQ(WALK_PENDING, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), LATE + 0x10);
}

/* A return address at the very end of a mapping belongs to it. */
TEST_F(walk, call_at_the_end_of_a_mapping)
{
	self->stack[0] = LATE + 0x10000;
	EXPECT_EQ(WALK_PENDING, walk(self, addr(SP8)));
	self->stack[0] = LATE;
	EXPECT_EQ(WALK_NO_MAP, walk(self, addr(SP8)));
}

TEST_F(walk, call_at_the_end_of_a_function)
{
	self->stack[0] = addr(SP8) - 0x10 + FN_BYTES;	/* where SP16 begins */
	self->stack[1] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SP8) - 0x10 + FN_BYTES, addr(END));
}

/* makecontext(3) makes the start of a function the return address. */
TEST_F(walk, return_to_the_start_of_a_context)
{
	self->stack[0] = addr(START) - 0x10;
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(START) - 0x10);
	/* an end that is no start: the call before it counts, here in SIGNAL */
	self->stack[0] = addr(END) - 0x10;
	self->in.stack_bytes = 16;
	EXPECT_EQ(WALK_FAULT, walk(self, addr(SP8)));
}

TEST_F(walk, chain_of_frame_pointers)
{
	self->copy.regs.bp = SP + 8 * 2;
	self->stack[2] = SP + 8 * 6;
	self->stack[3] = JIT + 0x20;
	self->stack[6] = SP + 8 * 12;
	self->stack[7] = addr(SP8);
	self->stack[8] = addr(BP16);
	self->stack[13] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, JIT + 0x10));
	EXPECT_IPS(JIT + 0x10, JIT + 0x20, addr(SP8), addr(BP16), addr(END));
}

/* V8's builtins, which are in the program's file. */
TEST_F(walk, chain_of_frame_pointers_through_code_without_cfi)
{
	self->copy.regs.bp = SP + 8 * 2;
	self->stack[2] = SP + 8 * 6;
	self->stack[3] = addr(NONE);
	self->stack[7] = addr(SP8);
	self->stack[8] = addr(NONE);
	EXPECT_EQ(WALK_NO_CFI, walk(self, JIT + 0x10));
	EXPECT_IPS(JIT + 0x10, addr(NONE), addr(SP8), addr(NONE));
}

TEST_F(walk, end_of_a_chain_of_frame_pointers)
{
	EXPECT_EQ(WALK_END, walk(self, JIT + 0x10));
	self->copy.regs.bp = SP + 8;
	EXPECT_EQ(WALK_END, walk(self, JIT + 0x10));
	EXPECT_IPS(JIT + 0x10);
}

TEST_F(walk, frame_pointer_that_is_none)
{
	self->copy.regs.bp = SP + 4;
	EXPECT_EQ(WALK_STUCK, walk(self, JIT));
	self->copy.regs.bp = SP - 8;
	EXPECT_EQ(WALK_STUCK, walk(self, JIT));
	self->copy.regs.bp = SP + sizeof(self->stack) - 8;
	EXPECT_EQ(WALK_FAULT, walk(self, JIT));
}

TEST_F(walk, rbx_is_unknown_above_frames_without_cfi)
{
	self->copy.regs.bp = self->copy.regs.bx = SP;
	self->stack[1] = addr(BX16);
	EXPECT_EQ(WALK_NO_REG, walk(self, JIT));
	EXPECT_IPS(JIT, addr(BX16));
}

TEST_F(walk, entry_of_a_function_without_cfi)
{
	self->copy.call_site = 1;
	self->stack[0] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, JIT));
	EXPECT_IPS(JIT, addr(END));
	EXPECT_EQ(WALK_END, walk(self, addr(NONE)));
	EXPECT_IPS(addr(NONE), addr(END));
	/* only the leaf's */
	self->stack[0] = addr(NONE);
	self->stack[1] = addr(END);
	EXPECT_EQ(WALK_NO_CFI, walk(self, JIT));
	EXPECT_IPS(JIT, addr(NONE));
	/* with CFI, that counts */
	self->stack[1] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SP16)));
	EXPECT_IPS(addr(SP16), addr(END));
}

TEST_F(walk, leaf_left_out)
{
	self->copy.skip_leaf = 1;
	self->stack[0] = addr(SP8);
	self->stack[1] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(END));
	EXPECT_FALSE(self->exact[0]);
	self->in.max = 0;
	EXPECT_EQ(WALK_MAX, walk(self, addr(SP8)));
	EXPECT_EQ(0, self->nr);
	EXPECT_EQ(WALK_END, walk(self, addr(END)));
	EXPECT_EQ(0, self->nr);
}

TEST_F(walk, returns_that_uretprobes_have_taken)
{
	self->copy.trampoline = TRAMPOLINE;
	self->copy.returns[0] = addr(SP16);
	self->copy.returns[1] = addr(SP8);
	self->stack[0] = TRAMPOLINE;
	self->stack[2] = TRAMPOLINE;
	self->stack[3] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SP16), addr(SP8), addr(END));
}

TEST_F(walk, trampoline_without_a_known_return)
{
	self->copy.trampoline = TRAMPOLINE;
	self->stack[0] = TRAMPOLINE;
	EXPECT_EQ(WALK_NO_MAP, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), TRAMPOLINE);
	for (int i = 0; i < WALK_NR_RETURNS; i++)
		self->copy.returns[i] = addr(SP8);
	for (int i = 0; i < WALK_NR_RETURNS + 1; i++)
		self->stack[i] = TRAMPOLINE;
	EXPECT_EQ(WALK_NO_MAP, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SP8), addr(SP8), addr(SP8), addr(SP8), TRAMPOLINE);
}

TEST_F(walk, no_trampoline_no_replacement)
{
	self->copy.returns[0] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8));
}

TEST_F(walk, depth)
{
	for (int i = 0; i < NR_WORDS; i++)
		self->stack[i] = addr(SP8);
	self->in.max = 5;
	EXPECT_EQ(WALK_MAX, walk(self, addr(SP8)));
	EXPECT_EQ(5, self->nr);
	self->stack[3] = addr(END);	/* the end in the last frame is no cut */
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_EQ(5, self->nr);
	self->stack[3] = addr(SP8);
	self->in.max = 0;
	EXPECT_EQ(WALK_MAX, walk(self, addr(SP8)));
	EXPECT_EQ(0, self->nr);
}

TEST_F(walk, deeper_than_in_the_kernel)
{
	enum { DEEP = 3 * WALK_MAX_FRAMES };
	__u64 *stack = calloc(DEEP, sizeof(*stack)), *ips = calloc(DEEP, sizeof(*ips));

	for (int i = 0; i < DEEP; i++)
		stack[i] = addr(SP8);
	self->copy.regs.ip = addr(SP8);
	self->in.stack = stack;
	self->in.stack_bytes = DEEP * 8;
	self->in.max = DEEP - 1;
	self->in.exact = NULL;
	EXPECT_EQ(WALK_MAX, walk_stack(&self->in, ips, &self->nr));
	EXPECT_EQ(DEEP - 1, self->nr);
	EXPECT_EQ(addr(SP8), ips[DEEP - 2]);
	EXPECT_EQ(0, ips[DEEP - 1]);
	free(stack);
	free(ips);
}

/* Whatever the copy's size: frames up to its end, read through a window or word by word. */
TEST_F(walk, copy_of_any_size)
{
	for (int i = 0; i < NR_WORDS; i++)
		self->stack[i] = addr(SP8);
	for (size_t bytes = 0; bytes < sizeof(self->stack); bytes += 4) {
		self->in.stack_bytes = bytes;
		ASSERT_EQ(WALK_FAULT, walk(self, addr(SP8)));
		ASSERT_EQ(bytes / 8 + 1, self->nr);
	}
}

TEST_F(walk, memory_below_the_copy)
{
	self->copy.regs.bp = SP - 8;	/* the return address is in the copy, rbp is not */
	self->stack[0] = addr(SP8);
	self->stack[1] = addr(BP16);
	EXPECT_EQ(WALK_FAULT, walk(self, addr(BP16)));
	EXPECT_IPS(addr(BP16), addr(SP8), addr(BP16));
}

TEST_F(walk, misaligned_stack)
{
	self->copy.regs.sp = SP + 4;
	self->stack[0] = addr(SP16);
	self->stack[2] = addr(END);
	EXPECT_EQ(WALK_END, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SP16), addr(END));
}

TEST_F(walk, stack_at_the_end_of_memory)
{
	self->copy.regs.sp = -16ULL;
	self->in.stack_bytes = 16;
	self->stack[0] = self->stack[1] = addr(SP8);
	EXPECT_EQ(WALK_STUCK, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SP8));
	self->copy.regs.sp = 0;
	EXPECT_EQ(WALK_FAULT, walk(self, addr(SP8)));
	EXPECT_IPS(addr(SP8), addr(SP8), addr(SP8));
}

TEST_F(walk, thousands_of_mappings)
{
	enum { FIRST = 1000, NR = 60000 };
	struct walk_map map = self->mem->maps[7];
	__u64 lo, far;

	map.end = map.start + 0x8000;	/* the upper half is a hole */
	for (__u32 i = 0; i < NR; i++) {
		self->mem->maps[FIRST + i] = map;
		self->mem->maps[FIRST + i].start += 0x10000ULL * i;
		self->mem->maps[FIRST + i].end += 0x10000ULL * i;
		self->mem->maps[FIRST + i].bias += 0x10000ULL * i;
	}
	for (__u32 nr = 1; nr <= NR; nr += 1 + nr / 3) {
		self->in.proc = (struct walk_proc) { .first = FIRST, .nr = nr };
		for (__u32 i = 0; i < nr; i += 1 + nr / 50) {
			far = 0x10000ULL * (nr - 1);
			lo = 0x10000ULL * i;
			self->stack[0] = addr(SP16) + far;
			self->stack[2] = addr(SP8);
			self->stack[3] = addr(END) + lo;
			ASSERT_EQ(WALK_END, walk(self, addr(SP8) + lo));
			ASSERT_EQ(4, self->nr);
			ASSERT_EQ(WALK_NO_MAP, walk(self, addr(SP8) + lo + 0x8000));
			ASSERT_EQ(WALK_NO_MAP, walk(self, addr(SP8) + far + 0x10000));
		}
	}
}

/* Code with a row every 16 bytes over many pages and several chunks: each row is found. */
TEST_F(walk, each_row_is_found)
{
	enum { NR = 5 * 4096 + 7, STEP = 16 };
	struct cfi_row *rows = calloc(NR, sizeof(*rows));
	struct cfi_table cfi = {
		.rows = rows, .nr_rows = NR, .rules = (struct walk_rule *)rules,
		.nr_rules = NR_RULES,
	};
	static const int want[2] = { WALK_END, WALK_NO_REG };
	struct walk_file file;
	__u64 base = BIAS + 0x30000 + 5;	/* rows stand off the pages' starts */

	for (int i = 0; i < NR; i++)
		rows[i] = (struct cfi_row) { 0x30005 + i * STEP, i % 2 ? RA_UNKNOWN : END };
	ASSERT_EQ(0, walk_tables__add(self->tables, &cfi, &file));
	self->mem->maps[7] = (struct walk_map) {
		.start = BIAS, .end = BIAS + (1 << 30), .bias = BIAS, .kind = WALK_MAP_TABLE,
		.first_page = file.first_page, .page_base = file.page_base,
		.nr_pages = file.nr_pages,
	};
	EXPECT_EQ(6, file.nr_pages);
	EXPECT_EQ(WALK_NO_CFI, walk(self, BIAS + 0x2ffff));
	EXPECT_EQ(WALK_NO_CFI, walk(self, BIAS + 0x30000));
	EXPECT_EQ(WALK_NO_CFI, walk(self, base - 1));
	for (__u64 i = 0; i < NR; i++) {
		ASSERT_EQ(want[i % 2], walk(self, base + i * STEP));
		ASSERT_EQ(want[i % 2], walk(self, base + i * STEP + STEP - 1));
	}
	EXPECT_EQ(want[0], walk(self, BIAS + 0x8ffff));	/* the last rule holds to the page's end */
	EXPECT_EQ(WALK_NO_CFI, walk(self, BIAS + 0x90000));
	free(rows);
}

TEST(status_names)
{
	for (int i = 0; i < WALK_STATUS_NR; i++) {
		ASSERT_NE(NULL, walk_status__name(i));
		for (int j = 0; j < i; j++)
			EXPECT_NE(0, strcmp(walk_status__name(i), walk_status__name(j)));
	}
	EXPECT_STREQ("unknown", walk_status__name(WALK_STATUS_NR));
	EXPECT_STREQ("unknown", walk_status__name(-1));
}

TEST_HARNESS_MAIN
