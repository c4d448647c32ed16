// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

#define FIRST_ENTRIES	4096
/* Records delivered are scattered over the chunks of a round: ask for them this far ahead. */
#define PREFETCH_AHEAD	8

void order__exit(struct order *o)
{
	free(o->entries);
	free(o->spare);
	free(o->runs);
	*o = (struct order){};
}

/* @spare is empty between merges, so it need not keep its content. */
int order__grow(struct order *o)
{
	size_t nr_max = o->nr_max ? o->nr_max * 2 : FIRST_ENTRIES;
	struct order_entry *entries, *spare;
	__u32 *runs;

	if (nr_max > 1UL << 31)
		return -E2BIG;
	entries = realloc(o->entries, nr_max * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	o->entries = entries;
	runs = realloc(o->runs, nr_max * sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	o->runs = runs;
	spare = malloc(nr_max * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	free(o->spare);
	o->spare = spare;
	o->nr_max = nr_max;
	return 0;
}

/* Merge two neighbouring runs, [left, right) and [right, end). */
static void merge_runs(struct order_entry *to, const struct order_entry *left,
		       const struct order_entry *right, const struct order_entry *end)
{
	const struct order_entry *left_end = right;

	if (right == end || left_end[-1].time <= right->time) {
		memcpy(to, left, (end - left) * sizeof(*to));
		return;
	}
	while (left < left_end && right < end)
		*to++ = right->time < left->time ? *right++ : *left++;
	memcpy(to, left, (left_end - left) * sizeof(*to));
	memcpy(to + (left_end - left), right, (end - right) * sizeof(*to));
}

/* One pass over all runs, each merged with its neighbour into @spare. */
static void merge_pass(struct order *o)
{
	struct order_entry *from = o->entries;
	size_t i, nr_runs = 0;

	for (i = 0; i < o->nr_runs; i += 2) {
		size_t left = o->runs[i];
		size_t right = i + 1 < o->nr_runs ? o->runs[i + 1] : o->nr;
		size_t end = i + 2 < o->nr_runs ? o->runs[i + 2] : o->nr;

		merge_runs(o->spare + left, from + left, from + right, from + end);
		o->runs[nr_runs++] = left;
	}
	o->nr_runs = nr_runs;
	o->entries = o->spare;
	o->spare = from;
}

static void sort_entries(struct order *o)
{
	while (o->nr_runs > 1)
		merge_pass(o);
}

/* Sorted, the first @nr were delivered: the rest is one run. */
static void drop_first(struct order *o, size_t nr)
{
	o->nr -= nr;
	memmove(o->entries, o->entries + nr, o->nr * sizeof(*o->entries));
	o->nr_runs = !!o->nr;
	if (o->nr)
		o->runs[0] = 0;
}

static int deliver_first(struct order *o, size_t nr, order_deliver_fn deliver, void *ctx)
{
	size_t i;
	int ret = 0;

	if (!nr)
		return 0;
	for (i = 0; i < nr && !ret; i++) {
		const struct order_entry *entry = &o->entries[i];

		if (i + PREFETCH_AHEAD < nr)
			__builtin_prefetch(entry[PREFETCH_AHEAD].record);
		if (entry->time < o->flushed_time)
			o->nr_late++;
		else
			o->flushed_time = entry->time;
		ret = deliver(ctx, entry->time, entry->record);
	}
	drop_first(o, i);
	return ret;
}

/* Number of entries, sorted, with a time of at most @limit. */
static size_t nr_up_to(const struct order *o, __u64 limit)
{
	size_t low = 0, high = o->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (o->entries[mid].time <= limit)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int order__finish_round(struct order *o, order_deliver_fn deliver, void *ctx)
{
	int ret;

	sort_entries(o);
	ret = deliver_first(o, nr_up_to(o, o->round_time), deliver, ctx);
	o->round_time = o->max_time;
	return ret;
}

int order__flush_half(struct order *o, order_deliver_fn deliver, void *ctx)
{
	sort_entries(o);
	return deliver_first(o, (o->nr + 1) / 2, deliver, ctx);
}

int order__flush_all(struct order *o, order_deliver_fn deliver, void *ctx)
{
	sort_entries(o);
	return deliver_first(o, o->nr, deliver, ctx);
}
