/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * live.h - the sampled blocks from their allocation to their free: a table without locks. What is in it
 * is in the filter (filter.h), too.
 */
#ifndef PERF_CHURN_PRELOAD_LIVE_H
#define PERF_CHURN_PRELOAD_LIVE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define LIVE_BUCKET_BLOCKS	8

/**
 * struct live_record - What is known of a sampled block.
 * @size, @weight, @seq: As in struct churn_alloc.
 * @alloc_ns: CLOCK_MONOTONIC.
 * @tid: Thread that allocated it.
 * @recording: Number of the recording; blocks of earlier ones are as good as not there.
 */
struct live_record {
	__u64 size;
	__u64 weight;
	__u64 seq;
	__u64 alloc_ns;
	__u32 tid;
	__u32 recording;
};

/* The addresses together, in one line of the cache. */
struct live_bucket {
	__u64 ptrs[LIVE_BUCKET_BLOCKS];
	struct live_record records[LIVE_BUCKET_BLOCKS];
};

/**
 * struct live_table - Buckets in memory that is zero at first.
 * @buckets: @nr_buckets of them.
 * @nr_buckets: A power of two.
 */
struct live_table {
	struct live_bucket *buckets;
	size_t nr_buckets;
};

/**
 * live__put() - Follow a block.
 * @ptr: Its address; as the caller has just got it, what the table has under it is out of date, and goes.
 * @rec: Copied.
 *
 * Return: false where there is no room.
 */
bool live__put(const struct live_table *table, __u64 ptr, const struct live_record *rec);

/**
 * live__take() - Take a block out, before it is given back; only one of several callers gets it.
 * @ret: Set on success; of which recording the record is, is for the caller to see.
 *
 * Return: true if the block was followed.
 */
bool live__take(const struct live_table *table, __u64 ptr, struct live_record *ret);

#endif /* PERF_CHURN_PRELOAD_LIVE_H */
