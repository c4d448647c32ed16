// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each finds the next definitions and calls its function again, which counts; where they cannot be
 * found yet, the buffer serves. Nothing outside of this object may be called then, nor thread-local
 * storage be used: the loader may not have relocated us.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "boot.h"
#include "calls.h"
#include "next.h"

#define PAGE	4096UL

/* For what the loader cannot ask for, and for functions that libc does not have. */
static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

/* Not memcpy(), which is outside. */
static void copy(volatile char *to, const volatile char *from, size_t bytes)
{
	while (bytes--)
		*to++ = *from++;
}

void *boot_malloc(size_t size)
{
	if (!next__find())
		return boot__alloc(1, size);
	return next.malloc ? our_malloc(size) : no_memory();
}

void *boot_calloc(size_t nr, size_t size)
{
	size_t bytes;

	if (!next__find())
		return __builtin_mul_overflow(nr, size, &bytes) ? NULL : boot__alloc(1, bytes);
	return next.calloc ? our_calloc(nr, size) : no_memory();
}

static void *move_block(void *old, size_t size)
{
	size_t room = boot__room(old);
	void *p = our_malloc(size);

	if (p)
		copy(p, old, size < room ? size : room);
	return p;
}

void *boot_realloc(void *old, size_t size)
{
	bool is_known = next__find();

	if (boot__owns(old))
		return move_block(old, size);
	if (!is_known)
		return old ? NULL : boot__alloc(1, size);
	return next.realloc ? our_realloc(old, size) : no_memory();
}

void *boot_memalign(size_t align, size_t size)
{
	if (!next__find())
		return boot__alloc(align, size);
	return next.memalign ? our_memalign(align, size) : no_memory();
}

void *boot_aligned_alloc(size_t align, size_t size)
{
	if (!next__find())
		return boot__alloc(align, size);
	return next.aligned_alloc ? our_aligned_alloc(align, size) : no_memory();
}

int boot_posix_memalign(void **ret, size_t align, size_t size)
{
	void *p;

	if (next__find())
		return next.posix_memalign ? our_posix_memalign(ret, align, size) : ENOMEM;
	p = boot__alloc(align, size);
	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void *boot_valloc(size_t size)
{
	if (!next__find())
		return boot__alloc(PAGE, size);
	return next.valloc ? our_valloc(size) : no_memory();
}

void *boot_pvalloc(size_t size)
{
	if (!next__find())
		return boot__alloc(PAGE, (size + PAGE - 1) & -PAGE);
	return next.pvalloc ? our_pvalloc(size) : no_memory();
}

void boot_free(void *ptr)
{
	if (boot__owns(ptr) || !ptr)
		return;
	/* Where not even that is known, there cannot be a block of it. */
	if (next__find() && next.free)
		our_free(ptr);
}
