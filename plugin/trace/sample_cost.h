/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sample_cost.h - what a CPU sample costs on this machine: microseconds in a virtual machine without
 * hardware counters, where each is an interrupt that leaves the guest; elsewhere next to nothing.
 */
#ifndef PERF_CHURN_TRACE_SAMPLE_COST_H
#define PERF_CHURN_TRACE_SAMPLE_COST_H

#include <linux/types.h>

struct perf_event_attr;

/**
 * sample_cost__ns() - Measure it on ourselves, in some 50 ms of CPU time.
 * @attr: Of the event; where there is no such counter, cpu-clock stands for it.
 *
 * Return: CPU time of a sample in ns, without its stack; 0 where it cannot be measured, and for hardware
 * counters.
 */
double sample_cost__ns(const struct perf_event_attr *attr);

#define SAMPLE_COST_MIN_HZ	249

/**
 * sample_cost__freq() - The frequency whose samples take one per cent of the CPU.
 * @ns: Of one; 0: not known.
 *
 * Return: At most @freq_hz, and at least SAMPLE_COST_MIN_HZ: with less, shares say too little.
 */
__u64 sample_cost__freq(double ns, __u64 freq_hz);

#endif /* PERF_CHURN_TRACE_SAMPLE_COST_H */
