/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * period.h - the mean gap between samples, and how it follows the program.
 */
#ifndef PERF_CHURN_PRELOAD_PERIOD_H
#define PERF_CHURN_PRELOAD_PERIOD_H

#include <linux/types.h>

#include "process.h"

/**
 * period__begin() - The meter starts here.
 */
void period__begin(struct process *p);

/**
 * period__chunk() - After how many calls, or bytes, threads are to look up, even without a sample.
 */
__u64 period__chunk(const struct process *p, __u64 period);

/**
 * period__meter() - A thread looks up.
 * @nr_calls: Made by it since it did before.
 * @nr_samples: 1 if this call is a sample, else 0.
 */
void period__meter(struct process *p, __u64 nr_calls, __u64 nr_samples);

#endif /* PERF_CHURN_PRELOAD_PERIOD_H */
