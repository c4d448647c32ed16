// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads4.c - four threads that allocate and free at the same time.
 *
 *	threads4 [UNIT]		default 1000
 *
 * Thread i (0 to 3) makes (i + 1) * UNIT allocations of 64 bytes and frees them all, in batches of
 * 50. 10 * UNIT in all, besides what pthread_create() itself needs.
 */
#include <pthread.h>

#include "workload.h"

#define BATCH	50

static long unit;

NOINLINE static void one_batch(long nr)
{
	void *p[BATCH];
	long i;

	for (i = 0; i < nr; i++)
		p[i] = keep(malloc(64));
	for (i = 0; i < nr; i++)
		free(p[i]);
}

static void *worker(void *arg)
{
	long nr, left = ((long)arg + 1) * unit;

	for (; left > 0; left -= nr) {
		nr = left < BATCH ? left : BATCH;
		one_batch(nr);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	long i;

	unit = arg_long(argc, argv, 1, 1000);
	for (i = 0; i < 4; i++) {
		if (pthread_create(&threads[i], NULL, worker, (void *)i))
			return 1;
	}
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
