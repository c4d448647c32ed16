// SPDX-License-Identifier: GPL-2.0-only
/*
 * busy.c - threads that compute at the bottom of a recursion.
 *
 *	busy [THREADS [DEPTH [MS [PAIRS]]]]	default 2, 20, 1000 and 0
 *
 * Each thread: run -> dive (DEPTH frames of it) -> work, for MS milliseconds. After each 10000 rounds of it
 * it makes a malloc/free pair where PAIRS is not 0.
 */
#include <pthread.h>

#include "workload.h"

static long depth, with_pairs;
static uint64_t end_ns;

NOINLINE static uint64_t work(void)
{
	uint64_t sum = 0;

	while (now_ns() < end_ns) {
		sum += burn(10000);
		if (with_pairs)
			free(keep(malloc(64)));
	}
	return sum;
}

NOINLINE static uint64_t dive(long left)
{
	uint64_t sum = left > 1 ? dive(left - 1) : work();

	__asm__ volatile("" : "+r"(sum));
	return sum;
}

static void *run(void *arg)
{
	dive(depth);
	return arg;
}

int main(int argc, char **argv)
{
	long threads = arg_long(argc, argv, 1, 2), i;
	pthread_t ids[64];

	depth = arg_long(argc, argv, 2, 20);
	end_ns = now_ns() + arg_long(argc, argv, 3, 1000) * 1000000ULL;
	with_pairs = arg_long(argc, argv, 4, 0);
	for (i = 1; i < threads && i < 64; i++) {
		if (pthread_create(&ids[i], NULL, run, NULL))
			return 1;
	}
	run(NULL);
	for (i = 1; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
