// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which instruction of a function is probed, on made-up code.
 */
#include <linux/types.h>
#include <string.h>

#include "kselftest_harness.h"
#include "probe/site.h"

struct code_row {
	const char *bytes;
	size_t nr_bytes;
	unsigned int nr_args;
	__u32 delta;
	bool emulated;
	const char *insn;
};

FIXTURE(code) { struct site site; };
FIXTURE_VARIANT(code) { struct code_row row; };
FIXTURE_SETUP(code) { memset(&self->site, 0xff, sizeof(self->site)); }
FIXTURE_TEARDOWN(code) { }

#define CODE(name, text, ...) \
	FIXTURE_VARIANT_ADD(code, name) { .row = { text, sizeof(text) - 1, __VA_ARGS__ } }

#define ENDBR	"\xf3\x0f\x1e\xfa"
#define NOP5	"\x0f\x1f\x44\x00\x00"
#define TEST_DI	"\x48\x85\xff"		/* test %rdi,%rdi */
#define MOV_DI	"\x48\x89\xfb"		/* mov %rdi,%rbx */
#define PUSH_BX	"\x53"
#define RET	"\xc3"

CODE(push_at_entry, "\x55" MOV_DI, 1, 0, true, "push %rbp");
CODE(push_of_a_new_register, "\x41\x54" MOV_DI, 1, 0, true, "push %r12");
CODE(push_with_a_wide_prefix_is_not_emulated, "\x48\x53" RET, 1, 0, false, "push %rbx");
CODE(push_of_a_constant_is_not_emulated, "\x6a\x01" PUSH_BX, 1, 0, false, "push $0x01");
CODE(push_of_memory_is_not_emulated, "\xff\x37" PUSH_BX, 1, 0, false, "push (%rdi)");
CODE(push_behind_endbr64, ENDBR PUSH_BX, 1, 4, true, "push %rbx");
CODE(push_behind_nop5, NOP5 PUSH_BX, 1, 5, true, "push %rbx");
CODE(push_behind_endbr64_and_nop5, ENDBR NOP5 PUSH_BX, 1, 9, true, "push %rbx");
CODE(nop_of_one_byte, "\x90" PUSH_BX, 1, 0, true, "nop");
CODE(nop_with_a_prefix, "\x66\x90" PUSH_BX, 1, 0, true, "nop");
CODE(exchange_that_looks_like_nop, "\x41\x90" PUSH_BX, 1, 2, true, "push %rbx");
CODE(push_behind_copies_of_arguments, MOV_DI "\x89\xf0" PUSH_BX, 2, 5, true, "push %rbx");
CODE(null_test_of_free, TEST_DI "\x74\x10" PUSH_BX, 1, 3, true, "jz 0x1015");
CODE(null_test_of_free_far, TEST_DI "\x0f\x84\x10\x00\x00\x00", 1, 3, true, "jz 0x1019");
CODE(compare_of_memory, "\x80\x3d\x71\x0e\x14\x00\x00\x74\x07", 2, 7, true, "jz 0x1010");
CODE(jump_at_entry, "\xe9\x00\x01\x00\x00", 1, 0, true, "jmp 0x1105");
CODE(short_jump_at_entry, "\xeb\x10", 1, 0, true, "jmp 0x1012");
CODE(call_at_entry, "\xe8\x00\x01\x00\x00" PUSH_BX, 1, 0, true, "call 0x1105");
CODE(jump_with_an_operand_size_prefix, "\x66\x74\x10" PUSH_BX, 1, 0, false, NULL);
CODE(indirect_jump_ends_the_walk, "\xff\xe0" PUSH_BX, 1, 0, false, "jmp %rax");
CODE(indirect_call_ends_the_walk, "\xff\xd0" PUSH_BX, 1, 0, false, "call %rax");
CODE(return_ends_the_walk, "\x31\xc0" RET PUSH_BX, 1, 0, false, "xor %eax, %eax");
CODE(loop_instruction_ends_the_walk, "\xe3\x02" PUSH_BX, 1, 0, false, NULL);
CODE(system_call_ends_the_walk, "\x0f\x05" PUSH_BX, 1, 0, false, "syscall");
CODE(trap_ends_the_walk, "\x0f\x0b" PUSH_BX, 1, 0, false, "ud2");
CODE(stack_pointer_moved, "\x48\x83\xec\x18" PUSH_BX, 1, 0, false, "sub $0x18, %rsp");
CODE(first_argument_overwritten, "\x48\x89\xc7" PUSH_BX, 1, 0, false, "mov %rax, %rdi");
CODE(half_an_argument_overwritten, "\x31\xff" PUSH_BX, 1, 0, false, "xor %edi, %edi");
CODE(argument_byte_overwritten, "\x40\xb7\x01" PUSH_BX, 1, 0, false, "mov $0x01, %dil");
CODE(argument_maybe_overwritten, "\x48\x0f\x44\xf8" PUSH_BX, 1, 0, false, "cmovz %rax, %rdi");
CODE(hidden_operand_overwrites_argument, "\x48\xf7\xe6" PUSH_BX, 3, 0, false, "mul %rsi");
CODE(register_that_is_no_argument_here, "\x48\xf7\xe6" PUSH_BX, 2, 3, true, "push %rbx");
CODE(second_argument_overwritten, "\x31\xf6" PUSH_BX, 2, 0, false, "xor %esi, %esi");
CODE(no_second_argument, "\x31\xf6" PUSH_BX, 1, 2, true, "push %rbx");
CODE(instruction_cut_off, "\x48\x89", 1, 0, false, "?");
CODE(no_instruction, "\x06", 1, 0, false, "?");
CODE(nothing_at_all, "", 1, 0, false, "?");

TEST_F(code, site)
{
	const struct code_row *row = &variant->row;
	struct site_code code = {
		.bytes = (const __u8 *)row->bytes, .nr_bytes = row->nr_bytes, .vaddr = 0x1000,
	};

	site__choose(&code, row->nr_args, &self->site);
	EXPECT_EQ(row->delta, self->site.delta);
	EXPECT_EQ(row->emulated, self->site.emulated);
	if (row->insn)
		EXPECT_STREQ(row->insn, self->site.insn);
}

static struct site choose(const void *bytes, size_t nr_bytes, size_t fn_bytes)
{
	struct site_code code = {
		.bytes = bytes, .nr_bytes = nr_bytes, .fn_bytes = fn_bytes, .vaddr = 0x1000,
	};
	struct site site;

	site__choose(&code, 1, &site);
	return site;
}

TEST(nothing_behind_the_function_is_probed)
{
	/* mov %rdi,%rbx ends a function of 3 bytes; the push belongs to the next one. */
	EXPECT_FALSE(choose(MOV_DI PUSH_BX, 4, 3).emulated);
	EXPECT_EQ(3, choose(MOV_DI PUSH_BX, 4, 4).delta);
}

TEST(a_loop_back_to_the_site_forbids_it)
{
	/* mov %rdi,%rbx; push %rbx; jmp -3: the push runs again and again. */
	struct site site = choose(MOV_DI PUSH_BX "\xeb\xfd", 6, 6);

	EXPECT_FALSE(site.emulated);
	EXPECT_EQ(0, site.delta);
}

TEST(a_loop_that_misses_the_site_does_not_matter)
{
	/* mov %rdi,%rbx; push %rbx; nop; jmp to the nop. */
	EXPECT_EQ(3, choose(MOV_DI PUSH_BX "\x90\xeb\xfd", 7, 7).delta);
}

TEST(the_walk_ends_after_64_bytes)
{
	__u8 bytes[SITE_MAX_DELTA + 8];

	for (size_t i = 0; i < sizeof(bytes); i += 2)
		memcpy(bytes + i, "\x31\xc0", 2);		/* xor %eax,%eax */
	bytes[SITE_MAX_DELTA] = 0x53;
	EXPECT_FALSE(choose(bytes, sizeof(bytes), 0).emulated);
	bytes[SITE_MAX_DELTA - 2] = 0x53;
	EXPECT_EQ(SITE_MAX_DELTA - 2, choose(bytes, sizeof(bytes), 0).delta);
}

TEST_HARNESS_MAIN
