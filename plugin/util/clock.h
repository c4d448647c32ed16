/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_UTIL_CLOCK_H
#define PERF_CHURN_UTIL_CLOCK_H

#include <time.h>
#include <linux/types.h>

/** clock__now_ns() - CLOCK_MONOTONIC, the clock of all records in our files. */
static inline __u64 clock__now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/** clock__thread_ns() - CPU time of the calling thread. */
static inline __u64 clock__thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

#endif /* PERF_CHURN_UTIL_CLOCK_H */
