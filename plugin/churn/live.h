/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * live.h - the sampled blocks that are not freed yet, found by the seq of their allocation.
 */
#ifndef PERF_CHURN_CHURN_LIVE_H
#define PERF_CHURN_CHURN_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct live_block - One sampled allocation.
 * @seq: Its number in the recording, not 0.
 * @path: The model's number of its stack.
 */
struct live_block {
	__u64 seq;
	__u64 time_ns;
	__u64 size_bytes;
	__u64 weight;
	__u32 pid, tid;
	__u32 path;
};

struct live;

/** live__new() - @max_blocks bounds the memory (48 to 96 bytes a block). */
int live__new(size_t max_blocks, struct live **ret);
void live__free(struct live *l);

/** live__add() - Return: 0, -ENOSPC at the bound, -EEXIST for a seq it holds, or -ENOMEM. */
int live__add(struct live *l, const struct live_block *b);

/** live__take() - Remove a block. Return: false when @seq is not there. */
bool live__take(struct live *l, __u64 seq, struct live_block *ret);

/** live__find() - Look without removing; NULL when not there, valid until the next change. */
const struct live_block *live__find(const struct live *l, __u64 seq);

/** live__next() - Walk all blocks: start with *@pos = 0, ends with NULL. */
const struct live_block *live__next(const struct live *l, size_t *pos);

#endif /* PERF_CHURN_CHURN_LIVE_H */
