// SPDX-License-Identifier: GPL-2.0-only
/* What a CPU sample costs here, and the frequency that follows. */
#include <linux/perf_event.h>

#include "kselftest_harness.h"
#include "trace/sample_cost.h"

TEST(one_per_cent_of_the_cpu)
{
	EXPECT_EQ(999, sample_cost__freq(0, 999));
	EXPECT_EQ(999, sample_cost__freq(1000, 999));
	EXPECT_EQ(500, sample_cost__freq(20000, 999));
	EXPECT_EQ(SAMPLE_COST_MIN_HZ, sample_cost__freq(1e6, 999));
}

TEST(a_clock_has_a_cost)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
	};
	double ns = sample_cost__ns(&attr);

	if (!ns)
		SKIP(return, "no perf events");
	EXPECT_GT(ns, 100);
	EXPECT_LT(ns, 1e7);
}

TEST(other_events_have_none)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
	};

	EXPECT_EQ(0, sample_cost__ns(&attr));
}

TEST_HARNESS_MAIN
