// SPDX-License-Identifier: GPL-2.0-only
/*
 * costs.c - two sites of known cost, whose blocks a third function frees.
 *
 *	costs [ROUNDS]		default 8000000
 *
 * Per round: 3 blocks of 64 bytes by often(), 1 by seldom(), which release() gives back in one
 * line. All calls cost the same, so often()'s blocks cost 3 times what seldom()'s do. touch()
 * uses a fresh MB now and then: 1 in 65536 rounds.
 */
#include <malloc.h>
#include <string.h>

#include "workload.h"

#define LARGE_BYTES	(1UL << 20)

NOINLINE static void *often(void)
{
	return keep(malloc(64));
}

NOINLINE static void *seldom(void)
{
	return keep(malloc(64));
}

NOINLINE static void release(void *p)
{
	free(p);
}

NOINLINE static void touch(void)
{
	char *p = keep(malloc(LARGE_BYTES));

	memset(p, 1, LARGE_BYTES);
	free(keep(p));
}

NOINLINE static void one_round(void)
{
	void *p[4];
	int i;

	for (i = 0; i < 3; i++)
		p[i] = often();
	p[3] = seldom();
	for (i = 0; i < 4; i++)
		release(p[i]);
}

int main(int argc, char **argv)
{
	long i, rounds = arg_long(argc, argv, 1, 8000000);

	/* Large blocks are mapped, and fresh, each time. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES / 2);
	for (i = 0; i < rounds; i++) {
		one_round();
		if (!(i % 65536))
			touch();
	}
	return 0;
}
