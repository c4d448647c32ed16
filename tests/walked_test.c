// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of the walker: taken apart, finished, and damaged in all ways that lengths allow. Each is
 * in a piece of memory of just its size, where the sanitizer sees a read beyond it.
 */
#include <linux/types.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/churn.h"
#include "trace/walked.h"

#include <kselftest_harness.h>

#define FIXED_BYTES	56		/* header, IDENTIFIER IP TID TIME CPU PERIOD */
#define PID		1234
#define TIME		777000
#define CALLER		0x401005ULL

struct text {
	char bytes[WALKED_MAX_BYTES];
	size_t at;
};

static void add(struct text *t, const void *from, size_t bytes)
{
	memcpy(t->bytes + t->at, from, bytes);
	t->at += bytes;
}

static void add_u32(struct text *t, __u32 value)
{
	add(t, &value, sizeof(value));
}

static void add_u64(struct text *t, __u64 value)
{
	add(t, &value, sizeof(value));
}

static void add_fixed(struct text *t)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .misc = 2 };

	memset(t, 0, sizeof(*t));
	add(t, &header, sizeof(header));
	add_u64(t, 99);
	add_u64(t, 0);
	add_u32(t, PID);
	add_u32(t, PID + 1);
	add_u64(t, TIME);
	add_u64(t, 0);
	add_u64(t, 0);
}

/* The record, of its size; the caller frees it. */
static struct perf_event_header *finish(struct text *t, size_t bytes)
{
	struct perf_event_header *record = malloc(bytes);

	memcpy(record, t->bytes, bytes);
	record->size = bytes;
	return record;
}

static void add_alloc_of(struct text *t, __u32 raw_bytes, __u64 caller, __u32 flags)
{
	struct churn_alloc alloc = {
		.common.type = CHURN_ALLOC_ID, .ptr = 0x1000, .size = 64, .weight = 50,
		.caller = caller, .flags = flags,
	};

	add_u32(t, raw_bytes);
	add(t, &alloc, sizeof(alloc));
}

static void add_alloc(struct text *t, __u32 raw_bytes)
{
	add_alloc_of(t, raw_bytes, CALLER, 0);
}

static struct perf_event_header *hooked_alloc(struct text *t, __u32 nr, __u64 caller, __u32 flags)
{
	struct walk_head head = { .nr = nr };

	add_fixed(t);
	add_alloc_of(t, sizeof(struct churn_alloc) + sizeof(head) + nr * 8, caller, flags);
	add(t, &head, sizeof(head));
	for (__u32 i = 0; i < nr; i++)
		add_u64(t, CALLER + i * 16);
	return finish(t, t->at);
}

static struct perf_event_header *walked_alloc(struct text *t, __u32 nr)
{
	return hooked_alloc(t, nr, CALLER, 0);
}

static struct perf_event_header *copied_alloc(struct text *t, __u32 stack_bytes)
{
	struct walk_head head = { .is_copy = 1 };
	struct walk_copy copy = { .regs.ip = 5, .bytes = stack_bytes };

	add_fixed(t);
	add_alloc(t, sizeof(struct churn_alloc) + sizeof(head) + sizeof(copy) + stack_bytes);
	add(t, &head, sizeof(head));
	add(t, &copy, sizeof(copy));
	t->at += stack_bytes;
	return finish(t, t->at);
}

static struct perf_event_header *cpu_sample(struct text *t, __u32 nr_kernel, __u32 nr)
{
	struct walk_head head = { .nr = nr, .event_id = 4321, .period = 1001 };

	add_fixed(t);
	add_u64(t, nr_kernel);
	for (__u32 i = 0; i < nr_kernel; i++)
		add_u64(t, i ? 0xffffffff81000000ULL + i : PERF_CONTEXT_KERNEL);
	add_u32(t, sizeof(head) + nr * 8);
	add(t, &head, sizeof(head));
	for (__u32 i = 0; i < nr; i++)
		add_u64(t, CALLER + i * 16);
	return finish(t, t->at);
}

FIXTURE(walked) {
	struct text t;
	struct walked w;
	__u64 ips[WALK_MAX_FRAMES];
	bool repaired;
	__u64 out[WALKED_MAX_BYTES / 8];
};

FIXTURE_SETUP(walked)
{
	memset(self, 0, sizeof(*self));
}

FIXTURE_TEARDOWN(walked)
{
}

TEST_F(walked, alloc_is_taken_apart_and_finished)
{
	struct perf_event_header *record = walked_alloc(&self->t, 3);
	struct churn_alloc alloc;
	int bytes;

	ASSERT_EQ(0, walked__parse(record, false, &self->w));
	EXPECT_EQ(PID, self->w.pid);
	EXPECT_EQ(TIME, self->w.time_ns);
	EXPECT_EQ(CHURN_ALLOC_ID, self->w.event_id);
	ASSERT_EQ(3, self->w.head.nr);
	memcpy(self->ips, self->w.ips, 24);
	bytes = walked__finish(&self->w, self->ips, 3, self->out, &self->repaired);
	ASSERT_LT(0, bytes);
	EXPECT_EQ(0, bytes % 8);
	EXPECT_EQ(bytes, self->out[0] >> 48);		/* header.size */
	EXPECT_FALSE(self->repaired);
	EXPECT_EQ(CALLER - 1, self->out[2]);		/* ip: in the call */
	EXPECT_EQ(50, self->out[6]);			/* period: the weight */
	EXPECT_EQ(4, self->out[7]);
	EXPECT_EQ(PERF_CONTEXT_USER, self->out[8]);
	EXPECT_EQ(CALLER - 1, self->out[9]);
	EXPECT_EQ(CALLER + 32, self->out[11]);
	memcpy(&alloc, (char *)&self->out[12] + 4, sizeof(alloc));
	EXPECT_EQ(CALLER, alloc.caller);
	EXPECT_EQ(0, alloc.flags & CHURN_F_REPAIRED);
	free(record);
}

TEST_F(walked, frames_of_the_preload_library_are_left_out)
{
	struct perf_event_header *record = hooked_alloc(&self->t, 5, CALLER + 32, CHURN_F_PRELOAD);

	ASSERT_EQ(0, walked__parse(record, false, &self->w));
	memcpy(self->ips, self->w.ips, 40);
	ASSERT_LT(0, walked__finish(&self->w, self->ips, 5, self->out, &self->repaired));
	EXPECT_FALSE(self->repaired);
	EXPECT_EQ(CALLER + 32 - 1, self->out[2]);
	EXPECT_EQ(4, self->out[7]);
	EXPECT_EQ(CALLER + 32 - 1, self->out[9]);
	EXPECT_EQ(CALLER + 64, self->out[11]);
	free(record);
}

TEST_F(walked, frames_of_others_stay)
{
	struct perf_event_header *record = hooked_alloc(&self->t, 5, CALLER + 32, 0);

	ASSERT_EQ(0, walked__parse(record, false, &self->w));
	memcpy(self->ips, self->w.ips, 40);
	ASSERT_LT(0, walked__finish(&self->w, self->ips, 5, self->out, &self->repaired));
	EXPECT_EQ(6, self->out[7]);
	EXPECT_EQ(CALLER - 1, self->out[9]);
	free(record);
}

TEST_F(walked, empty_stack_gets_the_caller)
{
	struct perf_event_header *record = walked_alloc(&self->t, 0);
	struct churn_alloc alloc;

	ASSERT_EQ(0, walked__parse(record, false, &self->w));
	ASSERT_LT(0, walked__finish(&self->w, self->ips, 0, self->out, &self->repaired));
	EXPECT_TRUE(self->repaired);
	EXPECT_EQ(2, self->out[7]);
	EXPECT_EQ(CALLER - 1, self->out[9]);
	memcpy(&alloc, (char *)&self->out[10] + 4, sizeof(alloc));
	EXPECT_NE(0, alloc.flags & CHURN_F_REPAIRED);
	free(record);
}

TEST_F(walked, cpu_sample_gets_id_period_and_both_chains)
{
	struct perf_event_header *record = cpu_sample(&self->t, 2, 2);

	ASSERT_EQ(0, walked__parse(record, true, &self->w));
	memcpy(self->ips, self->w.ips, 16);
	ASSERT_EQ(FIXED_BYTES + 8 + 5 * 8,
		  walked__finish(&self->w, self->ips, 2, self->out, &self->repaired));
	EXPECT_EQ(4321, self->out[1]);
	EXPECT_EQ(1001, self->out[6]);
	EXPECT_EQ(5, self->out[7]);
	EXPECT_EQ(PERF_CONTEXT_KERNEL, self->out[8]);
	EXPECT_EQ(PERF_CONTEXT_USER, self->out[10]);
	EXPECT_EQ(CALLER + 16, self->out[12]);
	free(record);
}

TEST_F(walked, cut_records_are_refused)
{
	struct perf_event_header *whole[] = {
		walked_alloc(&self->t, 3), copied_alloc(&self->t, 64), cpu_sample(&self->t, 2, 2),
	};
	size_t i, bytes;

	for (i = 0; i < 3; i++) {
		for (bytes = sizeof(*whole[i]); bytes < whole[i]->size; bytes++) {
			struct perf_event_header *cut = malloc(bytes);

			memcpy(cut, whole[i], bytes);
			cut->size = bytes;
			ASSERT_EQ(-EINVAL, walked__parse(cut, i == 2, &self->w));
			free(cut);
		}
		free(whole[i]);
	}
}

/* Put @value of @bytes at @at, which must be refused. */
#define REFUSES(record, at, value, bytes, is_cpu) do {				\
	__u64 lie = (value);							\
	memcpy((char *)(record) + (at), &lie, bytes);				\
	EXPECT_EQ(-EINVAL, walked__parse(record, is_cpu, &self->w));		\
	free(record);								\
} while (0)

TEST_F(walked, lying_lengths_are_refused)
{
	const size_t raw = FIXED_BYTES, head = raw + 4 + sizeof(struct churn_alloc);
	const size_t nr = head + offsetof(struct walk_head, nr);
	const size_t stack = head + sizeof(struct walk_head) + offsetof(struct walk_copy, bytes);
	struct perf_event_header *record;
	static const __u64 lies[] = { 4, 512, 513, 0x20000000, 0x7fffffff, 0xffffffff };

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		record = walked_alloc(&self->t, 3);
		REFUSES(record, nr, lies[i], 4, false);
		record = copied_alloc(&self->t, 3);
		REFUSES(record, stack, lies[i], 4, false);
		record = cpu_sample(&self->t, 2, 2);
		REFUSES(record, FIXED_BYTES, lies[i] << 32 | 0xffffffff, 8, true);
	}
	record = walked_alloc(&self->t, 3);
	REFUSES(record, raw, record->size - raw - 4 + 1, 4, false);
	record = walked_alloc(&self->t, 3);
	REFUSES(record, raw, 8, 4, false);
	record = walked_alloc(&self->t, 3);
	REFUSES(record, raw, 0xffffffff, 4, false);
	record = cpu_sample(&self->t, 2, 2);
	REFUSES(record, FIXED_BYTES, 0x2000000000000002ULL, 8, true);
}

TEST_F(walked, other_events_and_records_are_refused)
{
	struct perf_event_header *record = walked_alloc(&self->t, 3);

	REFUSES(record, FIXED_BYTES + 4, 0xffff, 2, false);
	record = walked_alloc(&self->t, 3);
	REFUSES(record, 0, PERF_RECORD_LOST, 4, false);
}

TEST_F(walked, too_long_a_chain_is_not_finished)
{
	struct perf_event_header *record = cpu_sample(&self->t, 8100, 2);

	ASSERT_EQ(0, walked__parse(record, true, &self->w));
	EXPECT_EQ(-EINVAL, walked__finish(&self->w, self->ips, WALK_MAX_FRAMES, self->out,
					  &self->repaired));
	free(record);
}

TEST_HARNESS_MAIN
