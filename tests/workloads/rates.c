// SPDX-License-Identifier: GPL-2.0-only
/*
 * rates.c - allocates at rates that change.
 *
 *	rates [-w] [-t THREADS] [-f CHILDREN] [-s US] CALLS:WORK...
 *
 * Each CALLS:WORK is a phase in which each thread allocates and frees CALLS blocks, with WORK rounds of
 * computing (some ns each) between them; one in four by light_site, the others by heavy_site. With -w it
 * first waits for SIGUSR1, having said "ready"; -f does all of it in CHILDREN forked children, too; -s
 * sleeps US between calls.
 * Ends by saying "rates: MS ms of CPU".
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "workload.h"

static int nr_phases;
static char **phases;
static long sleep_us;

NOINLINE static void *heavy_site(void)
{
	return keep(malloc(200));
}

NOINLINE static void *light_site(void)
{
	return keep(malloc(24));
}

static void one_phase(long calls, long units)
{
	long i;

	for (i = 0; i < calls; i++) {
		free(i % 4 ? heavy_site() : light_site());
		keep((void *)burn(units));
		if (sleep_us)
			sleep_ns(sleep_us * 1000);
	}
}

static void *run(void *arg)
{
	long calls, units;
	int i;

	for (i = 0; i < nr_phases; i++) {
		if (sscanf(phases[i], "%ld:%ld", &calls, &units) == 2)
			one_phase(calls, units);
	}
	return arg;
}

static void run_threads(long nr)
{
	pthread_t threads[256];
	long i;

	for (i = 0; i < nr - 1 && i < 256; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	run(NULL);
	while (i-- > 0)
		pthread_join(threads[i], NULL);
}

static void fork_children(long nr, long nr_threads)
{
	while (nr-- > 0) {
		if (!fork()) {
			run_threads(nr_threads);
			_exit(0);
		}
	}
}

int main(int argc, char **argv)
{
	long nr_threads = 1, nr_children = 0;
	struct timespec ts;
	char line[64];
	int c;

	while ((c = getopt(argc, argv, "wt:f:s:")) != -1) {
		if (c == 'w')
			wait_for_signal();
		else if (c == 't')
			nr_threads = atol(optarg);
		else if (c == 'f')
			nr_children = atol(optarg);
		else if (c == 's')
			sleep_us = atol(optarg);
	}
	nr_phases = argc - optind;
	phases = argv + optind;
	fork_children(nr_children, nr_threads);
	run_threads(nr_threads);
	while (wait(NULL) > 0)
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	snprintf(line, sizeof(line), "rates: %ld ms of CPU\n", ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
	say(line);
	return 0;
}
