/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * seen.h - remembers what a raw callchain was, so that each is named only once.
 */
#ifndef PERF_CHURN_CHURN_SEEN_H
#define PERF_CHURN_CHURN_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/** struct seen_key - Hash of a raw chain and its address space, wide enough to stand for it. */
struct seen_key {
	__u64 lo, hi;
};

static inline void seen_key__add(struct seen_key *k, __u64 word)
{
	k->lo = (k->lo ^ word) * 0x9e3779b97f4a7c15ull;
	k->lo ^= k->lo >> 32;
	k->hi = (k->hi + word) * 0xc2b2ae3d27d4eb4full;
	k->hi ^= k->hi >> 29;
}

struct seen;

/** seen__new() - Remembers at most @max chains, 24 bytes each; at the bound it forgets all. */
int seen__new(size_t max, struct seen **ret);
void seen__free(struct seen *s);

bool seen__find(const struct seen *s, const struct seen_key *key, __u32 *ret);

/** seen__add() - Best effort: without memory it only forgets. */
void seen__add(struct seen *s, const struct seen_key *key, __u32 value);

#endif /* PERF_CHURN_CHURN_SEEN_H */
