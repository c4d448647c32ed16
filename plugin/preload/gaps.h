/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gaps.h - chance: how far it is to the next sample, and what a sample stands for. Pure, and
 * integers only: a program may have made floating point trap.
 */
#ifndef PERF_CHURN_PRELOAD_GAPS_H
#define PERF_CHURN_PRELOAD_GAPS_H

#include <linux/types.h>

#define GAPS_MAX_PERIOD		(1ULL << 40)

/**
 * gaps__random() - 64 random bits (splitmix64).
 * @state: Any number at first. May be shared, and be in use by what a signal interrupted.
 */
__u64 gaps__random(__u64 *state);

/**
 * gaps__scale_calls() - What gaps__draw() needs for a chance of 1 / @period a call.
 * @period: 1 to GAPS_MAX_PERIOD.
 *
 * Return: 1 / log2(period / (period - 1)), times 2^24; 0 for a period of 1.
 */
__u64 gaps__scale_calls(__u64 period);

/**
 * gaps__scale_bytes() - Likewise for a chance of 1 - exp(-bytes / @period) for some bytes in a row.
 * @period: 1 to GAPS_MAX_PERIOD.
 *
 * Return: @period * ln 2, times 2^24.
 */
__u64 gaps__scale_bytes(__u64 period);

/**
 * gaps__draw() - The number of calls or bytes up to a sample, with it: geometric.
 * @scale: From gaps__scale_calls() or gaps__scale_bytes().
 * @random: From gaps__random().
 *
 * Return: 1 or more.
 */
__u64 gaps__draw(__u64 scale, __u64 random);

/**
 * gaps__byte_weight() - 1 / (1 - exp(-size / period)), rounded up or down at random so that the
 * mean is right.
 * @size: Bytes of the sampled call, not 0.
 * @period: 1 to GAPS_MAX_PERIOD.
 * @random: From gaps__random(), and not what the gap was drawn with.
 *
 * Return: 1 or more.
 */
__u64 gaps__byte_weight(__u64 size, __u64 period, __u64 random);

#endif /* PERF_CHURN_PRELOAD_GAPS_H */
