// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack copies of processes made up here, by frame pointers: what is code of no file, what is known
 * of mappings that change, and of many of them.
 */
#include <linux/perf_event.h>
#include <linux/types.h>
#include <asm/perf_regs.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "perfdata/reader.h"
#include "stack/machine.h"

#define PID	77
#define SP	0x7ffc00001000ULL
#define CODE	0x7f0000000000ULL
#define MAX	1024

FIXTURE(unwind) {
	struct machine *m;
	__u64 regs[3];
	__u64 stack[2 * MAX + 4];
	struct pdsample s;
	struct frame f[MAX];
};

FIXTURE_SETUP(unwind)
{
	struct machine_opts opts = {};

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, machine__new(&opts, &self->m));
	self->s = (struct pdsample) {
		.pid = PID, .cpumode = PERF_RECORD_MISC_USER, .regs = self->regs,
		.regs_abi = PERF_SAMPLE_REGS_ABI_64,
		.regs_mask = 1 << PERF_REG_X86_BP | 1 << PERF_REG_X86_SP | 1 << PERF_REG_X86_IP,
		.stack = self->stack, .stack_bytes = sizeof(self->stack),
	};
}

FIXTURE_TEARDOWN(unwind)
{
	machine__free(self->m);
}

static int map(FIXTURE_DATA(unwind) *self, __u32 pid, __u64 start, __u64 bytes, const char *name)
{
	const struct pdmap new = {
		.pid = pid, .tid = pid, .start = start, .len = bytes, .filename = name,
		.prot = PROT_READ | PROT_EXEC, .cpumode = PERF_RECORD_MISC_USER,
	};

	return machine__mmap(self->m, &new);
}

/* @nr frames by frame pointers, @step apart, from CODE + 0x10 on; then rbp is 0. */
static size_t resolve(FIXTURE_DATA(unwind) *self, size_t nr, __u64 step)
{
	self->regs[0] = nr > 1 ? SP : 0;
	self->regs[1] = SP;
	self->regs[2] = CODE + 0x10;
	for (size_t i = 1; i < nr; i++) {
		self->stack[2 * i - 2] = i + 1 < nr ? SP + 16 * i : 0;
		self->stack[2 * i - 1] = CODE + 0x10 + i * step;
	}
	return machine__resolve(self->m, &self->s, self->f, MAX);
}

static __u64 nr_cut(FIXTURE_DATA(unwind) *self)
{
	return machine__stats(self->m)->nr_unwind_cut;
}

TEST_F(unwind, memory_is_walked_by_frame_pointers)
{
	static const char *const names[] = {
		"//anon", "[heap]", "/memfd:jit (deleted)", "/dev/zero (deleted)", "anon_inode:[x]",
	};

	for (__u32 i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ASSERT_EQ(0, map(self, 100 + i, CODE, 0x10000, names[i]));
		self->s.pid = 100 + i;
		ASSERT_EQ(3, resolve(self, 3, 0x100));
		EXPECT_EQ(CODE + 0x10, self->f[0].ip);
		EXPECT_EQ(CODE + 0x110, self->f[1].ip);
		EXPECT_EQ(CODE + 0x210, self->f[2].ip);
	}
	EXPECT_EQ(0, nr_cut(self));
}

TEST_F(unwind, file_that_is_gone_is_not_walked_by_frame_pointers)
{
	ASSERT_EQ(0, map(self, PID, CODE, 0x10000, "/nowhere/libgone.so"));
	EXPECT_EQ(1, resolve(self, 3, 0x100));
	EXPECT_EQ(1, nr_cut(self));
}

TEST_F(unwind, code_in_no_mapping)
{
	ASSERT_EQ(0, map(self, PID, CODE, 0x100, "//anon"));
	ASSERT_EQ(2, resolve(self, 3, 0x1000));
	EXPECT_EQ(CODE + 0x1010, self->f[1].ip);
	EXPECT_EQ(1, nr_cut(self));
}

TEST_F(unwind, mapping_that_became_another)
{
	ASSERT_EQ(0, map(self, PID, CODE, 0x10000, "//anon"));
	EXPECT_EQ(3, resolve(self, 3, 0x100));
	ASSERT_EQ(0, map(self, PID, CODE, 0x10000, "/nowhere/libgone.so"));
	EXPECT_EQ(1, resolve(self, 3, 0x100));
	ASSERT_EQ(0, map(self, PID, CODE, 0x180, "//anon"));
	EXPECT_EQ(2, resolve(self, 3, 0x200));
	EXPECT_EQ(2, resolve(self, 2, 0x100));
}

TEST_F(unwind, mapping_that_grew)
{
	ASSERT_EQ(0, map(self, PID, CODE, 0x100, "//anon"));
	EXPECT_EQ(2, resolve(self, 3, 0x1000));
	ASSERT_EQ(0, map(self, PID, CODE, 0x10000, "//anon"));
	EXPECT_EQ(3, resolve(self, 3, 0x1000));
}

TEST_F(unwind, as_deep_as_asked_for)
{
	ASSERT_EQ(0, map(self, PID, CODE, 0x100000, "//anon"));
	EXPECT_EQ(MAX, resolve(self, MAX, 0x100));
	EXPECT_EQ(CODE + 0x10 + (MAX - 1) * 0x100, self->f[MAX - 1].ip);
	EXPECT_EQ(0, nr_cut(self));
	EXPECT_EQ(7, machine__resolve(self->m, &self->s, self->f, 7));
}

TEST_F(unwind, more_processes_than_are_kept)
{
	for (int round = 0; round < 2; round++)
		for (__u32 pid = 100; pid < 150; pid++) {
			ASSERT_EQ(0, map(self, pid, CODE, 0x10000, pid % 2 ? "//anon" : "/nowhere/x"));
			self->s.pid = pid;
			ASSERT_EQ(pid % 2 ? 3 : 1, resolve(self, 3, 0x100));
		}
}

/* Each walk comes to mappings that the others did not. */
TEST_F(unwind, more_mappings_than_are_kept)
{
	enum { NR = 6 * MAX };

	for (__u64 i = 0; i < NR; i++)
		ASSERT_EQ(0, map(self, PID, CODE + i * 0x1000, 0x1000, "//anon"));
	for (int i = 0; i < 6; i++) {
		ASSERT_EQ(MAX, resolve(self, MAX, 0x1000 * (i + 1)));
		EXPECT_EQ(CODE + 0x10 + (MAX - 1) * 0x1000ULL * (i + 1), self->f[MAX - 1].ip);
	}
	EXPECT_EQ(0, nr_cut(self));
}

TEST_F(unwind, other_registers_than_needed)
{
	ASSERT_EQ(0, map(self, PID, CODE, 0x10000, "//anon"));
	self->s.ip = CODE + 0x20;
	self->s.regs_abi = PERF_SAMPLE_REGS_ABI_32;
	EXPECT_EQ(1, resolve(self, 3, 0x100));
	EXPECT_EQ(CODE + 0x20, self->f[0].ip);
	self->s.regs_abi = PERF_SAMPLE_REGS_ABI_64;
	self->s.regs_mask = 1 << PERF_REG_X86_IP;
	EXPECT_EQ(1, resolve(self, 3, 0x100));
	EXPECT_EQ(CODE + 0x20, self->f[0].ip);
}

TEST_HARNESS_MAIN
