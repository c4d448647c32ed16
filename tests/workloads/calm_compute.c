// SPDX-License-Identifier: GPL-2.0-only
/*
 * calm_compute.c - no churn: counts primes, and allocates its one table at the start.
 *
 *	calm_compute [ROUNDS]	default 500
 */
#include <inttypes.h>
#include <stdio.h>

#include "workload.h"

#define LIMIT	(1 << 20)

NOINLINE static uint64_t count_primes(char *composite)
{
	uint64_t nr = 0;
	long i, j;

	memset(composite, 0, LIMIT);
	for (i = 2; i < LIMIT; i++) {
		if (composite[i])
			continue;
		nr++;
		for (j = i * i; j < LIMIT; j += i)
			composite[j] = 1;
	}
	return nr;
}

int main(int argc, char **argv)
{
	long i, nr_rounds = arg_long(argc, argv, 1, 500);
	char *composite = malloc(LIMIT);
	uint64_t sum = 0;

	for (i = 0; i < nr_rounds; i++)
		sum += count_primes(composite);
	free(composite);
	printf("%ld rounds, checksum %016" PRIx64 "\n", nr_rounds, sum);
	return 0;
}
