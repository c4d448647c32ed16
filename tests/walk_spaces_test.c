// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of the tracking event, in odd orders, and what stacks come to by them. All mappings are
 * anonymous: code with frame pointers. The stacks have two frames, leaf() in one mapping and its
 * caller in another; they end well (WALK_END) where both are known.
 */
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "stack/walk_records.h"
#include "stack/walk_spaces.h"
#include "trace/track_record.h"

#include <kselftest_harness.h>

#define PID		0x7ffffff0	/* above the kernel's limit: there is no such process */
#define OLD		0x10000000ULL	/* mappings, a page each */
#define NEW		0x20000000ULL
#define SP		0x7ffc00001000ULL

struct told {
	pid_t pid;
	bool forgotten;
	struct walk_proc proc;
	unsigned int nr;
};

static struct told told;

static int set_proc(void *ctx, pid_t pid, const struct walk_proc *proc)
{
	(void)ctx;
	told.pid = pid;
	told.forgotten = !proc;
	told.nr++;
	if (proc)
		told.proc = *proc;
	return 0;
}

FIXTURE(spaces) {
	struct walk_memory *plain, mem;
	struct walk_spaces *s;
	__u64 ips[WALK_MAX_FRAMES];
	__u32 nr;
};

FIXTURE_SETUP(spaces)
{
	memset(&told, 0, sizeof(told));
	ASSERT_EQ(0, walk_memory__new_plain(&self->plain));
	self->mem = *self->plain;
	self->mem.set_proc = set_proc;
	ASSERT_EQ(0, walk_spaces__new(&self->mem, &self->s));
}

FIXTURE_TEARDOWN(spaces)
{
	walk_spaces__free(self->s);
	walk_memory__free_plain(self->plain);
}

struct trailer {
	__u32 pid, tid;
	__u64 time_ns, cpu, id;
};

static void feed(struct walk_spaces *s, struct perf_event_header *record, size_t bytes, __u64 time)
{
	struct trailer trailer = { .time_ns = time };

	memcpy((char *)record + bytes, &trailer, sizeof(trailer));
	record->size = bytes + sizeof(trailer);
	walk_spaces__record(s, record);
}

static void task(struct walk_spaces *s, __u32 type, __u32 pid, __u32 ppid, __u32 tid, __u64 time)
{
	__u64 room[16] = {};
	struct task_record *t = (void *)room;

	t->header.type = type;
	t->pid = pid;
	t->ppid = ppid;
	t->tid = tid;
	t->ptid = ppid;
	feed(s, &t->header, sizeof(*t) + 8, time);
}

static void forked(struct walk_spaces *s, __u32 pid, __u32 parent, __u64 time)
{
	task(s, PERF_RECORD_FORK, pid, parent, pid, time);
}

static void ended(struct walk_spaces *s, __u32 pid, __u64 time)
{
	task(s, PERF_RECORD_EXIT, pid, 1, pid, time);
}

static void execed(struct walk_spaces *s, __u32 pid, __u64 time)
{
	__u64 room[16] = {};
	struct task_record *t = (void *)room;

	t->header.type = PERF_RECORD_COMM;
	t->header.misc = PERF_RECORD_MISC_COMM_EXEC;
	t->pid = pid;
	t->ppid = pid;		/* tid, there */
	feed(s, &t->header, 32, time);
}

static void mapped(struct walk_spaces *s, __u32 pid, __u64 start, __u64 time)
{
	__u64 room[32] = {};
	struct mmap2_record *m = (void *)room;

	m->header.type = PERF_RECORD_MMAP2;
	m->pid = m->tid = pid;
	m->start = start;
	m->len = 4096;
	m->prot = PROT_READ | PROT_EXEC;
	strcpy(m->filename, "//anon");
	feed(s, &m->header, sizeof(*m) + 8, time);
}

/* A thread in the mapping at @leaf, called from that at @caller. */
static int walk(struct walk_spaces *s, pid_t pid, __u64 time, __u64 leaf, __u64 caller, __u32 *nr)
{
	const __u64 stack[] = { SP + 16, caller + 8, 0, 0 };
	struct walk_copy copy = {
		.regs = { .ip = leaf + 8, .sp = SP, .bp = SP }, .exact = 1, .bytes = sizeof(stack),
	};
	__u64 ips[WALK_MAX_FRAMES];

	return walk_spaces__walk(s, pid, time, &copy, stack, 10, ips, nr);
}

#define WALKS(status, pid, time, leaf, caller) \
	EXPECT_EQ(status, walk(self->s, pid, time, leaf, caller, &self->nr))

TEST_F(spaces, mappings_are_published)
{
	mapped(self->s, PID, NEW, 20);
	mapped(self->s, PID, OLD, 10);
	EXPECT_FALSE(walk_spaces__update(self->s, 30));
	ASSERT_EQ(PID, told.pid);
	ASSERT_EQ(2, told.proc.nr);
	EXPECT_EQ(OLD, self->mem.maps[told.proc.first].start);
	EXPECT_EQ(OLD + 4096, self->mem.maps[told.proc.first].end);
	EXPECT_EQ(WALK_MAP_FP, self->mem.maps[told.proc.first].kind);
	EXPECT_EQ(NEW, self->mem.maps[told.proc.first + 1].start);
	WALKS(WALK_END, PID, 30, OLD, NEW);
	EXPECT_EQ(2, self->nr);
	WALKS(WALK_NO_MAP, PID + 1, 30, OLD, NEW);
}

TEST_F(spaces, later_records_wait)
{
	mapped(self->s, PID, OLD, 10);
	mapped(self->s, PID, NEW, 31);
	EXPECT_TRUE(walk_spaces__update(self->s, 30));
	WALKS(WALK_NO_MAP, PID, 30, OLD, NEW);
	EXPECT_FALSE(walk_spaces__update(self->s, 31));
	WALKS(WALK_END, PID, 30, OLD, NEW);
}

/* All that a process does, the last first. */
TEST_F(spaces, order_of_arrival_does_not_matter)
{
	ended(self->s, PID, 50);
	mapped(self->s, PID, NEW, 40);
	execed(self->s, PID, 30);
	forked(self->s, PID, PID - 1, 20);
	mapped(self->s, PID - 1, OLD, 10);
	walk_spaces__update(self->s, 60);
	WALKS(WALK_END, PID, 25, OLD, OLD);
	WALKS(WALK_NO_MAP, PID, 45, OLD, OLD);
	WALKS(WALK_END, PID, 45, NEW, NEW);
	WALKS(WALK_END, PID - 1, 45, OLD, OLD);
}

TEST_F(spaces, equal_times_keep_the_order_of_arrival)
{
	for (int i = 0; i < 100; i++) {
		execed(self->s, PID, 10);
		mapped(self->s, PID, OLD + i * 4096ULL, 10);
	}
	walk_spaces__update(self->s, 20);
	WALKS(WALK_END, PID, 20, OLD + 99 * 4096, OLD + 99 * 4096);
	WALKS(WALK_NO_MAP, PID, 20, OLD + 98 * 4096, OLD + 98 * 4096);
}

TEST_F(spaces, stacks_are_of_the_program_of_their_time)
{
	mapped(self->s, PID, OLD, 10);
	walk_spaces__update(self->s, 15);
	execed(self->s, PID, 20);
	mapped(self->s, PID, NEW, 21);
	execed(self->s, PID, 30);
	mapped(self->s, PID, OLD, 31);
	walk_spaces__update(self->s, 40);
	WALKS(WALK_END, PID, 19, OLD, OLD);
	WALKS(WALK_END, PID, 29, NEW, NEW);
	WALKS(WALK_NO_MAP, PID, 29, OLD, OLD);
	WALKS(WALK_END, PID, 39, OLD, OLD);
	EXPECT_EQ(30, told.proc.since_ns);
}

TEST_F(spaces, process_that_has_ended_is_walked_but_not_published)
{
	mapped(self->s, PID, OLD, 10);
	ended(self->s, PID, 11);
	walk_spaces__update(self->s, 20);
	EXPECT_EQ(0, told.nr);
	WALKS(WALK_END, PID, 10, OLD, OLD);
	walk_spaces__update(self->s, WALK_SPACES_LAST_PASS);
	WALKS(WALK_END, PID, 10, OLD, OLD);
}

TEST_F(spaces, process_that_has_ended_is_forgotten_in_time)
{
	mapped(self->s, PID, OLD, 10);
	ended(self->s, PID, 11);
	walk_spaces__update(self->s, 5500000000ULL);
	WALKS(WALK_END, PID, 10, OLD, OLD);
	walk_spaces__update(self->s, 7500000000ULL);
	WALKS(WALK_NO_MAP, PID, 10, OLD, OLD);
	EXPECT_TRUE(told.forgotten);
}

TEST_F(spaces, program_before_is_forgotten_in_time)
{
	mapped(self->s, PID, OLD, 10);
	execed(self->s, PID, 20);
	walk_spaces__update(self->s, 5500000000ULL);
	WALKS(WALK_END, PID, 10, OLD, OLD);
	walk_spaces__update(self->s, 7500000000ULL);
	WALKS(WALK_NO_MAP, PID, 10, OLD, OLD);
}

/* We live: the leader's end is not that of the process. */
TEST_F(spaces, process_without_leader_is_published)
{
	mapped(self->s, getpid(), OLD, 10);
	ended(self->s, getpid(), 11);
	mapped(self->s, getpid(), NEW, 12);
	walk_spaces__update(self->s, 20);
	EXPECT_EQ(2, told.proc.nr);
	walk_spaces__update(self->s, 20000000000ULL);
	EXPECT_FALSE(told.forgotten);
	WALKS(WALK_END, getpid(), 30, OLD, NEW);
}

TEST_F(spaces, end_of_a_thread_is_not_that_of_the_process)
{
	mapped(self->s, PID, OLD, 10);
	task(self->s, PERF_RECORD_EXIT, PID, 1, PID + 1, 11);
	walk_spaces__update(self->s, 20);
	EXPECT_EQ(PID, told.pid);
	EXPECT_EQ(1, told.proc.nr);
}

TEST_F(spaces, number_used_again_is_another_process)
{
	mapped(self->s, PID, OLD, 10);
	ended(self->s, PID, 20);
	mapped(self->s, PID - 1, NEW, 15);
	forked(self->s, PID, PID - 1, 30);
	walk_spaces__update(self->s, 40);
	WALKS(WALK_END, PID, 35, NEW, NEW);
	WALKS(WALK_NO_MAP, PID, 35, OLD, OLD);
	WALKS(WALK_END, PID, 19, OLD, OLD);
	walk_spaces__update(self->s, 20000000000ULL);
	WALKS(WALK_END, PID, 35, NEW, NEW);
}

TEST_F(spaces, child_begins_with_its_parents_mappings)
{
	struct walk_proc parent;

	mapped(self->s, PID - 1, OLD, 10);
	walk_spaces__update(self->s, 15);
	parent = told.proc;
	forked(self->s, PID, PID - 1, 20);
	mapped(self->s, PID, NEW, 21);
	walk_spaces__update(self->s, 30);
	EXPECT_EQ(PID, told.pid);
	EXPECT_EQ(2, told.proc.nr);
	EXPECT_NE(parent.first, told.proc.first);
	WALKS(WALK_END, PID, 30, OLD, NEW);
	WALKS(WALK_NO_MAP, PID - 1, 30, OLD, NEW);
}

TEST_F(spaces, new_mapping_covers_what_was_there)
{
	mapped(self->s, PID, OLD, 10);
	mapped(self->s, PID, OLD + 2048, 20);
	walk_spaces__update(self->s, 30);
	ASSERT_EQ(2, told.proc.nr);
	EXPECT_EQ(OLD + 2048, self->mem.maps[told.proc.first].end);
}

TEST_F(spaces, cut_records_do_no_harm)
{
	__u64 room[32] = {};
	struct mmap2_record *m = (void *)room;
	size_t bytes;

	for (__u32 type = 0; type < 24; type++) {
		for (bytes = sizeof(m->header); bytes <= sizeof(room); bytes += 4) {
			memset(room, 0x41, sizeof(room));
			m->header = (struct perf_event_header){
				.type = type, .misc = PERF_RECORD_MISC_COMM_EXEC, .size = bytes,
			};
			walk_spaces__record(self->s, &m->header);
		}
	}
	walk_spaces__update(self->s, WALK_SPACES_LAST_PASS - 1);
	mapped(self->s, PID, OLD, 10);
	walk_spaces__update(self->s, 20);
	WALKS(WALK_END, PID, 20, OLD, OLD);
}

static void map_many(struct walk_spaces *s, __u32 pid, __u32 nr, __u64 time)
{
	for (__u32 i = 0; i < nr; i++)
		mapped(s, pid, OLD + i * 8192ULL, time);
}

/* No room in the walker's array: copies are walked all the same. */
TEST_F(spaces, more_mappings_than_there_is_room_for)
{
	struct walk_spaces_stats stats;

	map_many(self->s, PID, WALK_MAX_MAPS - 10, 10);
	map_many(self->s, PID - 1, 100, 11);
	walk_spaces__update(self->s, 20);
	walk_spaces__stats(self->s, &stats);
	EXPECT_EQ(1, stats.nr_no_room);
	WALKS(WALK_END, PID, 20, OLD, OLD + 8192 * (WALK_MAX_MAPS - 11ULL));
	WALKS(WALK_END, PID - 1, 20, OLD, OLD + 8192 * 99);
	walk_spaces__update(self->s, 30);
	walk_spaces__stats(self->s, &stats);
	EXPECT_EQ(2, stats.nr_no_room);
}

/* As a compiler at run time makes them, page by page. */
TEST_F(spaces, many_mappings_are_not_published_one_by_one)
{
	struct walk_spaces_stats stats;

	map_many(self->s, PID, 2000, 10);
	walk_spaces__update(self->s, 20);
	ASSERT_EQ(2000, told.proc.nr);
	for (int i = 0; i < 1000; i++) {
		mapped(self->s, PID, NEW + i * 8192, 30 + i);
		walk_spaces__update(self->s, 30 + i);
	}
	walk_spaces__stats(self->s, &stats);
	EXPECT_EQ(0, stats.nr_no_room);
	WALKS(WALK_END, PID, 2000, OLD, NEW + 8192 * 999);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	walk_spaces__update(self->s, 3000);
	EXPECT_EQ(3000, told.proc.nr);
}

TEST_F(spaces, changes_are_counted)
{
	__u64 before = walk_spaces__nr_changes(self->s);

	mapped(self->s, PID, OLD, 10);
	walk_spaces__update(self->s, 5);
	EXPECT_EQ(before, walk_spaces__nr_changes(self->s));
	walk_spaces__update(self->s, 10);
	EXPECT_LT(before, walk_spaces__nr_changes(self->s));
	before = walk_spaces__nr_changes(self->s);
	walk_spaces__update(self->s, 20);
	EXPECT_EQ(before, walk_spaces__nr_changes(self->s));
}

/* From /proc; all that is mapped is there, so a walk out of libc to us works. */
TEST_F(spaces, running_process_is_taken_in)
{
	ASSERT_EQ(0, walk_spaces__add_process(self->s, getpid()));
	walk_spaces__update(self->s, 0);
	walk_spaces__wait(self->s, 10000);
	walk_spaces__update(self->s, 0);
	EXPECT_EQ(getpid(), told.pid);
	EXPECT_LE(3, told.proc.nr);
	for (__u32 i = 0; i < told.proc.nr; i++)
		EXPECT_NE(WALK_MAP_PENDING, self->mem.maps[told.proc.first + i].kind);
	EXPECT_GT(0, walk_spaces__add_process(self->s, PID));
}

TEST_HARNESS_MAIN
