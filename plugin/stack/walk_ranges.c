// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "walk_ranges.h"

#define REST_NS		2000000000ULL	/* longer than any walk or preemption of one */

struct range {
	__u32 first, nr;
	__u64 since_ns;			/* resting ones: when it was given back */
};

struct list {
	struct range *ranges;
	size_t nr, room;
};

/* @unused is sorted, without neighbours; @resting is in order of time. */
struct walk_ranges {
	struct list unused, resting;
};

static int insert(struct list *list, size_t at, struct range range)
{
	struct range *grown;

	if (list->nr == list->room) {
		grown = reallocarray(list->ranges, list->room * 2 + 16, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->ranges = grown;
		list->room = list->room * 2 + 16;
	}
	memmove(&list->ranges[at + 1], &list->ranges[at], (list->nr - at) * sizeof(range));
	list->ranges[at] = range;
	list->nr++;
	return 0;
}

static void erase(struct list *list, size_t at)
{
	list->nr--;
	memmove(&list->ranges[at], &list->ranges[at + 1],
		(list->nr - at) * sizeof(*list->ranges));
}

struct walk_ranges *walk_ranges__new(__u32 nr)
{
	struct walk_ranges *r = calloc(1, sizeof(*r));

	if (r && insert(&r->unused, 0, (struct range){ .nr = nr })) {
		free(r);
		return NULL;
	}
	return r;
}

void walk_ranges__free(struct walk_ranges *r)
{
	if (!r)
		return;
	free(r->unused.ranges);
	free(r->resting.ranges);
	free(r);
}

/* Out of memory, the range is lost to us, which does no harm. */
static void put_unused(struct list *list, struct range range)
{
	size_t at = 0;

	while (at < list->nr && list->ranges[at].first < range.first)
		at++;
	if (at < list->nr && list->ranges[at].first == range.first + range.nr) {
		range.nr += list->ranges[at].nr;
		erase(list, at);
	}
	if (at && list->ranges[at - 1].first + list->ranges[at - 1].nr == range.first) {
		list->ranges[at - 1].nr += range.nr;
		return;
	}
	insert(list, at, range);
}

static void wake_rested(struct walk_ranges *r, __u64 now_ns)
{
	size_t i;

	for (i = 0; i < r->resting.nr && r->resting.ranges[i].since_ns + REST_NS <= now_ns; i++)
		put_unused(&r->unused, r->resting.ranges[i]);
	r->resting.nr -= i;
	memmove(r->resting.ranges, r->resting.ranges + i, r->resting.nr * sizeof(struct range));
}

int walk_ranges__take(struct walk_ranges *r, __u32 nr, __u64 now_ns, __u32 *ret)
{
	struct range *range;
	size_t i;

	if (r->resting.nr)
		wake_rested(r, now_ns);
	for (i = 0; i < r->unused.nr; i++) {
		range = &r->unused.ranges[i];
		if (range->nr < nr)
			continue;
		*ret = range->first;
		range->first += nr;
		range->nr -= nr;
		if (!range->nr)
			erase(&r->unused, i);
		return 0;
	}
	return -ENOSPC;
}

void walk_ranges__give(struct walk_ranges *r, __u32 first, __u32 nr, __u64 now_ns)
{
	if (nr)
		insert(&r->resting, r->resting.nr,
		       (struct range){ .first = first, .nr = nr, .since_ns = now_ns });
}
