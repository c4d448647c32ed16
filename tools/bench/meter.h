/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * meter.h - for small workloads that say themselves what their work cost, so that a few
 * calls suffice under a slow tool.
 */
#ifndef PERF_CHURN_BENCH_METER_H
#define PERF_CHURN_BENCH_METER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Makes the compiler believe that @p is used, so that it keeps the allocation. */
static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

struct meter {
	uint64_t cpu_ns, wall_ns;
};

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline struct meter meter_now(void)
{
	return (struct meter) { clock_ns(CLOCK_PROCESS_CPUTIME_ID), clock_ns(CLOCK_MONOTONIC) };
}

/* No stdio: its buffers would be allocations, too. Returns main's status. */
static inline int say_cost(struct meter start, long nr)
{
	struct meter end = meter_now();
	char line[128];
	int bytes = snprintf(line, sizeof(line), "cpu_ns %lu wall_ns %lu ops %ld\n",
			     (unsigned long)(end.cpu_ns - start.cpu_ns),
			     (unsigned long)(end.wall_ns - start.wall_ns), nr);

	return write(1, line, bytes) != bytes;
}

#endif /* PERF_CHURN_BENCH_METER_H */
