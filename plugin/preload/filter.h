/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filter.h - may this block be one that free() has to look at? For nearly all the answer is no, by
 * one byte.
 *
 * A byte counts the followed blocks whose addresses come to it. One that has come to FILTER_STUCK
 * stays there, since nobody knows any more how many there are.
 */
#ifndef PERF_CHURN_PRELOAD_FILTER_H
#define PERF_CHURN_PRELOAD_FILTER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define FILTER_STUCK	255

struct filter {
	__u8 *bytes;
	__u64 mask;
};

/* Until it is mapped, all addresses come to one byte that is 0. */
extern struct filter filter;

static inline __u8 *filter__byte(__u64 ptr)
{
	/* The mask is written last: read it first. */
	__u64 mask = __atomic_load_n(&filter.mask, __ATOMIC_ACQUIRE);

	return &__atomic_load_n(&filter.bytes, __ATOMIC_RELAXED)[ptr >> 4 & mask];
}

static inline bool filter__has(const void *ptr)
{
	return __atomic_load_n(filter__byte((__u64)ptr), __ATOMIC_RELAXED) != 0;
}

/**
 * filter__map() - Get the bytes, if that was not done.
 *
 * Return: false: no memory.
 */
bool filter__map(void);

/**
 * filter__add(), filter__remove() - A block is followed, or no longer.
 */
void filter__add(__u64 ptr);
void filter__remove(__u64 ptr);

/**
 * filter__stick() - Addresses that are to be looked at for ever.
 */
void filter__stick(const void *start, size_t nr_bytes);

/**
 * filter__clear() - Forget all, also what stuck.
 * @without_kernel: Without a system call.
 */
void filter__clear(bool without_kernel);

#endif /* PERF_CHURN_PRELOAD_FILTER_H */
