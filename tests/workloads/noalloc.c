// SPDX-License-Identifier: GPL-2.0-only
/*
 * noalloc.c - a dynamically linked program that never calls libc's allocator: it has one of its own,
 * over mmap. Runs for about 0.5 s, or as many rounds as the first argument says.
 */
#include <sys/mman.h>

#include "workload.h"

static char *pool;

NOINLINE static void *pool_alloc(size_t n)
{
	static size_t used;

	used = (used + n) % (1 << 20);
	return pool + used;
}

int main(int argc, char **argv)
{
	long i, rounds = arg_long(argc, argv, 1, 50000);

	pool = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		return 1;
	for (i = 0; i < rounds; i++) {
		memset(keep(pool_alloc(64)), i, 64);
		burn(12000);
	}
	return 0;
}
