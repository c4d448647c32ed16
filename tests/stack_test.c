// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address spaces and callchains, with made-up records.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "perfdata/reader.h"
#include "stack/machine.h"
#include "stack/space.h"

#define PID	1000
#define CHILD	1001

/* ------------------------------------------------------------------ mappings */

FIXTURE(space) {
	struct space_pool pool;
	struct space *space;
};

FIXTURE_SETUP(space)
{
	memset(&self->pool, 0, sizeof(self->pool));
	self->space = space__new(&self->pool);
	ASSERT_NE(NULL, self->space);
}

FIXTURE_TEARDOWN(space)
{
	space__put(self->space);
	EXPECT_EQ(0, self->pool.nr_mappings);
}

#define DATA	7	/* an object without code */

/* Objects are only compared here. */
static struct dso *object(size_t nr)
{
	static char objects[8];

	return (struct dso *)&objects[nr];
}

static int put(struct space **space, __u64 start, __u64 end, __u64 pgoff, size_t nr)
{
	struct mapping map = {
		.start = start, .end = end, .pgoff = pgoff, .dso = object(nr), .exec = nr != DATA,
	};

	return space__map(space, &map);
}

static struct dso *at(struct space *space, __u64 addr)
{
	const struct mapping *map = space__find(space, addr);

	return map ? map->dso : NULL;
}

static __u64 offset_at(struct space *space, __u64 addr)
{
	const struct mapping *map = space__find(space, addr);

	return map ? addr - map->start + map->pgoff : ~0ULL;
}

TEST_F(space, end_is_excluded)
{
	ASSERT_EQ(0, put(&self->space, 0x1000, 0x2000, 0, 1));
	EXPECT_EQ(NULL, at(self->space, 0xfff));
	EXPECT_EQ(object(1), at(self->space, 0x1000));
	EXPECT_EQ(object(1), at(self->space, 0x1fff));
	EXPECT_EQ(NULL, at(self->space, 0x2000));
}

TEST_F(space, map_inside_splits)
{
	ASSERT_EQ(0, put(&self->space, 0x1000, 0x9000, 0x100000, 1));
	ASSERT_EQ(0, put(&self->space, 0x3000, 0x4000, 0, 2));
	EXPECT_EQ(3, space__nr(self->space));
	EXPECT_EQ(object(1), at(self->space, 0x2fff));
	EXPECT_EQ(object(2), at(self->space, 0x3000));
	EXPECT_EQ(object(1), at(self->space, 0x4000));
	EXPECT_EQ(0x103000, offset_at(self->space, 0x4000));
}

TEST_F(space, map_over_edges_cuts)
{
	ASSERT_EQ(0, put(&self->space, 0x1000, 0x3000, 0, 1));
	ASSERT_EQ(0, put(&self->space, 0x4000, 0x6000, 0x50000, 2));
	ASSERT_EQ(0, put(&self->space, 0x2000, 0x5000, 0, 3));
	EXPECT_EQ(3, space__nr(self->space));
	EXPECT_EQ(object(1), at(self->space, 0x1fff));
	EXPECT_EQ(object(3), at(self->space, 0x2000));
	EXPECT_EQ(object(3), at(self->space, 0x4fff));
	EXPECT_EQ(object(2), at(self->space, 0x5000));
	EXPECT_EQ(0x51000, offset_at(self->space, 0x5000));
}

TEST_F(space, map_over_all_replaces)
{
	for (__u64 i = 1; i < 6; i++)
		ASSERT_EQ(0, put(&self->space, i * 0x1000, (i + 1) * 0x1000, 0, 1));
	ASSERT_EQ(0, put(&self->space, 0, 0x10000, 0, 2));
	EXPECT_EQ(1, space__nr(self->space));
	EXPECT_EQ(object(2), at(self->space, 0x3000));
}

TEST_F(space, same_range_again_replaces)
{
	ASSERT_EQ(0, put(&self->space, 0x1000, 0x2000, 0, 1));
	ASSERT_EQ(0, put(&self->space, 0x1000, 0x2000, 0, 2));
	EXPECT_EQ(1, space__nr(self->space));
	EXPECT_EQ(object(2), at(self->space, 0x1000));
}

TEST_F(space, refuses_empty_and_wrapping)
{
	EXPECT_EQ(-EINVAL, put(&self->space, 0x1000, 0x1000, 0, 1));
	EXPECT_EQ(-EINVAL, put(&self->space, 0xfffffffffffff000, 0x1000, 0, 1));
	EXPECT_EQ(0, space__nr(self->space));
}

TEST_F(space, top_of_the_address_space_is_mappable)
{
	ASSERT_EQ(0, put(&self->space, 0xffffffffff600000, 0xffffffffffffffff, 0, 1));
	EXPECT_EQ(object(1), at(self->space, 0xfffffffffffffffe));
}

TEST_F(space, refuses_more_than_a_kernel_allows)
{
	int err = 0;
	__u64 i;

	for (i = 0; !err && i < 1 << 18; i++)
		err = put(&self->space, i * 0x2000, i * 0x2000 + 0x1000, 0, 1);
	EXPECT_EQ(-E2BIG, err);
	EXPECT_LT(65530, i);
	EXPECT_EQ(object(1), at(self->space, 0x2000));
}

TEST_F(space, shared_until_changed)
{
	struct space *child = space__get(self->space);

	ASSERT_EQ(0, put(&self->space, 0x1000, 0x2000, 0, 1));
	EXPECT_NE(child, self->space);
	EXPECT_EQ(NULL, at(child, 0x1000));
	ASSERT_EQ(0, put(&child, 0x1000, 0x2000, 0, 2));
	EXPECT_EQ(object(1), at(self->space, 0x1000));
	EXPECT_EQ(object(2), at(child, 0x1000));
	space__put(child);
}

TEST_F(space, id_changes_when_a_mapping_becomes_another)
{
	__u64 id = space__id(self->space);

	ASSERT_EQ(0, put(&self->space, 0x1000, 0x9000, 0, 1));
	ASSERT_EQ(0, put(&self->space, 0x2000, 0x3000, 0x1000, 1));	/* shows the same */
	ASSERT_EQ(0, put(&self->space, 0xa000, 0xb000, 0, 2));
	EXPECT_EQ(id, space__id(self->space));
	ASSERT_EQ(0, put(&self->space, 0xa000, 0xb000, 0, 3));
	EXPECT_NE(id, space__id(self->space));
	id = space__id(self->space);
	ASSERT_EQ(0, put(&self->space, 0xa000, 0xb000, 0, DATA));
	EXPECT_NE(id, space__id(self->space));
}

TEST_F(space, id_stays_where_no_code_is)
{
	__u64 id = space__id(self->space);

	ASSERT_EQ(0, put(&self->space, 0x1000, 0x9000, 0, DATA));
	ASSERT_EQ(0, put(&self->space, 0x2000, 0x3000, 0, DATA));
	EXPECT_EQ(id, space__id(self->space));
}

/* ------------------------------------------------------------------ processes */

FIXTURE(machine) { struct machine *m; };

FIXTURE_SETUP(machine)
{
	struct machine_opts opts = { .demangle = true };

	ASSERT_EQ(0, machine__new(&opts, &self->m));
}

FIXTURE_TEARDOWN(machine)
{
	machine__free(self->m);
}

static int map_file(struct machine *m, __u32 pid, __u64 start, __u64 bytes, const char *name)
{
	struct pdmap map = {
		.cpumode = PERF_RECORD_MISC_USER, .pid = pid, .tid = pid, .start = start,
		.len = bytes, .pgoff = 0x1000, .filename = name,
	};

	return machine__mmap(m, &map);
}

static struct frame resolve_ip(struct machine *m, __u32 pid, __u16 cpumode, __u64 ip)
{
	struct pdsample s = { .pid = pid, .tid = pid, .cpumode = cpumode, .ip = ip };
	struct frame f = {};

	if (machine__resolve(m, &s, &f, 1) != 1)
		f.dso = "(no frame)";
	return f;
}

static const char *dso_at(struct machine *m, __u32 pid, __u64 ip)
{
	return resolve_ip(m, pid, PERF_RECORD_MISC_USER, ip).dso ?: "(none)";
}

TEST_F(machine, unknown_process_gives_one_frame_without_names)
{
	struct frame f = resolve_ip(self->m, PID, PERF_RECORD_MISC_USER, 0x1234);

	EXPECT_EQ(0x1234, f.ip);
	EXPECT_EQ(NULL, f.sym);
	EXPECT_EQ(NULL, f.dso);
	EXPECT_FALSE(f.kernel);
	EXPECT_EQ(1, machine__stats(self->m)->nr_unmapped);
}

TEST_F(machine, mappings_belong_to_their_process)
{
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, map_file(self->m, CHILD, 0x10000, 0x1000, "/no/b"));
	EXPECT_STREQ("/no/a", dso_at(self->m, PID, 0x10000));
	EXPECT_STREQ("/no/b", dso_at(self->m, CHILD, 0x10000));
}

TEST_F(machine, fork_copies_and_then_both_go_their_way)
{
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, machine__fork(self->m, CHILD, PID, CHILD, PID));
	EXPECT_STREQ("/no/a", dso_at(self->m, CHILD, 0x10000));
	ASSERT_EQ(0, map_file(self->m, CHILD, 0x10000, 0x1000, "/no/b"));
	ASSERT_EQ(0, map_file(self->m, PID, 0x20000, 0x1000, "/no/c"));
	EXPECT_STREQ("/no/a", dso_at(self->m, PID, 0x10000));
	EXPECT_STREQ("/no/b", dso_at(self->m, CHILD, 0x10000));
	EXPECT_STREQ("(none)", dso_at(self->m, CHILD, 0x20000));
}

TEST_F(machine, new_thread_keeps_the_mappings)
{
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, machine__fork(self->m, PID, PID, PID + 7, PID));
	EXPECT_STREQ("/no/a", dso_at(self->m, PID, 0x10000));
}

TEST_F(machine, fork_of_an_unknown_parent_keeps_what_is_known)
{
	ASSERT_EQ(0, map_file(self->m, CHILD, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, machine__fork(self->m, CHILD, 1, CHILD, 1));
	EXPECT_STREQ("/no/a", dso_at(self->m, CHILD, 0x10000));
}

TEST_F(machine, exec_clears_and_renaming_does_not)
{
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, machine__comm(self->m, PID, PID, "renamed", false));
	EXPECT_STREQ("/no/a", dso_at(self->m, PID, 0x10000));
	ASSERT_EQ(0, machine__comm(self->m, PID, PID, "other", true));
	EXPECT_STREQ("(none)", dso_at(self->m, PID, 0x10000));
}

TEST_F(machine, exec_of_a_child_leaves_the_parent_alone)
{
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, machine__fork(self->m, CHILD, PID, CHILD, PID));
	ASSERT_EQ(0, machine__comm(self->m, CHILD, CHILD, "other", true));
	EXPECT_STREQ("/no/a", dso_at(self->m, PID, 0x10000));
	EXPECT_STREQ("(none)", dso_at(self->m, CHILD, 0x10000));
}

TEST_F(machine, samples_after_the_exit_still_resolve)
{
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, machine__exit(self->m, PID, PID));
	EXPECT_STREQ("/no/a", dso_at(self->m, PID, 0x10000));
}

TEST_F(machine, ended_processes_are_forgotten_in_time)
{
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, machine__comm(self->m, PID, PID, "first", false));
	ASSERT_EQ(0, machine__exit(self->m, PID, PID));
	for (__u32 pid = 2 * PID; pid < 2 * PID + 5000; pid++) {
		ASSERT_EQ(0, machine__comm(self->m, pid, pid, "x", false));
		ASSERT_EQ(0, machine__exit(self->m, pid, pid));
	}
	EXPECT_STREQ("(none)", dso_at(self->m, PID, 0x10000));
	EXPECT_STREQ("", machine__thread_comm(self->m, PID, PID));
}

TEST_F(machine, a_pid_used_again_is_not_forgotten)
{
	ASSERT_EQ(0, machine__exit(self->m, PID, PID));
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	for (__u32 pid = 2 * PID; pid < 2 * PID + 5000; pid++)
		ASSERT_EQ(0, machine__exit(self->m, pid, pid));
	EXPECT_STREQ("/no/a", dso_at(self->m, PID, 0x10000));
}

TEST_F(machine, wrong_mappings_are_left_out_quietly)
{
	EXPECT_EQ(0, map_file(self->m, PID, 0x10000, 0, "/no/empty"));
	EXPECT_EQ(0, map_file(self->m, PID, 0xfffffffffffff000, 0x2000, "/no/wraps"));
	EXPECT_STREQ("(none)", dso_at(self->m, PID, 0x10000));
	EXPECT_STREQ("(none)", dso_at(self->m, PID, 0xfffffffffffff000));
}

/* ------------------------------------------------------------------ comm */

TEST_F(machine, threads_inherit_their_comm)
{
	ASSERT_EQ(0, machine__comm(self->m, PID, PID, "parent", true));
	ASSERT_EQ(0, machine__fork(self->m, PID, PID, PID + 7, PID));
	EXPECT_STREQ("parent", machine__thread_comm(self->m, PID, PID + 7));
	ASSERT_EQ(0, machine__comm(self->m, PID, PID + 7, "worker", false));
	EXPECT_STREQ("worker", machine__thread_comm(self->m, PID, PID + 7));
	EXPECT_STREQ("parent", machine__thread_comm(self->m, PID, PID));
}

TEST_F(machine, unknown_thread_has_its_process_comm)
{
	ASSERT_EQ(0, machine__comm(self->m, PID, PID, "parent", false));
	EXPECT_STREQ("parent", machine__thread_comm(self->m, PID, PID + 9));
	EXPECT_STREQ("", machine__thread_comm(self->m, PID + 1, PID + 1));
	EXPECT_STREQ("swapper", machine__thread_comm(self->m, 0, 0));
}

TEST_F(machine, comm_cannot_talk_to_the_terminal)
{
	ASSERT_EQ(0, machine__comm(self->m, PID, PID, "a\033[31mb\nc\x7f", false));
	EXPECT_STREQ("a?[31mb?c?", machine__thread_comm(self->m, PID, PID));
}

/* ------------------------------------------------------------------ odd objects */

TEST_F(machine, odd_mappings_keep_their_name)
{
	static const char *const names[] = {
		"//anon", "[heap]", "[stack]", "[anon:glibc: malloc]", "/memfd:jit (deleted)",
		"/dev/zero (deleted)", "/SYSV00000000 (deleted)", "anon_inode:[perf_event]",
		"/no/such/file", "", "/", "/tmp", "/dev/null", "relative", "[vsyscall]",
		"[uprobes]",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		__u64 start = 0x100000 * (i + 1);
		struct frame f;

		ASSERT_EQ(0, map_file(self->m, PID, start, 0x10000, names[i]));
		f = resolve_ip(self->m, PID, PERF_RECORD_MISC_USER, start + 0x123);
		EXPECT_STREQ(names[i], f.dso);
		EXPECT_EQ(NULL, f.sym);
		EXPECT_EQ(0x1123, f.rel_ip);
		EXPECT_EQ(NULL, machine__srcline(self->m, &f, false));
	}
}

TEST_F(machine, pipe_as_object_does_not_block)
{
	char path[] = "/tmp/stack_test_fifo_XXXXXX";

	ASSERT_NE(-1, mkstemp(path));
	unlink(path);
	ASSERT_EQ(0, mkfifo(path, 0600));
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, path));
	EXPECT_STREQ(path, dso_at(self->m, PID, 0x10000));
	unlink(path);
}

TEST_F(machine, path_with_escapes_is_cleaned_but_opened_as_it_is)
{
	char path[] = "/tmp/stack_test\n\033[2J_XXXXXX", self_path[256];
	struct frame f;
	ssize_t chars;
	int fd = mkstemp(path);

	ASSERT_NE(-1, fd);
	close(fd);
	unlink(path);
	chars = readlink("/proc/self/exe", self_path, sizeof(self_path) - 1);
	ASSERT_LT(0, chars);
	self_path[chars] = '\0';
	ASSERT_EQ(0, symlink(self_path, path));
	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000000, path));
	f = resolve_ip(self->m, PID, PERF_RECORD_MISC_USER, 0x10000);
	EXPECT_EQ(NULL, strpbrk(f.dso, "\n\033"));
	EXPECT_EQ(0, strncmp("/tmp/stack_test??[2J_", f.dso, 21));
	unlink(path);
}

TEST_F(machine, other_build_id_means_no_symbols)
{
	struct pdmap map = {
		.cpumode = PERF_RECORD_MISC_USER, .pid = PID, .start = 0, .len = 0x10000000,
		.filename = "/proc/self/exe", .build_id = { 1, 2, 3 }, .build_id_bytes = 20,
	};
	char path[256] = "";

	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	map.filename = path;
	ASSERT_EQ(0, machine__mmap(self->m, &map));
	for (__u64 ip = 0; ip < 0x20000; ip += 0x101)
		ASSERT_EQ(NULL, resolve_ip(self->m, PID, PERF_RECORD_MISC_USER, ip).sym);
}

TEST_F(machine, two_builds_of_a_path_are_two_objects)
{
	struct pdmap map = {
		.cpumode = PERF_RECORD_MISC_USER, .pid = PID, .start = 0x10000, .len = 0x1000,
		.filename = "/no/prog", .build_id = { 1 }, .build_id_bytes = 20,
	};
	const char *first, *second;

	ASSERT_EQ(0, machine__mmap(self->m, &map));
	map.pid = CHILD;
	map.build_id[0] = 2;
	ASSERT_EQ(0, machine__mmap(self->m, &map));
	first = dso_at(self->m, PID, 0x10000);
	second = dso_at(self->m, CHILD, 0x10000);
	EXPECT_STREQ(first, second);
	EXPECT_NE(first, second);
}

/* ------------------------------------------------------------------ callchains */

static size_t resolve_chain(struct machine *m, const __u64 *ips, size_t nr, struct frame *frames,
			    size_t max)
{
	struct pdsample s = {
		.pid = PID, .tid = PID, .cpumode = PERF_RECORD_MISC_KERNEL, .ip = 1,
		.ips = ips, .nr_ips = nr,
	};

	return machine__resolve(m, &s, frames, max);
}

TEST_F(machine, markers_switch_and_are_consumed)
{
	const __u64 ips[] = {
		PERF_CONTEXT_KERNEL, 0xffffffff81000000, PERF_CONTEXT_USER, 0x10000, 0x10010,
	};
	struct frame f[8];

	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(3, resolve_chain(self->m, ips, 5, f, 8));
	EXPECT_TRUE(f[0].kernel);
	EXPECT_FALSE(f[1].kernel);
	EXPECT_EQ(0x10000, f[1].ip);
	EXPECT_STREQ("/no/a", f[2].dso);
}

TEST_F(machine, return_addresses_are_looked_up_at_the_call)
{
	/* 0x11000 ends one object: as a return address it belongs to the one before */
	const __u64 ips[] = { PERF_CONTEXT_USER, 0x11000, 0x11000 };
	struct frame f[8];

	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(0, map_file(self->m, PID, 0x11000, 0x1000, "/no/b"));
	ASSERT_EQ(2, resolve_chain(self->m, ips, 3, f, 8));
	EXPECT_STREQ("/no/b", f[0].dso);
	EXPECT_STREQ("/no/a", f[1].dso);
	EXPECT_EQ(0x11000, f[1].ip);
	EXPECT_EQ(0x2000, f[1].rel_ip);
}

TEST_F(machine, unknown_markers_hide_what_follows)
{
	const __u64 ips[] = {
		PERF_CONTEXT_USER, 0x10000, (__u64)-640, 77, PERF_CONTEXT_USER, 0x10001,
	};
	struct frame f[8];

	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	ASSERT_EQ(2, resolve_chain(self->m, ips, 6, f, 8));
	EXPECT_EQ(0x10000, f[0].ip);
	EXPECT_EQ(0x10001, f[1].ip);
}

TEST_F(machine, chain_of_markers_only_falls_back_to_the_ip)
{
	const __u64 ips[] = { PERF_CONTEXT_USER };
	struct frame f[2];

	ASSERT_EQ(1, resolve_chain(self->m, ips, 1, f, 2));
	EXPECT_EQ(1, f[0].ip);
}

TEST_F(machine, never_more_frames_than_room)
{
	__u64 ips[64];
	struct frame f[4];

	for (size_t i = 0; i < 64; i++)
		ips[i] = 0x10000 + i;
	memset(f, 0x55, sizeof(f));
	EXPECT_EQ(3, resolve_chain(self->m, ips, 64, f, 3));
	EXPECT_EQ(0x5555555555555555, f[3].ip);
	EXPECT_EQ(0, resolve_chain(self->m, ips, 64, f, 0));
}

TEST_F(machine, stack_copy_with_nonsense_does_not_crash)
{
	__u64 regs[64], stack[512];
	struct pdsample s = {
		.pid = PID, .cpumode = PERF_RECORD_MISC_USER, .ip = 0x10000, .regs = regs,
		.regs_abi = PERF_SAMPLE_REGS_ABI_64, .stack = stack,
	};
	struct frame f[32];

	ASSERT_EQ(0, map_file(self->m, PID, 0x10000, 0x1000, "/no/a"));
	for (unsigned int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < 64; i++)
			regs[i] = random() % 3 ? (__u64)random() << 33 | random() : ~0ULL - i;
		for (size_t i = 0; i < 512; i++)
			stack[i] = random() % 2 ? 0x10000ULL + random() % 0x1000 : (__u64)random();
		s.regs_mask = round % 5 ? 0xff0fff : (__u64)random() << 33 | random();
		s.regs_abi = round % 7 % 3;
		s.stack_bytes = random() % (sizeof(stack) + 1);
		ASSERT_LE(1, machine__resolve(self->m, &s, f, 32));
	}
}

/* ------------------------------------------------------------------ kernel */

static void map_kernel(struct machine *m, __u64 text, __u8 id)
{
	struct pdmap map = {
		.cpumode = PERF_RECORD_MISC_KERNEL, .pid = -1, .start = text, .len = 0x1000000,
		.pgoff = text, .filename = "[kernel.kallsyms]_text", .build_id_bytes = id ? 20 : 0,
	};

	memset(map.build_id, id, sizeof(map.build_id));
	machine__mmap(m, &map);
}

TEST_F(machine, another_kernels_addresses_get_no_names_of_this_one)
{
	struct frame f;

	map_kernel(self->m, 0xffffffff81000000, 0xab);
	f = resolve_ip(self->m, PID, PERF_RECORD_MISC_KERNEL, 0xffffffff81000100);
	EXPECT_TRUE(f.kernel);
	EXPECT_STREQ("[kernel.kallsyms]", f.dso);
	EXPECT_EQ(NULL, f.sym);
}

TEST_F(machine, another_boots_addresses_get_no_names_of_this_one)
{
	map_kernel(self->m, 0xffffffff77000000, 0);
	EXPECT_EQ(NULL, resolve_ip(self->m, PID, PERF_RECORD_MISC_KERNEL, 0xffffffff77000100).sym);
}

TEST_F(machine, without_a_kernel_map_the_kernel_is_unmapped)
{
	struct frame f = resolve_ip(self->m, PID, PERF_RECORD_MISC_KERNEL, 0xffffffff81000100);

	EXPECT_TRUE(f.kernel);
	EXPECT_EQ(NULL, f.dso);
}

/* ------------------------------------------------------------------ --kallsyms, --vmlinux */

#define TEXT	0xffffffff81000000ULL	/* of tests/data/kallsyms */
#define MOVED	0x12000000ULL		/* what another boot adds */

static struct machine *machine_with(const struct machine_opts *opts)
{
	struct machine *m;

	return machine__new(opts, &m) ? NULL : m;
}

static const char *kernel_name(struct machine *m, __u64 ip)
{
	return resolve_ip(m, PID, PERF_RECORD_MISC_KERNEL, ip).sym ?: "(none)";
}

TEST(given_kallsyms_names_another_kernel)
{
	struct machine_opts opts = { .kallsyms = "tests/data/kallsyms" };
	struct machine *m = machine_with(&opts);

	ASSERT_NE(NULL, m);
	map_kernel(m, TEXT, 0xab);
	EXPECT_STREQ("do_fault", kernel_name(m, TEXT + 0x5010));
	machine__free(m);
}

TEST(given_kallsyms_moves_with_the_recorded_text)
{
	struct machine_opts opts = { .kallsyms = "tests/data/kallsyms" };
	struct machine *m = machine_with(&opts);

	ASSERT_NE(NULL, m);
	map_kernel(m, TEXT + MOVED, 0xab);
	EXPECT_STREQ("do_fault", kernel_name(m, TEXT + MOVED + 0x5010));
	machine__free(m);
}

TEST(given_kallsyms_needs_no_kernel_map)
{
	struct machine_opts opts = { .kallsyms = "tests/data/kallsyms" };
	struct machine *m = machine_with(&opts);

	ASSERT_NE(NULL, m);
	EXPECT_STREQ("do_fault", kernel_name(m, TEXT + 0x5010));
	machine__free(m);
}

TEST(given_files_that_are_none_name_nothing)
{
	static const char *const paths[] = { "/no/such/file", "/dev/null", "/tmp", "Makefile" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct machine_opts opts = { .kallsyms = paths[i], .vmlinux = paths[i] };
		struct machine *m = machine_with(&opts);

		ASSERT_NE(NULL, m);
		map_kernel(m, TEXT, 0xab);
		EXPECT_STREQ("(none)", kernel_name(m, TEXT + 0x5010));
		EXPECT_EQ(1, machine__stats(m)->nr_unnamed);
		machine__free(m);
	}
}

/* Linked like a kernel: static functions, at kernel addresses. */
FIXTURE(vmlinux) { char dir[64], path[96]; struct machine_opts opts; struct machine *m; };

FIXTURE_SETUP(vmlinux)
{
	char command[512];

	memset(self, 0, sizeof(*self));
	strcpy(self->dir, "/tmp/stack_test_XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/vmlinux", self->dir);
	snprintf(command, sizeof(command),
		 "printf '.globl _text\\n_text: .skip 64, 0x90\\n.type inner, @function\\ninner: .skip 16, 0x90\\n.size inner, 16\\n' | gcc -x assembler -nostdlib -static -no-pie -Wl,-Ttext=0x%llx,-e,_text,--build-id=0x%s -o %s -",
		 TEXT, "abababababababababababababababababababab", self->path);
	ASSERT_EQ(0, system(command));
	self->opts.vmlinux = self->path;
	self->m = machine_with(&self->opts);
	ASSERT_NE(NULL, self->m);
}

FIXTURE_TEARDOWN(vmlinux)
{
	machine__free(self->m);
	unlink(self->path);
	rmdir(self->dir);
}

TEST_F(vmlinux, names_the_recorded_kernel)
{
	map_kernel(self->m, TEXT, 0xab);
	EXPECT_STREQ("inner", kernel_name(self->m, TEXT + 64));
	EXPECT_STREQ("inner", kernel_name(self->m, TEXT + 79));
	EXPECT_EQ(TEXT + 64, resolve_ip(self->m, PID, PERF_RECORD_MISC_KERNEL, TEXT + 70).sym_start);
}

TEST_F(vmlinux, moves_with_the_recorded_text)
{
	map_kernel(self->m, TEXT + MOVED, 0xab);
	EXPECT_STREQ("inner", kernel_name(self->m, TEXT + MOVED + 64));
	EXPECT_STREQ("(none)", kernel_name(self->m, TEXT + 64));
}

TEST_F(vmlinux, other_build_id_means_no_names)
{
	map_kernel(self->m, TEXT, 0xcd);
	EXPECT_STREQ("(none)", kernel_name(self->m, TEXT + 64));
}

TEST_F(vmlinux, names_the_kernel_and_kallsyms_its_modules)
{
	struct machine_opts opts = { .vmlinux = self->path, .kallsyms = "tests/data/kallsyms" };
	struct pdmap module = {
		.cpumode = PERF_RECORD_MISC_KERNEL, .pid = -1, .start = 0xffffffffc0001000, .len = 0x1000,
		.filename = "[kvm]",
	};
	struct machine *m = machine_with(&opts);

	ASSERT_NE(NULL, m);
	map_kernel(m, TEXT, 0xab);
	ASSERT_EQ(0, machine__mmap(m, &module));
	EXPECT_STREQ("inner", kernel_name(m, TEXT + 64));
	EXPECT_STREQ("kvm_init", kernel_name(m, 0xffffffffc0001108));
	machine__free(m);
}

TEST_HARNESS_MAIN
