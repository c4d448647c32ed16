/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * deliver.h - one record: whose it is, when it was, and what the caller sees of it.
 */
#ifndef PERF_CHURN_PERFDATA_DELIVER_H
#define PERF_CHURN_PERFDATA_DELIVER_H

#include <errno.h>
#include <linux/types.h>

#include "read.h"

/**
 * struct deliverer - State of one pass over the file's records.
 * @sample: Filled in anew for each sample.
 * @last_id, @last_event: The id looked up last; samples of one event come in rows.
 * @wanted_types: Bit N: somebody looks at records of type N.
 * @damaged: A record could not be decoded: the error is ours, not the callback's.
 * @time_bytes: Offset of the time in every sample, 0 where it depends on the event.
 * @quiet: The file is known to be damaged: no word about more of it.
 * @nr_lost_in_rings: Told by PERF_RECORD_LOST, and not yet told again by perf at the file's end.
 */
struct deliverer {
	const struct pdreader *r;
	const struct pdreader_ops *ops;
	void *ctx;
	struct pdsample sample;
	__u64 last_id;
	const struct event *last_event;
	__u64 wanted_types;
	__u64 nr_lost_in_rings;
	unsigned int time_bytes;
	bool damaged, quiet;
};

void deliverer__init(struct deliverer *d, const struct pdreader *r,
		     const struct pdreader_ops *ops, void *ctx);

/** deliverer__wants() - Somebody looks at records of this type. */
static inline bool deliverer__wants(const struct deliverer *d, __u32 type)
{
	return type < 64 && d->wanted_types >> type & 1;
}

/** deliverer__skips() - It is of another event than the one that somebody looks at. */
bool deliverer__skips(struct deliverer *d, const struct perf_event_header *hdr);

/** deliverer__find_time() - For the rest: no sample, or one whose layout is not known yet. */
int deliverer__find_time(struct deliverer *d, const struct perf_event_header *hdr, __u64 *ret);

/**
 * deliverer__time() - The time of a record.
 * @hdr: The record, 8-byte aligned, whole.
 * @ret: Set on success; left alone where the record has no time.
 *
 * Return: 0, or -EINVAL for a record that is too short or of an unknown event.
 */
static inline int deliverer__time(struct deliverer *d, const struct perf_event_header *hdr,
				  __u64 *ret)
{
	__u64 time;

	if (hdr->type != PERF_RECORD_SAMPLE || !d->time_bytes)
		return deliverer__find_time(d, hdr, ret);
	if (hdr->size < d->time_bytes + sizeof(time))
		return -EINVAL;
	time = *(const __u64 *)((const char *)hdr + d->time_bytes);
	if (time && time != ~0ULL)
		*ret = time;
	return 0;
}

/**
 * deliverer__deliver() - Decode a record and call back.
 * @time: Where it stands in the order of time.
 * @record: 8-byte aligned, whole.
 *
 * Return: 0, the callback's value, or -EINVAL (printed) for a damaged record.
 */
int deliverer__deliver(struct deliverer *d, __u64 time, void *record);

#endif /* PERF_CHURN_PERFDATA_DELIVER_H */
