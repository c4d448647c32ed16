// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts of a slot. The thread itself, a signal handler on top of it, and at the process's end
 * another thread may all be at it: so they only grow, and what is taken is the difference to what
 * was before.
 */
#include "thread.h"

#define MAX_TRIES	1000

void slot__count(struct countdown *countdown, __u64 n)
{
	__atomic_fetch_add(&countdown->base, n, __ATOMIC_RELAXED);
}

static __u64 counted(const struct countdown *c)
{
	return __atomic_load_n(&c->base, __ATOMIC_RELAXED) -
	       (__u64)__atomic_load_n(&c->left, __ATOMIC_RELAXED);
}

static __u64 load(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void read_counts(const struct slot *s, struct preload_totals *ret)
{
	*ret = s->rare;
	ret->nr_allocs = counted(&s->calls);
	ret->alloc_bytes = counted(&s->bytes);
	ret->nr_reallocs = load(&s->nr_reallocs);
	ret->nr_frees = counted(&s->frees) + ret->nr_reallocs;
	ret->nr_free_null = load(&s->nr_free_null);
}

/* Of another thread's slot, not while that moves its countdowns. On one's own it takes one try. */
static void read_steadily(const struct slot *s, struct preload_totals *ret)
{
	__u32 before;
	int i;

	for (i = 0; i < MAX_TRIES; i++) {
		before = __atomic_load_n(&s->changes, __ATOMIC_ACQUIRE);
		read_counts(s, ret);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && __atomic_load_n(&s->changes, __ATOMIC_RELAXED) == before)
			return;
	}
	*ret = s->reported;
}

/* Who comes with less has been overtaken. */
static __u64 take(__u64 *reported, __u64 now)
{
	__u64 before = load(reported);

	do {
		if ((__s64)(now - before) <= 0)
			return 0;
	} while (!__atomic_compare_exchange_n(reported, &before, now, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return now - before;
}

bool slot__take(struct slot *s, struct preload_totals *ret)
{
	struct preload_totals now, *reported = &s->reported;

	read_steadily(s, &now);
	ret->nr_allocs = take(&reported->nr_allocs, now.nr_allocs);
	ret->alloc_bytes = take(&reported->alloc_bytes, now.alloc_bytes);
	ret->nr_frees = take(&reported->nr_frees, now.nr_frees);
	ret->nr_failed = take(&reported->nr_failed, now.nr_failed);
	ret->nr_free_null = take(&reported->nr_free_null, now.nr_free_null);
	ret->nr_reallocs = take(&reported->nr_reallocs, now.nr_reallocs);
	ret->nr_lost_map = take(&reported->nr_lost_map, now.nr_lost_map);
	ret->nr_lost_inflight = take(&reported->nr_lost_inflight, now.nr_lost_inflight);
	return ret->nr_allocs | ret->nr_frees | ret->nr_failed | ret->nr_free_null |
	       ret->nr_lost_map | ret->nr_lost_inflight;
}
