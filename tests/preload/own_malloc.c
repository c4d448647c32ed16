// SPDX-License-Identifier: GPL-2.0-only
/*
 * own_malloc.c - a program with an allocator of its own: a preloaded one is never called.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static char heap[1 << 20] __attribute__((aligned(16)));
static size_t used, nr_calls;

void *malloc(size_t size)
{
	size_t at = used;

	used += (size + 15) & -16UL;
	nr_calls++;
	return used <= sizeof(heap) ? heap + at : NULL;
}

void free(void *ptr)
{
	if (ptr && ((char *)ptr < heap || (char *)ptr >= heap + sizeof(heap)))
		__builtin_trap();
}

void *calloc(size_t nr, size_t size)
{
	return malloc(nr * size);
}

void *realloc(void *old, size_t size)
{
	void *p = malloc(size);

	return old && p ? memmove(p, old, size) : p;
}

int main(void)
{
	size_t before = nr_calls;
	int i;

	for (i = 0; i < 23; i++) {
		void *volatile p = malloc(100);

		free(p);
	}
	printf("own calls %zu\n", nr_calls - before);
	return 0;
}
