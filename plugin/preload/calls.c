// SPDX-License-Identifier: GPL-2.0-only
/*
 * The family's fast paths: count, then jump to the next definition. There is no frame of ours on
 * the stack of a call that is not sampled.
 */
#include <errno.h>
#include <stdlib.h>

#include "boot.h"
#include "calls.h"
#include "next.h"

void *our_malloc(size_t size)
{
	if (unlikely(!next.malloc))
		return boot_malloc(size);
	return count_alloc(size) ? next.malloc(size) : slow_malloc(size);
}

void *our_calloc(size_t nr, size_t size)
{
	size_t bytes;

	if (unlikely(!next.calloc))
		return boot_calloc(nr, size);
	if (unlikely(__builtin_mul_overflow(nr, size, &bytes)))
		return slow_calloc(nr, size);
	return count_alloc(bytes) ? next.calloc(nr, size) : slow_calloc(nr, size);
}

void *our_realloc(void *old, size_t size)
{
	if (unlikely(!next.realloc))
		return boot_realloc(old, size);
	if (unlikely(filter__has(old)) || !count_alloc(size))
		return slow_realloc(old, size);
	if (old && thread.slot)
		count_up(&thread.slot->nr_reallocs, 1);
	return next.realloc(old, size);
}

/*
 * The same as the next one, which calls realloc() in glibc, but not in others. Whose realloc() that is
 * decides the loader: an allocator without reallocarray() may come before us.
 */
static void *our_reallocarray(void *old, size_t nr, size_t size)
{
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(nr, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void *our_memalign(size_t align, size_t size)
{
	if (unlikely(!next.memalign))
		return boot_memalign(align, size);
	return count_alloc(size) ? next.memalign(align, size) : slow_memalign(align, size);
}

void *our_aligned_alloc(size_t align, size_t size)
{
	if (unlikely(!next.aligned_alloc))
		return boot_aligned_alloc(align, size);
	return count_alloc(size) ? next.aligned_alloc(align, size) :
				   slow_aligned_alloc(align, size);
}

int our_posix_memalign(void **ret, size_t align, size_t size)
{
	if (unlikely(!next.posix_memalign))
		return boot_posix_memalign(ret, align, size);
	return count_alloc(size) ? next.posix_memalign(ret, align, size) :
				   slow_posix_memalign(ret, align, size);
}

void *our_valloc(size_t size)
{
	if (unlikely(!next.valloc))
		return boot_valloc(size);
	return count_alloc(size) ? next.valloc(size) : slow_valloc(size);
}

void *our_pvalloc(size_t size)
{
	if (unlikely(!next.pvalloc))
		return boot_pvalloc(size);
	return count_alloc(size) ? next.pvalloc(size) : slow_pvalloc(size);
}

void our_free(void *ptr)
{
	if (unlikely(!next.free))
		boot_free(ptr);
	else if (count_free(ptr))
		next.free(ptr);
	else
		slow_free(ptr);
}

/* Of C23: what free() does is right for both, and free() may be another's, too. */
static void our_free_sized(void *ptr, size_t size)
{
	(void)size;
	free(ptr);
}

static void our_free_aligned_sized(void *ptr, size_t align, size_t size)
{
	(void)align;
	(void)size;
	free(ptr);
}

/*
 * Not "protected" functions of these names: programs that have the address of malloc in their own
 * code make the loader warn about such.
 */
#define EXPORT(name, ours) \
	extern __typeof__(ours) name \
		__attribute__((alias(#ours), visibility("default"), copy(ours)))

EXPORT(malloc, our_malloc);
EXPORT(calloc, our_calloc);
EXPORT(realloc, our_realloc);
EXPORT(reallocarray, our_reallocarray);
EXPORT(memalign, our_memalign);
EXPORT(aligned_alloc, our_aligned_alloc);
EXPORT(posix_memalign, our_posix_memalign);
EXPORT(valloc, our_valloc);
EXPORT(pvalloc, our_pvalloc);
EXPORT(free, our_free);
EXPORT(free_sized, our_free_sized);
EXPORT(free_aligned_sized, our_free_aligned_sized);
EXPORT(cfree, our_free);
