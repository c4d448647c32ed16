/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * freelist.h - the one site of a pair_* program.
 *
 * Its blocks come from site_alloc() and go back by site_free(), which are malloc() and free().
 * With -DFREELIST a LIFO list for each size and thread stands in front of them, and nothing else
 * changes: blocks up to 1 KB have malloc's own steps of size, larger ones are powers of two.
 * Macros, so that the caller of malloc() is the site's function.
 */
#ifndef PERF_CHURN_TESTS_FREELIST_H
#define PERF_CHURN_TESTS_FREELIST_H

#include <stdlib.h>
#include <string.h>

#ifdef FREELIST

#define FREELIST_SMALL	1024

static __thread void *freelists[FREELIST_SMALL / 16 + 2 + 64];

/* Its list; *block_bytes: what its blocks hold. */
static inline void **freelist_of(size_t bytes, size_t *block_bytes)
{
	size_t step = (bytes + 8 + 15) / 16;
	int bits;

	if (bytes <= FREELIST_SMALL) {
		*block_bytes = step < 2 ? 24 : step * 16 - 8;
		return &freelists[step < 2 ? 2 : step];
	}
	bits = 64 - __builtin_clzl(bytes - 1);
	*block_bytes = 1UL << bits;
	return &freelists[FREELIST_SMALL / 16 + 2 + bits];
}

static inline void *freelist_alloc(size_t bytes)
{
	size_t block_bytes;
	void **list = freelist_of(bytes, &block_bytes), *p = *list;

	if (!p)
		return malloc(block_bytes);
	*list = *(void **)p;
	return p;
}

static inline void freelist_free(void *p, size_t bytes)
{
	void **list = freelist_of(bytes, &bytes);

	*(void **)p = *list;
	*list = p;
}

static inline void *freelist_calloc(size_t bytes)
{
	return memset(freelist_alloc(bytes), 0, bytes);
}

static inline void *freelist_realloc(void *old, size_t old_bytes, size_t bytes)
{
	size_t had, has;
	void *p;

	if (old && freelist_of(old_bytes, &had) == freelist_of(bytes, &has))
		return old;
	p = freelist_alloc(bytes);
	if (old) {
		memcpy(p, old, old_bytes < bytes ? old_bytes : bytes);
		freelist_free(old, old_bytes);
	}
	return p;
}

#define site_alloc(bytes)			freelist_alloc(bytes)
#define site_calloc(bytes)			freelist_calloc(bytes)
#define site_realloc(old, old_bytes, bytes)	freelist_realloc(old, old_bytes, bytes)
#define site_free(p, bytes)			freelist_free(p, bytes)

#else

#define site_alloc(bytes)			malloc(bytes)
#define site_calloc(bytes)			calloc(1, bytes)
#define site_realloc(old, old_bytes, bytes)	realloc(old, bytes)
#define site_free(p, bytes)			free(p)

#endif

#if defined(__cplusplus) && defined(FREELIST)

/*
 * In these programs only the site has objects made by new. The containers keep std::allocator:
 * they are compiled to other code with one of ours.
 */
void *operator new(size_t bytes)
{
	return freelist_alloc(bytes);
}

void operator delete(void *p, size_t bytes) noexcept
{
	freelist_free(p, bytes);
}

/* Of what the program's libraries made. */
void operator delete(void *p) noexcept
{
	free(p);
}

#endif

#endif /* PERF_CHURN_TESTS_FREELIST_H */
