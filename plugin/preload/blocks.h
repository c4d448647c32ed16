/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blocks.h - the sampled blocks from their allocation to their free: a table without locks. What is
 * in it is in the filter (filter.h), too.
 */
#ifndef PERF_CHURN_PRELOAD_BLOCKS_H
#define PERF_CHURN_PRELOAD_BLOCKS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define BLOCKS_A_BUCKET	8

/**
 * struct block_record - What is known of a sampled block.
 * @size, @weight, @seq: As in struct churn_alloc.
 * @alloc_ns: CLOCK_MONOTONIC.
 * @tid: Thread that allocated it.
 * @recording: Number of the recording; blocks of earlier ones are as good as not there.
 */
struct block_record {
	__u64 size;
	__u64 weight;
	__u64 seq;
	__u64 alloc_ns;
	__u32 tid;
	__u32 recording;
};

/* The addresses together, in one line of the cache. */
struct block_bucket {
	__u64 ptrs[BLOCKS_A_BUCKET];
	struct block_record records[BLOCKS_A_BUCKET];
};

/**
 * struct block_table - Buckets in memory that is zero at first.
 * @buckets: @nr_buckets of them.
 * @nr_buckets: A power of two.
 * @nr_levels: Of them in use, 0 at first.
 *
 * The first touch of a page can cost more than all else that a sample does. So few blocks are kept close
 * together: in a level of 64 buckets, and when that is full in a second one of 128, and so on, each of
 * which is asked for from the kernel as a whole.
 */
struct block_table {
	struct block_bucket *buckets;
	size_t nr_buckets;
	__u32 *nr_levels;
};

/**
 * blocks__put() - Follow a block.
 * @ptr: Its address; as the caller has just got it, what the table has under it is out of
 *	date, and goes.
 * @rec: Copied.
 *
 * Return: false where there is no room.
 */
bool blocks__put(const struct block_table *table, __u64 ptr, const struct block_record *rec);

/**
 * blocks__take() - Take a block out, before it is given back; only one of several callers gets it.
 * @ret: Set on success; of which recording the record is, is for the caller to see.
 *
 * Return: true if the block was followed.
 */
bool blocks__take(const struct block_table *table, __u64 ptr, struct block_record *ret);

#endif /* PERF_CHURN_PRELOAD_BLOCKS_H */
