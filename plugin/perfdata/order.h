/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * order.h - records of several rings, brought into the order of their times.
 *
 * What a ring holds is in order, and the recorder empties one ring after the other: the queue is
 * a handful of sorted runs, found while it fills and merged when it is flushed. Records of equal
 * time keep the order of the file.
 *
 * At the end of a round every ring was read once, so nothing older than the newest record of the
 * round before can follow: so much is flushed (perf's ordered-events do the same).
 */
#ifndef PERF_CHURN_PERFDATA_ORDER_H
#define PERF_CHURN_PERFDATA_ORDER_H

#include <stddef.h>
#include <linux/types.h>

struct order_entry {
	__u64 time;
	void *record;
};

/**
 * struct order - The queue.
 * @entries: What is queued, @nr of @nr_max.
 * @spare: As large as @entries; merged into.
 * @runs: Index in @entries of the first entry of each run, @nr_runs of them.
 * @max_time: Newest time ever queued.
 * @round_time: @max_time at the end of the last round.
 * @flushed_time: Time of the last record delivered.
 * @nr_late: Records delivered after a newer one.
 */
struct order {
	struct order_entry *entries;
	struct order_entry *spare;
	__u32 *runs;
	size_t nr;
	size_t nr_max;
	size_t nr_runs;
	__u64 max_time;
	__u64 round_time;
	__u64 flushed_time;
	__u64 nr_late;
};

/* Takes one record; a non-zero value ends the flush. */
typedef int (*order_deliver_fn)(void *ctx, __u64 time, void *record);

void order__exit(struct order *o);

/** order__grow() - Room for twice as many; -ENOMEM, or -E2BIG beyond 2^31 entries. */
int order__grow(struct order *o);

/** order__push() - Queue a record, which is not copied. Return: 0 or -ENOMEM. */
static inline int order__push(struct order *o, __u64 time, void *record)
{
	if (o->nr == o->nr_max) {
		int err = order__grow(o);

		if (err)
			return err;
	}
	if (!o->nr || time < o->entries[o->nr - 1].time)
		o->runs[o->nr_runs++] = o->nr;
	if (time > o->max_time)
		o->max_time = time;
	o->entries[o->nr++] = (struct order_entry){ .time = time, .record = record };
	return 0;
}

/** order__bytes() - Memory taken by the queue itself. */
static inline size_t order__bytes(const struct order *o)
{
	return o->nr_max * (2 * sizeof(*o->entries) + sizeof(*o->runs));
}

/**
 * order__finish_round() - Deliver what no later record of the file can precede.
 *
 * Return: 0 or the value of @deliver that was not; what was delivered is gone from the queue.
 */
int order__finish_round(struct order *o, order_deliver_fn deliver, void *ctx);

/** order__flush_half() - Deliver the older half (at least one), since memory runs short. */
int order__flush_half(struct order *o, order_deliver_fn deliver, void *ctx);

/** order__flush_all() - Deliver everything. */
int order__flush_all(struct order *o, order_deliver_fn deliver, void *ctx);

#endif /* PERF_CHURN_PERFDATA_ORDER_H */
