// SPDX-License-Identifier: GPL-2.0-only
/*
 * shares.c - two sites with known shares, known sizes and some CPU time.
 *
 *	shares [ROUNDS]		default 10000
 *
 * Per round: 3 allocations of 200 bytes by heavy_site, 1 of 24 bytes by light_site; all are freed
 * by drop_block. So 75 % and 25 % of 4 * ROUNDS allocations, size classes 256 and 32,
 * 624 * ROUNDS bytes, and as many frees. crunch burns about 15 us a round.
 */
#include "workload.h"

static uint64_t sum;

NOINLINE static void *heavy_site(void)
{
	return keep(malloc(200));
}

NOINLINE static void *light_site(void)
{
	return keep(malloc(24));
}

NOINLINE static void drop_block(void *p)
{
	free(p);
	keep(&sum);
}

NOINLINE static void crunch(void)
{
	sum += burn(20000);
}

NOINLINE static void one_round(void)
{
	void *p[4];
	int i;

	for (i = 0; i < 3; i++)
		p[i] = heavy_site();
	p[3] = light_site();
	crunch();
	for (i = 0; i < 4; i++)
		drop_block(p[i]);
}

int main(int argc, char **argv)
{
	long i, rounds = arg_long(argc, argv, 1, 10000);

	for (i = 0; i < rounds; i++)
		one_round();
	return 0;
}
