/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu_clock.h - CPU time of a process to the microsecond, while it runs: the kernel's own figures of
 * other processes move by ticks.
 */
#ifndef PERF_CHURN_TRACE_CPU_CLOCK_H
#define PERF_CHURN_TRACE_CPU_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

struct cpu_clock;
struct probes;

/**
 * struct cpu_time - Sums over all threads, since the clock was made.
 * @user: Of a hardware counter that only runs in user mode; 0 when there is none.
 */
struct cpu_time {
	__u64 cpu_ns;
	__u64 user;
};

/**
 * cpu_clock__new() - On all threads of a process, and those that it will start.
 * @tids, @nr_tids: Of these threads only (-t, -i); none: all.
 * @cpus, @nr_cpus: Time on these CPUs only (-C); none: all.
 *
 * Return: 0, -ESRCH, or another negative errno, printed.
 */
int cpu_clock__new(pid_t pid, const pid_t *tids, size_t nr_tids, const int *cpus, size_t nr_cpus,
		   struct cpu_clock **ret);

/** cpu_clock__new_all() - Of all processes together (-a): what CPUs were not idle. Errors are printed. */
int cpu_clock__new_all(struct probes *probes, struct cpu_clock **ret);
void cpu_clock__free(struct cpu_clock *c);

/** cpu_clock__read() - Always in the same order, so that what reading takes falls out of differences. */
void cpu_clock__read(const struct cpu_clock *c, struct cpu_time *ret);

#endif /* PERF_CHURN_TRACE_CPU_CLOCK_H */
