// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chance in the preload library: distributions against what libm says of them. Seeds are fixed;
 * what is compared with 5 standard errors fails once in two million seeds.
 */
#include <math.h>

#include "kselftest_harness.h"
#include "preload/gaps.h"

#define NR_DRAWS	100000
#define SCALE		16777216.0	/* 2^24 */

static double difference(double want, double got)
{
	return fabs(got / want - 1);
}

TEST(scale_is_that_of_the_logarithm)
{
	static const __u64 periods[] = { 2, 3, 4, 5, 7, 16, 100, 1000, 65536, 1000003, 1 << 20,
					 (1 << 20) + 1, 100000007, 1ULL << 32, GAPS_MAX_PERIOD };
	size_t i;

	EXPECT_EQ(0, gaps__scale_calls(1));
	for (i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		EXPECT_LT(difference(-M_LN2 / log1p(-1.0 / periods[i]) * SCALE,
				     gaps__scale_calls(periods[i])), 1e-7);
		EXPECT_LT(difference(M_LN2 * periods[i] * SCALE,
				     gaps__scale_bytes(periods[i])), 1e-7);
	}
}

TEST(draw_has_its_extremes)
{
	__u64 scale = gaps__scale_calls(1000);

	EXPECT_EQ(1, gaps__draw(gaps__scale_calls(1), 0));
	EXPECT_EQ(1, gaps__draw(gaps__scale_calls(1), ~0ULL));
	EXPECT_EQ(1, gaps__draw(scale, ~0ULL));
	/* ln(2^64) / -ln(0.999), rounded up */
	EXPECT_EQ(44340, gaps__draw(scale, 0));
	/* Half of all gaps are longer than the median. */
	EXPECT_EQ(693, gaps__draw(scale, 1ULL << 63));
}

FIXTURE(gap) { __u64 random; };
FIXTURE_VARIANT(gap) { __u64 period; };
FIXTURE_VARIANT_ADD(gap, of_1) { .period = 1 };
FIXTURE_VARIANT_ADD(gap, of_2) { .period = 2 };
FIXTURE_VARIANT_ADD(gap, of_3) { .period = 3 };
FIXTURE_VARIANT_ADD(gap, of_100) { .period = 100 };
FIXTURE_VARIANT_ADD(gap, of_4096) { .period = 4096 };
FIXTURE_VARIANT_ADD(gap, of_3_million) { .period = 3000000 };
FIXTURE_SETUP(gap) { self->random = variant->period; }
FIXTURE_TEARDOWN(gap) { }

/* A geometric distribution has the mean N and the variance N (N - 1). */
TEST_F(gap, has_the_mean_and_the_variance_of_chance)
{
	double n = variant->period, sum = 0, squares = 0, error = sqrt(n * (n - 1) / NR_DRAWS);
	__u64 scale = gaps__scale_calls(variant->period), gap, i;

	for (i = 0; i < NR_DRAWS; i++) {
		gap = gaps__draw(scale, gaps__random(&self->random));
		ASSERT_GE(gap, 1);
		sum += gap;
		squares += (gap - n) * (gap - n);
	}
	EXPECT_LE(fabs(sum / NR_DRAWS - n), 5 * error);
	/* The fourth moment of an exponential distribution is 9. */
	EXPECT_LE(fabs(squares / NR_DRAWS - n * (n - 1)), 5 * n * n * sqrt(8.0 / NR_DRAWS));
}

TEST_F(gap, hits_the_next_call_once_in_a_period)
{
	__u64 scale = gaps__scale_calls(variant->period), hits = 0, i;
	double p = 1.0 / variant->period;

	for (i = 0; i < NR_DRAWS; i++)
		hits += gaps__draw(scale, gaps__random(&self->random)) == 1;
	EXPECT_LE(fabs(hits - NR_DRAWS * p), 5 * sqrt(NR_DRAWS * p * (1 - p)) + 1e-9);
}

/* One seed's numbers have nothing to do with the next one's. */
TEST(random_is_no_line)
{
	__u64 state, ones = 0, i;

	for (i = 0; i < 10000; i++) {
		state = i;
		ones += __builtin_popcountll(gaps__random(&state));
	}
	EXPECT_LT(fabs(ones - 320000.0), 5 * sqrt(640000 / 4.0));
}

struct weight_row {
	__u64 size, period;
};

FIXTURE(weight) { __u64 random; };
FIXTURE_VARIANT(weight) { struct weight_row row; };
FIXTURE_SETUP(weight) { self->random = variant->row.size; }
FIXTURE_TEARDOWN(weight) { }

#define ROW(name, ...)	FIXTURE_VARIANT_ADD(weight, name) { .row = { __VA_ARGS__ } }

ROW(byte_of_a_million, 1, 1000000);
ROW(byte_of_the_longest_period, 1, GAPS_MAX_PERIOD);
ROW(small, 24, 524288);
ROW(at_the_end_of_the_series, 1000, 1000ULL << 20);
ROW(behind_the_end_of_the_series, 1001, 1000ULL << 20);
ROW(a_tenth, 52429, 524288);
ROW(a_period, 524288, 524288);
ROW(seven_periods, 7, 1);
ROW(forty_periods, 40 * 524288ULL, 524288);
ROW(a_hundred_million, 100000000, 524288);
ROW(largest, ~0ULL >> 1, 524288);
ROW(byte_by_byte, 1, 1);

/* What is rounded at random is right on average. */
TEST_F(weight, is_one_by_the_chance)
{
	double want = -1 / expm1(-(double)variant->row.size / variant->row.period), sum = 0, error;
	int i;

	for (i = 0; i < NR_DRAWS; i++)
		sum += gaps__byte_weight(variant->row.size, variant->row.period,
					 gaps__random(&self->random));
	error = 0.5 / sqrt(NR_DRAWS);
	EXPECT_LE(fabs(sum / NR_DRAWS - want), 5 * error + want * 1e-9);
}

/* A block of @size is hit by a gap in bytes as often as its weight says. */
TEST_F(weight, times_the_hits_is_the_calls)
{
	__u64 scale = gaps__scale_bytes(variant->row.period), hits = 0, i;
	double p = -expm1(-(double)variant->row.size / variant->row.period);

	for (i = 0; i < NR_DRAWS; i++)
		hits += gaps__draw(scale, gaps__random(&self->random)) <= variant->row.size;
	EXPECT_LE(fabs(hits - NR_DRAWS * p), 5 * sqrt(NR_DRAWS * p * (1 - p)) + 1);
}

TEST_HARNESS_MAIN
