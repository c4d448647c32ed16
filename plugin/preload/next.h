/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * next.h - the program's allocator: the definitions behind ours. And what serves calls until they
 * are known: a buffer, for what the dynamic loader asks for while it looks them up, or before it
 * has relocated us (a resolver of an IFUNC may allocate).
 */
#ifndef PERF_CHURN_PRELOAD_NEXT_H
#define PERF_CHURN_PRELOAD_NEXT_H

#include <stdbool.h>
#include <stddef.h>

/* NULL until they are known, and where there is none. */
struct next_functions {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t nr, size_t size);
	void *(*realloc)(void *old, size_t size);
	void *(*memalign)(size_t align, size_t size);
	void *(*aligned_alloc)(size_t align, size_t size);
	int (*posix_memalign)(void **ret, size_t align, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	void (*exit_now)(int status);
	int (*prctl)(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4,
		     unsigned long arg5);
	long (*syscall)(long nr, long arg1, long arg2, long arg3, long arg4, long arg5, long arg6);
	void (*free)(void *ptr);
};

extern struct next_functions next;

/**
 * next__find() - Look them up.
 *
 * Return: false: they cannot be known yet.
 */
bool next__find(void);

/** next__is_known() - Have they been looked up? Does not do it. */
bool next__is_known(void);

/**
 * next__is_shadowed() - Does the program call another's malloc(), that comes before ours?
 *
 * Then we only get the calls of what that does not define, and count nothing.
 */
bool next__is_shadowed(void);

/**
 * boot__alloc() - Memory from the buffer, zeroed.
 * @align: A power of two.
 *
 * Return: NULL: the buffer is full.
 */
void *boot__alloc(size_t align, size_t size);

/**
 * boot__owns() - Is this block from the buffer? Such blocks are never given back.
 */
bool boot__owns(const void *ptr);

/**
 * boot__room() - Bytes from a block of the buffer to the buffer's end.
 */
size_t boot__room(const void *ptr);

/**
 * boot__stick() - Have free() look at blocks of the buffer (filter.h).
 */
void boot__stick(void);

#endif /* PERF_CHURN_PRELOAD_NEXT_H */
