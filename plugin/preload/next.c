// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "filter.h"
#include "next.h"

#define BOOT_BYTES	65536
#define BOOT_ALIGN	16UL

struct next_functions next;

static char boot_buffer[BOOT_BYTES] __attribute__((aligned(64)));
static size_t boot_used;

/* NULL as long as the loader has not relocated us: then nothing outside of here can be called. */
static void *(*volatile look_up)(void *handle, const char *name) = dlsym;

static __thread bool is_finding;
static bool is_shadowed;

static const struct {
	const char *name;
	size_t offset;
} names[] = {
	{ "malloc", offsetof(struct next_functions, malloc) },
	{ "calloc", offsetof(struct next_functions, calloc) },
	{ "realloc", offsetof(struct next_functions, realloc) },
	{ "memalign", offsetof(struct next_functions, memalign) },
	{ "aligned_alloc", offsetof(struct next_functions, aligned_alloc) },
	{ "posix_memalign", offsetof(struct next_functions, posix_memalign) },
	{ "valloc", offsetof(struct next_functions, valloc) },
	{ "pvalloc", offsetof(struct next_functions, pvalloc) },
	{ "_exit", offsetof(struct next_functions, exit_now) },
	{ "prctl", offsetof(struct next_functions, prctl) },
	{ "syscall", offsetof(struct next_functions, syscall) },
	{ "free", offsetof(struct next_functions, free) },
};

#define NAME_NR		(sizeof(names) / sizeof(names[0]))

/*
 * Whose malloc() is it that the program calls? Addresses do not tell: a program may have a stub of its
 * own for it. Ours has no more than the buffer now.
 */
static void see_who_is_first(void)
{
	void *block = malloc(BOOT_BYTES + 1);

	if (!block)
		return;
	if (!__atomic_load_n(&next.malloc, __ATOMIC_ACQUIRE))
		__atomic_store_n(&is_shadowed, true, __ATOMIC_RELAXED);
	free(block);
}

/* What there is none of stays NULL. free comes last: it tells that all are known. */
static void find_all(void)
{
	void *found[NAME_NR];
	size_t i;

	for (i = 0; i < NAME_NR; i++)
		found[i] = look_up(RTLD_NEXT, names[i].name);
	see_who_is_first();
	boot__stick();
	for (i = 0; i < NAME_NR; i++)
		__atomic_store_n((void **)((char *)&next + names[i].offset), found[i],
				 __ATOMIC_RELEASE);
}

bool next__is_known(void)
{
	return __atomic_load_n(&next.free, __ATOMIC_ACQUIRE);
}

bool next__find(void)
{
	int saved_errno;

	if (!look_up || is_finding)
		return false;
	if (next__is_known())
		return true;
	saved_errno = errno;
	is_finding = true;
	find_all();
	is_finding = false;
	errno = saved_errno;
	return true;
}

bool next__is_shadowed(void)
{
	return __atomic_load_n(&is_shadowed, __ATOMIC_RELAXED);
}

void *boot__alloc(size_t align, size_t size)
{
	size_t used = __atomic_load_n(&boot_used, __ATOMIC_RELAXED), start, end;
	uintptr_t buffer = (uintptr_t)boot_buffer;

	align = align < BOOT_ALIGN ? BOOT_ALIGN : align;
	do {
		start = ((buffer + used + align - 1) & -align) - buffer;
		if (start > BOOT_BYTES || size > BOOT_BYTES - start)
			return NULL;
		/* No two blocks begin at the same address. */
		end = start + ((size + BOOT_ALIGN) & -BOOT_ALIGN);
	} while (!__atomic_compare_exchange_n(&boot_used, &used, end, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	if (look_up)
		boot__stick();
	return boot_buffer + start;
}

bool boot__owns(const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)boot_buffer < BOOT_BYTES;
}

size_t boot__room(const void *ptr)
{
	return boot_buffer + BOOT_BYTES - (const char *)ptr;
}

void boot__stick(void)
{
	size_t used = __atomic_load_n(&boot_used, __ATOMIC_RELAXED);

	if (!used)
		return;
	/* Without memory for it, free() looks at all blocks. */
	filter__map();
	filter__stick(boot_buffer, used);
}
