/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calls.h - our own definitions, by names that nobody else has, and the fast path.
 */
#ifndef PERF_CHURN_PRELOAD_CALLS_H
#define PERF_CHURN_PRELOAD_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "filter.h"
#include "hook.h"
#include "process.h"
#include "slow.h"
#include "thread.h"

#define INLINE		inline __attribute__((always_inline))
#define unlikely(x)	__builtin_expect(!!(x), 0)

void *our_malloc(size_t size);
void *our_calloc(size_t nr, size_t size);
void *our_realloc(void *old, size_t size);
void *our_memalign(size_t align, size_t size);
void *our_aligned_alloc(size_t align, size_t size);
int our_posix_memalign(void **ret, size_t align, size_t size);
void *our_valloc(size_t size);
void *our_pvalloc(size_t size);
void our_free(void *ptr);

/* One instruction each: what a signal handler counts in between is not lost. */
#ifdef __x86_64__
static INLINE bool count_down(__s64 *left, __u64 n)
{
	bool is_below;

	__asm__("subq %2, %0" : "+m"(*left), "=@ccs"(is_below) : "er"(n));
	return is_below;
}

static INLINE void count_up(__u64 *counter, __u64 n)
{
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
}
#else
static INLINE bool count_down(__s64 *left, __u64 n)
{
	return __atomic_sub_fetch(left, n, __ATOMIC_RELAXED) < 0;
}

static INLINE void count_up(__u64 *counter, __u64 n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}
#endif

/* Nobody listens, so nothing is to be counted. */
static INLINE bool is_idle(__u32 word)
{
	return !hook__listeners(word) && process__is_idle();
}

/* Done: counted, if that is wanted. Otherwise it is for the slow path, and not counted. */
static INLINE bool count_alloc(size_t size)
{
	__u32 word = hook__word();
	struct slot *s;

	if (unlikely(thread.seen != word))
		return is_idle(word);
	if (unlikely(size - 1 >= SLOW_MIN_BYTES))
		return false;
	s = thread.slot;
	if (unlikely(count_down(&s->calls.left, 1))) {
		count_down(&s->calls.left, -1ULL);
		return false;
	}
	if (unlikely(count_down(&s->bytes.left, size))) {
		count_down(&s->bytes.left, -size);
		count_down(&s->calls.left, -1ULL);
		return false;
	}
	return true;
}

/* Likewise. */
static INLINE bool count_free(const void *ptr)
{
	__u32 word = hook__word();
	struct slot *s;

	if (unlikely(filter__has(ptr)))
		return false;
	if (unlikely(thread.seen != word))
		return is_idle(word);
	s = thread.slot;
	if (unlikely(!ptr)) {
		count_up(&s->nr_free_null, 1);
		return true;
	}
	if (unlikely(count_down(&s->frees.left, 1))) {
		count_down(&s->frees.left, -1ULL);
		return false;
	}
	return true;
}

#endif /* PERF_CHURN_PRELOAD_CALLS_H */
