/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow.h - calls that want more than to be counted. The fast paths jump here, so that the caller is
 * the program; they have not counted the call.
 */
#ifndef PERF_CHURN_PRELOAD_SLOW_H
#define PERF_CHURN_PRELOAD_SLOW_H

#include <stddef.h>
#include <linux/types.h>

/* Calls for 0 bytes, or for so many and more, are always seen to succeed or to fail. */
#define SLOW_MIN_BYTES	(1UL << 31)

/* Any operator new or delete; those that take less ignore the rest. */
typedef void *(*new_function)(size_t size, size_t arg1, size_t arg2);
typedef void (*delete_function)(void *ptr, size_t arg1, size_t arg2);

void *slow_malloc(size_t size);
void *slow_calloc(size_t nr, size_t size);
void *slow_realloc(void *old, size_t size);
void *slow_memalign(size_t align, size_t size);
void *slow_aligned_alloc(size_t align, size_t size);
int slow_posix_memalign(void **ret, size_t align, size_t size);
void *slow_valloc(size_t size);
void *slow_pvalloc(size_t size);
void slow_free(void *ptr);
void *slow_new(size_t size, size_t arg1, size_t arg2, new_function fn, __u32 churn_fn);
void slow_delete(void *ptr, size_t arg1, size_t arg2, delete_function fn);

#endif /* PERF_CHURN_PRELOAD_SLOW_H */
