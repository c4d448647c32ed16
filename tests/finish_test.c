// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/churn.h"
#include "trace/finish.h"

#include <kselftest_harness.h>

#define TYPE_FP	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)
#define TYPE_DWARF (TYPE_FP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define REGS_MASK	0xff0fffULL	/* 20 registers, sp is slot 7, ip slot 8 */
#define NR_REGS		20

#define CALLER	0x401234ULL
#define UPPER	0x405678ULL
#define SITE	0x7f0000098ef3ULL

/* A sample as the kernel lays it out: header, seven words, chain, raw, registers, stack. */
struct sample {
	union {
		struct perf_event_header header;
		__u64 words[512];
		char bytes[4096];
	};
	size_t used;
};

static void push(struct sample *s, __u64 word)
{
	s->words[s->used / 8] = word;
	s->used += 8;
}

static void push_raw(struct sample *s, const void *raw, __u32 bytes)
{
	__u32 padded = ((bytes + 4 + 7) & ~7U) - 4;

	memcpy(s->bytes + s->used, &padded, 4);
	memcpy(s->bytes + s->used + 4, raw, bytes);
	s->used += 4 + padded;
}

static void begin(struct sample *s, const __u64 *ips, size_t nr_ips)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	s->header.type = PERF_RECORD_SAMPLE;
	s->header.misc = PERF_RECORD_MISC_USER;
	s->used = 8;
	push(s, 77);			/* id */
	push(s, SITE);			/* ip */
	push(s, 0x200000001ULL);	/* pid 1, tid 2 */
	push(s, 1000);			/* time */
	push(s, 3);			/* cpu */
	push(s, 0);			/* period: bpf-output has none */
	push(s, nr_ips);
	for (i = 0; i < nr_ips; i++)
		push(s, ips[i]);
}

static void end(struct sample *s)
{
	s->header.size = s->used;
}

static struct churn_free a_free(void)
{
	struct churn_free f = {
		.common.type = CHURN_FREE_ID, .weight = 23, .caller = CALLER,
	};

	return f;
}

static struct churn_alloc an_alloc(void)
{
	struct churn_alloc a = {
		.common.type = CHURN_ALLOC_ID, .weight = 23, .caller = CALLER,
	};

	return a;
}

FIXTURE(finish) {
	struct sample in;
	__u64 out[(FINISH_MAX_BYTES + 7) / 8];
	struct finish_result result;
	int bytes;
};

FIXTURE_SETUP(finish)
{
}

FIXTURE_TEARDOWN(finish)
{
}

#define EXPECT_CHAIN(...)								\
do {											\
	const __u64 want[] = { __VA_ARGS__ };						\
	size_t nr = sizeof(want) / sizeof(want[0]), at;					\
											\
	ASSERT_EQ(nr, self->out[7]);							\
	for (at = 0; at < nr; at++)							\
		EXPECT_EQ(want[at], self->out[8 + at]);					\
} while (0)

#define FINISH(type)									\
	(self->bytes = finish_sample(type, REGS_MASK, &self->in.header, self->out, &self->result))

TEST_F(finish, puts_the_skipped_caller_into_a_free)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, UPPER };
	struct churn_free f = a_free();

	begin(&self->in, ips, 3);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_EQ((int)self->in.used, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, CALLER - 1, UPPER);
	EXPECT_EQ(true, self->result.repaired);
	memcpy(&f, (char *)self->out + 64 + 24 + 4, sizeof(f));
	EXPECT_EQ(CHURN_F_REPAIRED, f.flags);
	EXPECT_EQ(CHURN_FREE_ID, self->result.event_id);
}

TEST_F(finish, period_is_the_weight_and_ip_the_call)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, UPPER };
	struct churn_free f = a_free();

	begin(&self->in, ips, 3);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_LT(0, FINISH(TYPE_FP));
	EXPECT_EQ(CALLER - 1, self->out[2]);
	EXPECT_EQ(23, self->out[6]);
	EXPECT_EQ(1000, self->out[4]);
}

TEST_F(finish, takes_the_caller_once_where_the_kernel_put_it_in)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, CALLER, UPPER };
	struct churn_free f = a_free();

	begin(&self->in, ips, 4);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_EQ((int)self->in.used - 8, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, CALLER - 1, UPPER);
	EXPECT_EQ(false, self->result.repaired);
	memcpy(&f, (char *)self->out + 64 + 24 + 4, sizeof(f));
	EXPECT_EQ(0, f.flags);
}

TEST_F(finish, an_alloc_at_its_return_has_the_caller_already)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, CALLER, UPPER };
	struct churn_alloc a = an_alloc();

	begin(&self->in, ips, 3);
	push_raw(&self->in, &a, sizeof(a));
	end(&self->in);

	ASSERT_EQ((int)self->in.used, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, CALLER - 1, UPPER);
	EXPECT_EQ(false, self->result.repaired);
}

TEST_F(finish, an_empty_chain_gets_the_caller)
{
	struct churn_free f = a_free();

	begin(&self->in, NULL, 0);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_EQ((int)self->in.used + 16, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, CALLER - 1);
}

TEST_F(finish, a_recursive_frame_above_is_kept)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, CALLER + 8, CALLER + 8, UPPER };
	struct churn_free f = a_free();

	begin(&self->in, ips, 5);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_LT(0, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, CALLER - 1, CALLER + 8, CALLER + 8, UPPER);
}

/* The hook, the sample path, a wrapper: behind them the call in the program. */
TEST_F(finish, frames_of_the_preload_library_are_left_out)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, SITE + 64, SITE + 128, CALLER, UPPER };
	struct churn_free f = a_free();

	f.flags = CHURN_F_PRELOAD;
	begin(&self->in, ips, 6);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_LT(0, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, CALLER - 1, UPPER);
	EXPECT_EQ(false, self->result.repaired);
}

TEST_F(finish, frames_of_others_stay_where_the_caller_comes_again)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, UPPER, UPPER + 8, CALLER };
	struct churn_free f = a_free();

	begin(&self->in, ips, 5);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_LT(0, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, CALLER - 1, UPPER, UPPER + 8, CALLER);
}

TEST_F(finish, an_unknown_caller_leaves_the_chain_alone)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, UPPER };
	struct churn_free f = a_free();

	f.caller = 0;
	begin(&self->in, ips, 3);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	ASSERT_LT(0, FINISH(TYPE_FP));
	EXPECT_CHAIN(PERF_CONTEXT_USER, SITE, UPPER);
	EXPECT_EQ(SITE, self->out[2]);
}

static void push_user_state(struct sample *s, __u64 sp)
{
	int i;

	push(s, 2);				/* PERF_SAMPLE_REGS_ABI_64 */
	for (i = 0; i < NR_REGS; i++)
		push(s, i == 7 ? sp : i == 8 ? SITE : 100ULL + i);
	push(s, 24);				/* three words of stack */
	push(s, CALLER);
	push(s, 0x1111);
	push(s, 0x2222);
	push(s, 24);				/* dyn_size */
}

TEST_F(finish, moves_registers_and_stack_of_a_free_to_its_caller)
{
	const __u64 ips[] = { PERF_CONTEXT_USER };
	struct churn_free f = a_free();
	const __u64 *regs, *stack;

	begin(&self->in, ips, 1);
	push_raw(&self->in, &f, sizeof(f));
	push_user_state(&self->in, 0x7ffe1000);
	end(&self->in);

	ASSERT_EQ((int)self->in.used, FINISH(TYPE_DWARF));
	EXPECT_CHAIN(PERF_CONTEXT_USER);
	regs = self->out + 9 + 88 / 8;		/* behind [USER] and 88 bytes of raw */
	ASSERT_EQ(2, regs[0]);
	EXPECT_EQ(0x7ffe1008, regs[1 + 7]);
	EXPECT_EQ(CALLER - 1, regs[1 + 8]);
	EXPECT_EQ(100, regs[1 + 0]);
	stack = regs + 1 + NR_REGS;
	EXPECT_EQ(24, stack[0]);
	EXPECT_EQ(0x1111, stack[1]);
	EXPECT_EQ(0x2222, stack[2]);
	EXPECT_EQ(16, stack[4]);
}

TEST_F(finish, leaves_the_stack_of_an_alloc_alone)
{
	const __u64 ips[] = { PERF_CONTEXT_USER };
	struct churn_alloc a = an_alloc();
	const __u64 *regs;

	begin(&self->in, ips, 1);
	push_raw(&self->in, &a, sizeof(a));
	push_user_state(&self->in, 0x7ffe1000);
	end(&self->in);

	ASSERT_LT(0, FINISH(TYPE_DWARF));
	regs = self->out + 9 + 80 / 8;
	EXPECT_EQ(0x7ffe1000, regs[1 + 7]);
	EXPECT_EQ(CALLER - 1, regs[1 + 8]);
	EXPECT_EQ(24, regs[1 + NR_REGS]);
	EXPECT_EQ(CALLER, regs[2 + NR_REGS]);
}

TEST_F(finish, refuses_every_cut)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, UPPER };
	struct churn_free f = a_free();
	size_t whole, bytes;

	begin(&self->in, ips, 3);
	push_raw(&self->in, &f, sizeof(f));
	push_user_state(&self->in, 0x7ffe1000);
	end(&self->in);
	whole = self->in.used;

	for (bytes = 8; bytes < whole; bytes += 8) {
		self->in.header.size = bytes;
		EXPECT_EQ(-EINVAL, FINISH(TYPE_DWARF));
	}
}

TEST_F(finish, refuses_a_chain_longer_than_the_record)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, UPPER };
	struct churn_free f = a_free();

	begin(&self->in, ips, 3);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);
	self->in.words[7] = 1ULL << 61;

	EXPECT_EQ(-EINVAL, FINISH(TYPE_FP));
}

TEST_F(finish, refuses_a_payload_that_is_not_ours)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, SITE, UPPER };
	struct churn_free f = a_free();

	f.common.type = 300;
	begin(&self->in, ips, 3);
	push_raw(&self->in, &f, sizeof(f));
	end(&self->in);

	EXPECT_EQ(-EINVAL, FINISH(TYPE_FP));
}

TEST_HARNESS_MAIN
