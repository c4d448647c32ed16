// SPDX-License-Identifier: GPL-2.0-only
/*
 * ten_sites.c - ten sites with known shares.
 *
 *	ten_sites ROUNDS WORK
 *
 * Waits for SIGUSR1, having said "ready". Per round site_1 allocates once, site_2 twice and so on, each block
 * freed at once and followed by WORK rounds of computing (some ns each): 55 allocations a round.
 */
#include "workload.h"

#define SITE(n)					\
NOINLINE static void *site_##n(void)		\
{						\
	return keep(malloc(16 * (n)));		\
}

SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)
SITE(7)
SITE(8)
SITE(9)
SITE(10)

typedef void *(*site_fn)(void);

static const site_fn sites[] = {
	site_1, site_2, site_3, site_4, site_5, site_6, site_7, site_8, site_9, site_10,
};

static void one_round(long work)
{
	long i, j;

	for (i = 0; i < 10; i++) {
		for (j = 0; j <= i; j++) {
			free(sites[i]());
			keep((void *)burn(work));
		}
	}
}

int main(int argc, char **argv)
{
	long rounds = arg_long(argc, argv, 1, 1000), work = arg_long(argc, argv, 2, 10000);

	wait_for_signal();
	while (rounds-- > 0)
		one_round(work);
	return 0;
}
