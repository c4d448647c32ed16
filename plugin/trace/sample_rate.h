/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sample_rate.h - the most samples a second that the kernel takes of an event.
 */
#ifndef PERF_CHURN_TRACE_SAMPLE_RATE_H
#define PERF_CHURN_TRACE_SAMPLE_RATE_H

#include <stdbool.h>
#include <linux/types.h>

#define SAMPLE_RATE_MAX	(~0ULL)		/* -F max: what the kernel allows */

/**
 * sample_rate__fit() - Fit a frequency to kernel.perf_event_max_sample_rate.
 * @freq_hz: In: as wanted, or SAMPLE_RATE_MAX; out: as it can be had.
 * @wanted: The user asked for it: a warning says that it was lowered, or with @strict an error.
 *
 * Return: 0, or -EINVAL with @strict where it is too high, printed.
 */
int sample_rate__fit(__u64 *freq_hz, bool wanted, bool strict);

#endif /* PERF_CHURN_TRACE_SAMPLE_RATE_H */
