/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle_clock.h - CPU time of all processes together: what CPUs were not idle (bpf/idle.h).
 */
#ifndef PERF_CHURN_TRACE_IDLE_CLOCK_H
#define PERF_CHURN_TRACE_IDLE_CLOCK_H

#include <linux/types.h>

struct idle_clock;
struct probes;

/** idle_clock__new() - Start. Return: 0 or a negative errno, printed. */
int idle_clock__new(struct probes *probes, struct idle_clock **ret);
void idle_clock__free(struct idle_clock *c);

/** idle_clock__busy_ns() - Sum over all CPUs since the start. */
__u64 idle_clock__busy_ns(const struct idle_clock *c);

#endif /* PERF_CHURN_TRACE_IDLE_CLOCK_H */
