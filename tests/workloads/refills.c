// SPDX-License-Identifier: GPL-2.0-only
/*
 * refills.c - calls that glibc's thread cache can serve, and others, known by number: 103 refills.
 *
 *	first		  2	the thread cache itself, and a block
 *	small		 23	of a size that the cache would hold, but nothing was freed
 *	large		 29	of a size that it does not hold
 *	zeroed		 17	likewise, by calloc
 *	big		  3	from the system, each one
 *	reused		  1	1001 times the same block: the cache serves all but the first
 *	resized		 15	5 times two blocks, and a third where the first cannot grow
 *	aligned		 13	by memalign
 */
#include <malloc.h>

#include "workload.h"

#define NR_KEPT	128

static void *kept[NR_KEPT];
static int nr_kept;

NOINLINE static void keep_block(void *p)
{
	kept[nr_kept++] = keep(p);
}

NOINLINE static void first(void)
{
	free(keep(malloc(1000)));
	keep(kept);
}

NOINLINE static void small(void)
{
	for (int i = 0; i < 23; i++)
		keep_block(malloc(24));
}

NOINLINE static void large(void)
{
	for (int i = 0; i < 29; i++)
		keep_block(malloc(5000));
}

NOINLINE static void zeroed(void)
{
	for (int i = 0; i < 17; i++)
		keep_block(calloc(2, 1000));
}

NOINLINE static void big(void)
{
	for (int i = 0; i < 3; i++)
		keep_block(malloc(1 << 20));
}

NOINLINE static void reused(void)
{
	for (int i = 0; i < 1001; i++)
		free(keep(malloc(48)));
	keep(kept);
}

NOINLINE static void resized(void)
{
	for (int i = 0; i < 5; i++) {
		void *p = keep(malloc(3000));

		keep_block(malloc(3000));
		keep_block(realloc(p, 9000));
	}
}

NOINLINE static void aligned(void)
{
	for (int i = 0; i < 13; i++)
		keep_block(memalign(4096, 100));
}

int main(void)
{
	first();
	small();
	large();
	zeroed();
	big();
	reused();
	resized();
	aligned();
	return 0;
}
