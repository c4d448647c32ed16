// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "util/parse.h"

#define UNTOUCHED	77

/* One text, its limits, what comes back and what value. */
struct number_row {
	int (*parse)(const char *text, __u64 min, __u64 max, __u64 *ret);
	const char *text;
	__u64 min, max;
	int err;
	__u64 value;
};

FIXTURE(number) { __u64 value; };
FIXTURE_VARIANT(number) { struct number_row row; };
FIXTURE_SETUP(number) { self->value = UNTOUCHED; }
FIXTURE_TEARDOWN(number) { }

#define ROW(name, ...)	FIXTURE_VARIANT_ADD(number, name) { .row = { __VA_ARGS__ } }

ROW(takes_zero, parse_u64, "0", 0, 9, 0, 0);
ROW(takes_leading_zeros_as_decimal, parse_u64, "010", 0, 99, 0, 10);
ROW(takes_min, parse_u64, "3", 3, 9, 0, 3);
ROW(takes_max, parse_u64, "9", 3, 9, 0, 9);
ROW(takes_largest_u64, parse_u64, "18446744073709551615", 0, ULLONG_MAX, 0, ULLONG_MAX);
ROW(refuses_below_min, parse_u64, "2", 3, 9, -ERANGE, UNTOUCHED);
ROW(refuses_above_max, parse_u64, "10", 3, 9, -ERANGE, UNTOUCHED);
ROW(refuses_overflow, parse_u64, "18446744073709551616", 0, ULLONG_MAX, -ERANGE, UNTOUCHED);
ROW(refuses_empty, parse_u64, "", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_minus, parse_u64, "-1", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_plus, parse_u64, "+1", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_leading_blank, parse_u64, " 1", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_trailing_blank, parse_u64, "1 ", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_trailing_text, parse_u64, "1x", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_hex, parse_u64, "0x1", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_fraction, parse_u64, "1.5", 0, 9, -EINVAL, UNTOUCHED);
ROW(refuses_overflow_with_text, parse_u64, "99999999999999999999x", 0, 9, -EINVAL, UNTOUCHED);
ROW(size_without_suffix_is_bytes, parse_size, "4096", 0, 1 << 20, 0, 4096);
ROW(size_takes_B, parse_size, "7B", 0, 9, 0, 7);
ROW(size_takes_K, parse_size, "8K", 0, 1 << 20, 0, 8192);
ROW(size_takes_k, parse_size, "8k", 0, 1 << 20, 0, 8192);
ROW(size_takes_M, parse_size, "1M", 0, 1 << 20, 0, 1 << 20);
ROW(size_takes_G, parse_size, "4G", 0, ULLONG_MAX, 0, 4ULL << 30);
ROW(size_limits_apply_after_suffix, parse_size, "2K", 0, 2047, -ERANGE, UNTOUCHED);
ROW(size_refuses_overflow_by_suffix, parse_size, "18446744073709551615K", 0, ULLONG_MAX, -ERANGE,
    UNTOUCHED);
ROW(size_refuses_smallest_overflow, parse_size, "17179869184G", 0, ULLONG_MAX, -ERANGE, UNTOUCHED);
ROW(size_takes_largest_of_G, parse_size, "17179869183G", 0, ULLONG_MAX, 0, 17179869183ULL << 30);
ROW(size_refuses_suffix_alone, parse_size, "K", 0, 9, -EINVAL, UNTOUCHED);
ROW(size_refuses_unknown_suffix, parse_size, "1T", 0, 9, -EINVAL, UNTOUCHED);
ROW(size_refuses_two_suffixes, parse_size, "1KB", 0, ULLONG_MAX, -EINVAL, UNTOUCHED);
ROW(size_refuses_empty, parse_size, "", 0, 9, -EINVAL, UNTOUCHED);

TEST_F(number, rule)
{
	const struct number_row *row = &variant->row;

	EXPECT_EQ(row->err, row->parse(row->text, row->min, row->max, &self->value));
	EXPECT_EQ(row->value, self->value);
}

TEST(pids_keep_their_order_and_lose_duplicates)
{
	int *pids, nr;

	ASSERT_EQ(0, parse_pids("30,7,30,1,7", &pids, &nr));
	ASSERT_EQ(3, nr);
	EXPECT_EQ(30, pids[0]);
	EXPECT_EQ(7, pids[1]);
	EXPECT_EQ(1, pids[2]);
	free(pids);
}

TEST(pids_take_a_single_one)
{
	int *pids, nr;

	ASSERT_EQ(0, parse_pids("2147483647", &pids, &nr));
	ASSERT_EQ(1, nr);
	EXPECT_EQ(2147483647, pids[0]);
	free(pids);
}

FIXTURE(bad_pids) { int *pids, nr; };
FIXTURE_VARIANT(bad_pids) { const char *text; int err; };
FIXTURE_SETUP(bad_pids) { self->pids = NULL; self->nr = UNTOUCHED; }
FIXTURE_TEARDOWN(bad_pids) { free(self->pids); }

#define BAD_PIDS(name, ...)	FIXTURE_VARIANT_ADD(bad_pids, name) { __VA_ARGS__ }

BAD_PIDS(empty, "", -EINVAL);
BAD_PIDS(zero, "0", -ERANGE);
BAD_PIDS(negative, "-1", -EINVAL);
BAD_PIDS(word, "self", -EINVAL);
BAD_PIDS(leading_comma, ",1", -EINVAL);
BAD_PIDS(trailing_comma, "1,", -EINVAL);
BAD_PIDS(empty_field, "1,,2", -EINVAL);
BAD_PIDS(blank_after_comma, "1, 2", -EINVAL);
BAD_PIDS(too_large, "2147483648", -ERANGE);
BAD_PIDS(far_too_large, "99999999999999999999", -ERANGE);
BAD_PIDS(bad_after_good, "1,2,x", -EINVAL);

TEST_F(bad_pids, leave_results_untouched)
{
	EXPECT_EQ(variant->err, parse_pids(variant->text, &self->pids, &self->nr));
	EXPECT_EQ(NULL, self->pids);
	EXPECT_EQ(UNTOUCHED, self->nr);
}

#define NR_CPUS	8

TEST(cpus_are_listed_in_order)
{
	int *cpus, nr;

	ASSERT_EQ(0, parse_cpus("6,0-3", NR_CPUS, &cpus, &nr));
	ASSERT_EQ(5, nr);
	EXPECT_EQ(0, cpus[0]);
	EXPECT_EQ(3, cpus[3]);
	EXPECT_EQ(6, cpus[4]);
	free(cpus);
	ASSERT_EQ(0, parse_cpus("7-7", NR_CPUS, &cpus, &nr));
	ASSERT_EQ(1, nr);
	EXPECT_EQ(7, cpus[0]);
	free(cpus);
}

FIXTURE(bad_cpus) { int *cpus, nr; };
FIXTURE_VARIANT(bad_cpus) { const char *text; int err; };
FIXTURE_SETUP(bad_cpus) { self->cpus = NULL; self->nr = UNTOUCHED; }
FIXTURE_TEARDOWN(bad_cpus) { free(self->cpus); }

#define BAD_CPUS(name, ...)	FIXTURE_VARIANT_ADD(bad_cpus, name) { __VA_ARGS__ }

BAD_CPUS(empty, "", -EINVAL);
BAD_CPUS(negative, "-1", -EINVAL);
BAD_CPUS(open_range, "1-", -EINVAL);
BAD_CPUS(backward_range, "1-0", -EINVAL);
BAD_CPUS(double_range, "0-1-2", -EINVAL);
BAD_CPUS(twice, "0,0", -EINVAL);
BAD_CPUS(twice_by_ranges, "0-3,2-5", -EINVAL);
BAD_CPUS(leading_comma, ",1", -EINVAL);
BAD_CPUS(trailing_comma, "1,", -EINVAL);
BAD_CPUS(word, "all", -EINVAL);
BAD_CPUS(one_too_large, "8", -ERANGE);
BAD_CPUS(huge_range, "0-9999999", -ERANGE);
BAD_CPUS(far_too_large, "0-99999999999999999999", -ERANGE);

TEST_F(bad_cpus, leave_results_untouched)
{
	EXPECT_EQ(variant->err, parse_cpus(variant->text, NR_CPUS, &self->cpus, &self->nr));
	EXPECT_EQ(NULL, self->cpus);
	EXPECT_EQ(UNTOUCHED, self->nr);
}

TEST_HARNESS_MAIN
