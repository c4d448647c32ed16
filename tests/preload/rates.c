// SPDX-License-Identifier: GPL-2.0-only
/*
 * rates.c - a program whose rate of allocations jumps: as fast as it goes, then a thousand times
 * slower, then fast again.
 *
 *	rates [THREADS]
 *
 * Prints for each phase "NAME START END ALLOCS": CLOCK_MONOTONIC in ns when it had run for 0.1 s of
 * CPU time, and when it had for 0.6 s, and the allocations in between.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SETTLE_NS	100000000LL
#define PHASE_NS	600000000LL
#define SLOW_SPINS	20000

static int nr_threads = 1;
static long nr_spins, nr_allocs;
static int is_over;

static long long now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void pairs(void)
{
	long i, spins = __atomic_load_n(&nr_spins, __ATOMIC_RELAXED), nr = spins ? 1 : 2000;

	for (i = 0; i < nr; i++) {
		void *volatile p = malloc(i % 100 + 1);

		free(p);
	}
	__atomic_fetch_add(&nr_allocs, nr, __ATOMIC_RELAXED);
	for (i = 0; i < spins; i++)
		__asm__ volatile("");
}

static void run_until(long long cpu_ns)
{
	while (now(CLOCK_PROCESS_CPUTIME_ID) < cpu_ns)
		pairs();
}

static void phase(const char *name, long spins)
{
	long long cpu = now(CLOCK_PROCESS_CPUTIME_ID), start, allocs;

	nr_spins = spins;
	run_until(cpu + SETTLE_NS * nr_threads);
	start = now(CLOCK_MONOTONIC);
	allocs = nr_allocs;
	run_until(cpu + PHASE_NS * nr_threads);
	printf("%s %lld %lld %lld\n", name, start, now(CLOCK_MONOTONIC), nr_allocs - allocs);
}

static void *help(void *arg)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		pairs();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int i;

	if (argc > 1)
		nr_threads = atoi(argv[1]);
	for (i = 0; i < nr_threads - 1; i++)
		pthread_create(&threads[i], NULL, help, NULL);
	phase("fast", 0);
	phase("slow", SLOW_SPINS);
	phase("again", 0);
	is_over = 1;
	for (i = 0; i < nr_threads - 1; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
