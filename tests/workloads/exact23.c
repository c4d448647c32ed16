// SPDX-License-Identifier: GPL-2.0-only
/*
 * exact23.c - 23 allocations by main -> mid -> leaf -> malloc, 23 frees by main -> release -> free.
 *
 * Bytes: 16 + 32 + ... + 23 * 16 = 4416. Nothing else allocates.
 */
#include "workload.h"

#define NR	23

static void *blocks[NR];

NOINLINE static void *leaf(size_t n)
{
	return keep(malloc(n));
}

NOINLINE static void *mid(size_t n)
{
	return keep(leaf(n));
}

NOINLINE static void release(int i)
{
	free(blocks[i]);
	keep(blocks);
}

int main(void)
{
	int i;

	for (i = 0; i < NR; i++)
		blocks[i] = keep(mid((i + 1) * 16));
	for (i = 0; i < NR; i++)
		release(i);
	return 0;
}
