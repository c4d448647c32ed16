// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>

#include "perfdata/order.h"

#include <kselftest_harness.h>

#define MAX_SEEN 20000

/* Records are never looked into: a number will do, their order in the file. */
FIXTURE(order) {
	struct order o;
	struct { __u64 time; size_t record; } seen[MAX_SEEN];
	size_t nr_seen;
	size_t nr_pushed;
	size_t stop_at;
	__u32 random;
};

FIXTURE_SETUP(order)
{
	self->random = 12345;
}

FIXTURE_TEARDOWN(order)
{
	order__exit(&self->o);
}

static int see(void *ctx, __u64 time, void *record)
{
	FIXTURE_DATA(order) *self = ctx;

	self->seen[self->nr_seen].time = time;
	self->seen[self->nr_seen++].record = (size_t)record;
	return self->nr_seen == self->stop_at ? 42 : 0;
}

static void push(FIXTURE_DATA(order) *self, __u64 time)
{
	if (order__push(&self->o, time, (void *)++self->nr_pushed))
		abort();
}

static __u32 next_random(FIXTURE_DATA(order) *self)
{
	self->random = self->random * 1664525 + 1013904223;
	return self->random >> 8;
}

/* By time, and those of equal time as they came. */
static size_t nr_misplaced(FIXTURE_DATA(order) *self)
{
	size_t i, nr = 0;

	for (i = 1; i < self->nr_seen; i++) {
		if (self->seen[i - 1].time != self->seen[i].time)
			nr += self->seen[i - 1].time > self->seen[i].time;
		else
			nr += self->seen[i - 1].record > self->seen[i].record;
	}
	return nr;
}

TEST_F(order, an_empty_queue_flushes_nothing)
{
	EXPECT_EQ(0, order__finish_round(&self->o, see, self));
	EXPECT_EQ(0, order__flush_half(&self->o, see, self));
	EXPECT_EQ(0, order__flush_all(&self->o, see, self));
	EXPECT_EQ(0, self->nr_seen);
}

TEST_F(order, random_times_come_out_sorted_and_stable)
{
	int i;

	for (i = 0; i < MAX_SEEN; i++)
		push(self, next_random(self) % 1000);
	ASSERT_EQ(0, order__flush_all(&self->o, see, self));
	EXPECT_EQ(MAX_SEEN, self->nr_seen);
	EXPECT_EQ(0, nr_misplaced(self));
	EXPECT_EQ(0, self->o.nr_late);
}

TEST_F(order, falling_times_come_out_rising)
{
	int i;

	for (i = 0; i < 5000; i++)
		push(self, 5000 - i);
	ASSERT_EQ(0, order__flush_all(&self->o, see, self));
	EXPECT_EQ(5000, self->nr_seen);
	EXPECT_EQ(0, nr_misplaced(self));
}

TEST_F(order, a_round_flushes_up_to_the_newest_of_the_round_before)
{
	push(self, 10);
	push(self, 20);
	ASSERT_EQ(0, order__finish_round(&self->o, see, self));
	EXPECT_EQ(0, self->nr_seen);
	push(self, 15);				/* another ring */
	push(self, 30);
	ASSERT_EQ(0, order__finish_round(&self->o, see, self));
	ASSERT_EQ(3, self->nr_seen);
	EXPECT_EQ(15, self->seen[1].time);
	EXPECT_EQ(20, self->seen[2].time);
	push(self, 25);
	ASSERT_EQ(0, order__finish_round(&self->o, see, self));
	ASSERT_EQ(5, self->nr_seen);
	EXPECT_EQ(25, self->seen[3].time);
	EXPECT_EQ(0, nr_misplaced(self));
}

TEST_F(order, rounds_of_many_rings_stay_in_order)
{
	__u64 round, ring, i;

	for (round = 0; round < 20; round++) {
		for (ring = 0; ring < 9; ring++) {
			for (i = 0; i < 20; i++)
				push(self, 1000 + round * 100 + i * 5 + next_random(self) % 5);
		}
		ASSERT_EQ(0, order__finish_round(&self->o, see, self));
	}
	ASSERT_EQ(0, order__flush_all(&self->o, see, self));
	EXPECT_EQ(20 * 9 * 20, self->nr_seen);
	EXPECT_EQ(0, nr_misplaced(self));
}

TEST_F(order, half_a_flush_delivers_the_older_half)
{
	push(self, 3);
	push(self, 1);
	push(self, 2);
	ASSERT_EQ(0, order__flush_half(&self->o, see, self));
	ASSERT_EQ(2, self->nr_seen);
	EXPECT_EQ(1, self->seen[0].time);
	EXPECT_EQ(2, self->seen[1].time);
	EXPECT_EQ(1, self->o.nr);
}

TEST_F(order, what_comes_too_late_is_counted)
{
	push(self, 100);
	ASSERT_EQ(0, order__flush_half(&self->o, see, self));
	push(self, 50);
	push(self, 200);
	ASSERT_EQ(0, order__flush_all(&self->o, see, self));
	EXPECT_EQ(3, self->nr_seen);
	EXPECT_EQ(1, self->o.nr_late);
}

TEST_F(order, a_callback_that_stops_leaves_the_rest_queued)
{
	int i;

	for (i = 1; i <= 10; i++)
		push(self, i);
	self->stop_at = 4;
	EXPECT_EQ(42, order__flush_all(&self->o, see, self));
	EXPECT_EQ(4, self->nr_seen);
	EXPECT_EQ(6, self->o.nr);
	EXPECT_EQ(5, self->o.entries[0].time);
}

TEST_HARNESS_MAIN
