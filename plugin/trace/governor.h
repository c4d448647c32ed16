/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * governor.h - how many calls one sample should stand for, so that samples come at a steady rate.
 */
#ifndef PERF_CHURN_TRACE_GOVERNOR_H
#define PERF_CHURN_TRACE_GOVERNOR_H

#include <linux/types.h>

/* Before anything is known: an idle program gets enough samples, a busy one fills no ring. */
#define GOVERNOR_FIRST_PERIOD	64

/**
 * governor__period() - The period for the next slice of a recording.
 * @nr_calls: Calls seen in the last slice.
 * @slice_ns: Its length.
 * @samples_per_s: The rate to aim at.
 * @last_period: The period that was in force.
 *
 * Every sample is weighted with the period it was drawn with, so changes bias nothing. A rise is
 * followed at once, a fall by halves: after a pause the next burst may be as fast as the last.
 *
 * Return: At least 1.
 */
__u64 governor__period(__u64 nr_calls, __u64 slice_ns, __u64 samples_per_s, __u64 last_period);

#endif /* PERF_CHURN_TRACE_GOVERNOR_H */
