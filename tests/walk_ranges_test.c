// SPDX-License-Identifier: GPL-2.0-only
#include <linux/types.h>
#include <errno.h>

#include "stack/walk_ranges.h"

#include <kselftest_harness.h>

#define SECOND	1000000000ULL

FIXTURE(ranges) {
	struct walk_ranges *r;
	__u32 at;
};

FIXTURE_SETUP(ranges)
{
	self->r = walk_ranges__new(100);
	ASSERT_NE(NULL, self->r);
}

FIXTURE_TEARDOWN(ranges)
{
	walk_ranges__free(self->r);
}

TEST_F(ranges, hands_out_all_elements_once)
{
	bool seen[100] = {};
	__u32 i, k;

	for (i = 0; i < 25; i++) {
		ASSERT_EQ(0, walk_ranges__take(self->r, 4, 0, &self->at));
		for (k = self->at; k < self->at + 4; k++) {
			ASSERT_LT(k, 100);
			ASSERT_FALSE(seen[k]);
			seen[k] = true;
		}
	}
	self->at = 77;
	EXPECT_EQ(-ENOSPC, walk_ranges__take(self->r, 1, 0, &self->at));
	EXPECT_EQ(77, self->at);
}

TEST_F(ranges, refuses_more_than_there_is)
{
	EXPECT_EQ(-ENOSPC, walk_ranges__take(self->r, 101, 0, &self->at));
	EXPECT_EQ(-ENOSPC, walk_ranges__take(self->r, ~0U, 0, &self->at));
	EXPECT_EQ(0, walk_ranges__take(self->r, 100, 0, &self->at));
	EXPECT_EQ(0, self->at);
}

TEST_F(ranges, lets_what_was_given_back_rest)
{
	ASSERT_EQ(0, walk_ranges__take(self->r, 100, 0, &self->at));
	walk_ranges__give(self->r, 0, 100, 5 * SECOND);
	EXPECT_EQ(-ENOSPC, walk_ranges__take(self->r, 1, 5 * SECOND, &self->at));
	EXPECT_EQ(-ENOSPC, walk_ranges__take(self->r, 1, 7 * SECOND - 1, &self->at));
	EXPECT_EQ(0, walk_ranges__take(self->r, 1, 7 * SECOND, &self->at));
}

/* In the order of the digits; whatever comes last joins the others. */
TEST_F(ranges, joins_neighbours)
{
	static const char *const orders[] = { "0123", "3210", "0213", "1302", "2031" };
	__u32 firsts[4], i, k;

	for (i = 0; i < 5; i++) {
		__u64 now = i * 10 * SECOND;

		for (k = 0; k < 4; k++)
			ASSERT_EQ(0, walk_ranges__take(self->r, 25, now, &firsts[k]));
		for (k = 0; k < 4; k++)
			walk_ranges__give(self->r, firsts[orders[i][k] - '0'], 25, now);
		ASSERT_EQ(0, walk_ranges__take(self->r, 100, now + 2 * SECOND, &self->at));
		EXPECT_EQ(0, self->at);
		walk_ranges__give(self->r, 0, 100, now + 2 * SECOND);
	}
}

TEST_F(ranges, passes_over_holes_that_are_too_small)
{
	__u32 first, second, third;

	ASSERT_EQ(0, walk_ranges__take(self->r, 10, 0, &first));
	ASSERT_EQ(0, walk_ranges__take(self->r, 50, 0, &second));
	ASSERT_EQ(0, walk_ranges__take(self->r, 20, 0, &third));
	walk_ranges__give(self->r, first, 10, 0);
	ASSERT_EQ(0, walk_ranges__take(self->r, 15, 3 * SECOND, &self->at));
	EXPECT_EQ(third + 20, self->at);
	ASSERT_EQ(0, walk_ranges__take(self->r, 10, 3 * SECOND, &self->at));
	EXPECT_EQ(first, self->at);
}

TEST_F(ranges, none_takes_no_place)
{
	walk_ranges__give(self->r, 3, 0, 0);
	ASSERT_EQ(0, walk_ranges__take(self->r, 100, 9 * SECOND, &self->at));
}

TEST_HARNESS_MAIN
