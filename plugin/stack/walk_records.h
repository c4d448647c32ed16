/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk_records.h - records of the tracking event, put into the order of time.
 *
 * They come from one ring a CPU: in any order within a pass over the rings.
 */
#ifndef PERF_CHURN_STACK_WALK_RECORDS_H
#define PERF_CHURN_STACK_WALK_RECORDS_H

#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct walk_records_held {
	__u64 time_ns;
	size_t nth;			/* in order of arrival, where times are equal */
	struct perf_event_header *record;
};

/** struct walk_records - All zero: empty. Held ones from @next on are still to be handed out. */
struct walk_records {
	struct walk_records_held *held;
	size_t nr, room, next, nr_seen;
};

void walk_records__exit(struct walk_records *r);

/**
 * walk_records__hold() - Keep a copy of a FORK, EXIT, MMAP2, or COMM of an exec; pass over others.
 *
 * Out of memory, the record is lost.
 */
void walk_records__hold(struct walk_records *r, const struct perf_event_header *record);

/** walk_records__sort() - Begin to hand out. */
void walk_records__sort(struct walk_records *r);

/**
 * walk_records__next() - Hand out the oldest.
 * @until_ns: Later ones stay.
 *
 * Return: The record, valid until the next call; NULL when there is none. Then others can be held.
 */
const struct perf_event_header *walk_records__next(struct walk_records *r, __u64 until_ns,
						   __u64 *time_ns);

#endif /* PERF_CHURN_STACK_WALK_RECORDS_H */
