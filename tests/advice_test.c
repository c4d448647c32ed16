// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each rule of advice on a site that it is for, on one short of each of its thresholds, and on one
 * where the error is too large to tell.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "churn/advice.h"
#include "churn/stacks.h"

#include "kselftest_harness.h"

static struct estimate e(double value, double error)
{
	return (struct estimate){ .value = value, .error = error };
}

/* A site that costs much and has nothing that any rule could say. */
FIXTURE(advice) {
	struct report_shape shape;
	struct advice_input in;
	struct report_advice got[ADVICE_MAX];
	size_t nr;
};

FIXTURE_SETUP(advice)
{
	const struct estimate none = e(0, 0.001), unknown = estimate__unknown();

	self->shape = (struct report_shape){
		.min_bytes = 16, .max_bytes = 3000, .nr_samples = 10000,
		.p50_ns = e(1e9, 1e7), .p90_ns = e(2e9, 1e7), .p99_ns = e(3e9, 1e7),
		.same_size = e(0.1, 0.01), .slack = e(0.1, 0.01), .live = e(500, 10),
		.cross_thread = none, .own_frame = none, .caller_frame = none,
		.lifo = e(0.5, 0.01), .batch = e(0.2, 0.01), .calloc = none,
		.order = FREE_ORDER_MIXED, .batch_blocks = 1.2, .nr_threads = 1,
		.growth = { none, unknown, unknown, e(1, 0.001), none, unknown },
	};
	self->in = (struct advice_input){
		.shape = &self->shape,
		.cost = { .cpu = e(12.3, 0.4), .malloc = e(6.1, 0.3), .free = e(5.2, 0.2),
			  .fault = e(0.6, 0.1), .syscall = e(0.4, 0.1) },
		.allocs_per_s = e(1.9e6, 1e4), .avg_bytes = e(100, 1),
		.function = "parse_line", .freed_by = "drop_line",
	};
}

FIXTURE_TEARDOWN(advice)
{
	(void)self;
}

static size_t find(FIXTURE_DATA(advice) *self)
{
	memset(self->got, 0, sizeof(self->got));
	return self->nr = advice__find(&self->in, self->got);
}

static bool gives(FIXTURE_DATA(advice) *self, enum advice_kind kind)
{
	size_t i;

	find(self);
	for (i = 0; i < self->nr; i++) {
		if (self->got[i].kind == kind)
			return true;
	}
	return false;
}

TEST_F(advice, none_without_a_reason)
{
	EXPECT_EQ(0, find(self));
}

/* --- stack ------------------------------------------------------------------------------------ */

static void make_local(FIXTURE_DATA(advice) *self)
{
	self->shape.min_bytes = self->shape.max_bytes = 48;
	self->shape.own_frame = self->shape.caller_frame = e(0.998, 0.001);
	self->shape.live = e(0.3, 0.01);
	self->shape.lifo = estimate__unknown();
	self->shape.order = FREE_ORDER_UNKNOWN;
}

TEST_F(advice, stack)
{
	make_local(self);
	ASSERT_EQ(1, find(self));
	EXPECT_EQ(ADVICE_STACK, self->got[0].kind);
	EXPECT_STREQ("stack", advice__name(self->got[0].kind));
	EXPECT_STREQ("keep on the stack: fixed 48 B, 99.8 % freed by parse_line itself; "
		     "takes 12.3 +- 0.4 % CPU now", self->got[0].text);
	EXPECT_EQ(12.3, self->got[0].saving.value);
	EXPECT_EQ(0.4, self->got[0].saving.error);
}

TEST_F(advice, stack_of_the_caller)
{
	make_local(self);
	self->shape.own_frame = e(0, 0.001);
	self->shape.min_bytes = 8;
	ASSERT_EQ(1, find(self));
	EXPECT_STREQ("let the caller have it on its stack: at most 48 B, 99.8 % freed before the "
		     "caller returns, mostly by drop_line; takes 12.3 +- 0.4 % CPU now",
		     self->got[0].text);
	/* A list that is built up and torn down. */
	self->shape.live = e(50, 1);
	self->shape.lifo = e(1, 0.01);
	self->shape.order = FREE_ORDER_LIFO;
	EXPECT_FALSE(gives(self, ADVICE_STACK));
}

TEST_F(advice, stack_without_names)
{
	make_local(self);
	self->in.function = NULL;
	ASSERT_EQ(1, find(self));
	EXPECT_STREQ("keep on the stack: fixed 48 B, 99.8 % freed before the function returns; "
		     "takes 12.3 +- 0.4 % CPU now", self->got[0].text);
}

TEST_F(advice, stack_only_when_small)
{
	make_local(self);
	self->shape.max_bytes = ADVICE_STACK_BYTES + 1;
	EXPECT_FALSE(gives(self, ADVICE_STACK));
}

TEST_F(advice, stack_only_when_sure_of_the_frame)
{
	make_local(self);
	self->shape.own_frame = self->shape.caller_frame = e(0.998, 0.03);
	EXPECT_FALSE(gives(self, ADVICE_STACK));
	self->shape.own_frame = self->shape.caller_frame = e(0.94, 0);
	EXPECT_FALSE(gives(self, ADVICE_STACK));
	self->shape.own_frame = self->shape.caller_frame = estimate__unknown();
	EXPECT_FALSE(gives(self, ADVICE_STACK));
}

/* A queue in a loop: freed by the function that allocates, but by a later call of it. */
TEST_F(advice, stack_not_for_blocks_that_outlive_their_call)
{
	make_local(self);
	self->shape.live = e(50, 1);
	EXPECT_FALSE(gives(self, ADVICE_STACK));
	self->shape.live = e(0.9, 0.1);
	self->shape.lifo = e(0, 0.02);
	self->shape.order = FREE_ORDER_FIFO;
	EXPECT_FALSE(gives(self, ADVICE_STACK));
}

TEST_F(advice, stack_for_recursion_and_for_many_threads)
{
	make_local(self);
	self->shape.live = e(5, 0.1);
	self->shape.nr_threads = 8;
	EXPECT_TRUE(gives(self, ADVICE_STACK));
	self->shape.nr_threads = 1;
	EXPECT_FALSE(gives(self, ADVICE_STACK));
	self->shape.lifo = e(1, 0.01);
	self->shape.order = FREE_ORDER_LIFO;
	EXPECT_TRUE(gives(self, ADVICE_STACK));
}

/* --- reserve ---------------------------------------------------------------------------------- */

TEST_F(advice, reserve_for_reallocs)
{
	self->shape.growth = (struct report_growth){
		.realloc = e(1, 0.01), .moved = e(0.55, 0.02), .factor = e(1.2, 0.01),
		.steps = e(9, 0.2), .copied = e(0, 0.001), .copy_factor = estimate__unknown(),
	};
	ASSERT_EQ(1, find(self));
	EXPECT_EQ(ADVICE_RESERVE, self->got[0].kind);
	EXPECT_STREQ("reserve the final size up front: 100 % are reallocs that grow 1.2 times, "
		     "55 % of them move, 9.0 in a row; takes 6.1 +- 0.3 % CPU now",
		     self->got[0].text);
	self->shape.growth.factor = e(1.01, 0.01);
	EXPECT_FALSE(gives(self, ADVICE_RESERVE));
	self->shape.growth.factor = e(0.5, 0.01);
	EXPECT_FALSE(gives(self, ADVICE_RESERVE));
}

TEST_F(advice, reserve_for_copies)
{
	self->shape.growth.copied = e(0.9, 0.01);
	self->shape.growth.copy_factor = e(1.8, 0.1);
	ASSERT_EQ(1, find(self));
	EXPECT_STREQ("reserve the final size up front: 90 % are outgrown, copied and freed here; "
		     "takes 10.2 +- 0.3 % CPU now", self->got[0].text);
	self->shape.growth.copied = e(0.5, 0.11);
	EXPECT_FALSE(gives(self, ADVICE_RESERVE));
}

/* --- large blocks ----------------------------------------------------------------------------- */

static void make_large(FIXTURE_DATA(advice) *self)
{
	self->in.avg_bytes = e(1 << 20, 100);
	self->in.cost.fault = e(8, 0.2);
	self->in.cost.syscall = e(2.1, 0.2);
}

TEST_F(advice, reuse)
{
	make_large(self);
	ASSERT_EQ(1, find(self));
	EXPECT_EQ(ADVICE_REUSE, self->got[0].kind);
	EXPECT_STREQ("reuse one buffer, or keep freed memory (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, "
		     "M_TOP_PAD): 1 MB on average, 8.0 % CPU in page faults, 2.1 % in syscalls; "
		     "takes 10.1 +- 0.3 % CPU now", self->got[0].text);
	self->in.avg_bytes = e(ADVICE_LARGE_BYTES, 0);
	EXPECT_FALSE(gives(self, ADVICE_REUSE));
	make_large(self);
	self->in.cost.fault = self->in.cost.syscall = e(0.6, 0.2);
	EXPECT_FALSE(gives(self, ADVICE_REUSE));
	self->in.cost.fault = estimate__unknown();
	EXPECT_FALSE(gives(self, ADVICE_REUSE));
}

TEST_F(advice, calloc_of_large_blocks)
{
	make_large(self);
	self->in.cost.fault = e(0.1, 0.1);
	self->in.cost.syscall = e(0.1, 0.1);
	self->shape.calloc = e(1, 0.01);
	ASSERT_EQ(1, find(self));
	EXPECT_EQ(ADVICE_CALLOC, self->got[0].kind);
	EXPECT_TRUE(isnan(self->got[0].saving.value));
	EXPECT_STREQ("clear only what is used, or use malloc: calloc of 1 MB on average, 6.1 % CPU "
		     "in it, 0.1 % in page faults", self->got[0].text);
	self->in.avg_bytes = e(100, 1);
	EXPECT_FALSE(gives(self, ADVICE_CALLOC));
}

/* --- arena and pool --------------------------------------------------------------------------- */

TEST_F(advice, arena)
{
	self->shape.order = FREE_ORDER_BATCH;
	self->shape.batch_blocks = 5000;
	ASSERT_EQ(1, find(self));
	EXPECT_EQ(ADVICE_ARENA, self->got[0].kind);
	EXPECT_STREQ("take them from an arena and drop it as a whole: some 5000 blocks of 100 B "
		     "freed at a time by drop_line; takes 11.3 +- 0.4 % CPU now", self->got[0].text);
	self->shape.batch_blocks = ADVICE_ARENA_BLOCKS - 1;
	EXPECT_FALSE(gives(self, ADVICE_ARENA));
}

static void make_poolable(FIXTURE_DATA(advice) *self)
{
	self->shape.same_size = e(1, 0.001);
	self->shape.p90_ns = e(3100, 10);
}

TEST_F(advice, pool)
{
	make_poolable(self);
	ASSERT_EQ(1, find(self));
	EXPECT_EQ(ADVICE_POOL, self->got[0].kind);
	EXPECT_STREQ("keep freed ones in a freelist or pool: 100.0 % of one size, 90 % live less "
		     "than 3.1 us, 1900000 a second; takes 11.3 +- 0.4 % CPU now",
		     self->got[0].text);
	self->shape.same_size = e(1, 0.03);
	EXPECT_FALSE(gives(self, ADVICE_POOL));
	make_poolable(self);
	self->shape.p90_ns = e(ADVICE_POOL_LIFE_NS, 0);
	EXPECT_FALSE(gives(self, ADVICE_POOL));
	make_poolable(self);
	self->in.allocs_per_s = e(ADVICE_POOL_RATE, 0);
	EXPECT_FALSE(gives(self, ADVICE_POOL));
}

TEST_F(advice, pool_not_where_another_thread_frees)
{
	make_poolable(self);
	self->shape.cross_thread = e(1, 0.01);
	EXPECT_FALSE(gives(self, ADVICE_POOL));
}

/* --- threads ---------------------------------------------------------------------------------- */

TEST_F(advice, cross_thread)
{
	self->shape.cross_thread = e(0.97, 0.01);
	ASSERT_EQ(1, find(self));
	EXPECT_EQ(ADVICE_CROSS_THREAD, self->got[0].kind);
	EXPECT_TRUE(isnan(self->got[0].saving.value));
	EXPECT_STREQ("hand them back to the thread that allocates, to use them again: 97.0 % are "
		     "freed by another one, 5.2 % CPU in free", self->got[0].text);
	self->shape.cross_thread = e(0.6, 0.06);
	EXPECT_FALSE(gives(self, ADVICE_CROSS_THREAD));
}

/* --- which, and how many ---------------------------------------------------------------------- */

TEST_F(advice, best_first_and_at_most_two)
{
	make_local(self);
	make_poolable(self);
	self->shape.growth.copied = e(0.5, 0.01);
	self->shape.cross_thread = e(0.97, 0.01);
	ASSERT_EQ(2, find(self));
	/* The stack saves all of it, and takes the place of a pool. */
	EXPECT_EQ(ADVICE_STACK, self->got[0].kind);
	EXPECT_EQ(ADVICE_RESERVE, self->got[1].kind);
	EXPECT_GT(self->got[0].saving.value, self->got[1].saving.value);
}

TEST_F(advice, unknown_savings_come_last)
{
	self->shape.cross_thread = e(0.97, 0.01);
	self->shape.growth.copied = e(0.5, 0.01);
	ASSERT_EQ(2, find(self));
	EXPECT_EQ(ADVICE_RESERVE, self->got[0].kind);
	EXPECT_EQ(ADVICE_CROSS_THREAD, self->got[1].kind);
}

TEST_F(advice, none_for_a_site_that_costs_little)
{
	make_local(self);
	self->in.cost.cpu = e(ADVICE_SITE_CPU, 0);
	EXPECT_EQ(0, find(self));
	self->in.cost.cpu = e(2, 0.6);
	EXPECT_EQ(0, find(self));
	self->in.cost.cpu = estimate__unknown();
	EXPECT_EQ(0, find(self));
}

TEST_F(advice, long_names_are_cut)
{
	char name[1000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	make_local(self);
	self->in.function = name;
	ASSERT_EQ(1, find(self));
	EXPECT_NE(NULL, strstr(self->got[0].text, "takes 12.3"));
}

/* --- the program ------------------------------------------------------------------------------ */

TEST_HARNESS_MAIN
