/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk_ranges.h - which elements of the walker's array of mappings are in use.
 *
 * A walk may still read a range that was given back: it is used anew only some seconds later.
 */
#ifndef PERF_CHURN_STACK_WALK_RANGES_H
#define PERF_CHURN_STACK_WALK_RANGES_H

#include <linux/types.h>

struct walk_ranges;

/** walk_ranges__new() - Elements [0, @nr) are free. NULL when out of memory. */
struct walk_ranges *walk_ranges__new(__u32 nr);
void walk_ranges__free(struct walk_ranges *r);

/**
 * walk_ranges__take() - Take @nr elements.
 *
 * Return: 0 and the first of them, -ENOSPC, -ENOMEM.
 */
int walk_ranges__take(struct walk_ranges *r, __u32 nr, __u64 now_ns, __u32 *ret);

/** walk_ranges__give() - Give back what was taken at once. */
void walk_ranges__give(struct walk_ranges *r, __u32 first, __u32 nr, __u64 now_ns);

#endif /* PERF_CHURN_STACK_WALK_RANGES_H */
