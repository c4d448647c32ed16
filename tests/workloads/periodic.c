// SPDX-License-Identifier: GPL-2.0-only
/*
 * periodic.c - a pattern that fools sampling of every N-th call.
 *
 *	periodic [ROUNDS]	default 2000
 *
 * Per round 99 allocations by common_site and then 1 by rare_site, 32 bytes each, freed at once. A
 * sampler that takes every hundredth sees either only rare_site or none of it; its share is 1 %.
 */
#include "workload.h"

NOINLINE static void *common_site(void)
{
	return keep(malloc(32));
}

NOINLINE static void *rare_site(void)
{
	return keep(malloc(32));
}

int main(int argc, char **argv)
{
	long i, j, rounds = arg_long(argc, argv, 1, 2000);

	for (i = 0; i < rounds; i++) {
		for (j = 0; j < 99; j++)
			free(common_site());
		free(rare_site());
	}
	return 0;
}
