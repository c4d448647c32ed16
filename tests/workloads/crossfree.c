// SPDX-License-Identifier: GPL-2.0-only
/*
 * crossfree.c - one thread allocates, another frees.
 *
 *	crossfree [NR]		default 5000
 *
 * produce() in the main thread makes NR blocks of 96 bytes; consume() in a second thread frees them,
 * all of them across threads. A pipe carries the pointers, so nothing else is allocated but what
 * pthread_create() needs.
 */
#include <pthread.h>

#include "workload.h"

static int fds[2];
static long nr;

NOINLINE static void produce(void)
{
	void *p = keep(malloc(96));

	if (write(fds[1], &p, sizeof(p)) != sizeof(p))
		abort();
}

NOINLINE static void consume(void)
{
	void *p;

	if (read(fds[0], &p, sizeof(p)) != sizeof(p))
		abort();
	free(p);
}

static void *consumer(void *arg)
{
	long i;

	for (i = 0; i < nr; i++)
		consume();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long i;

	nr = arg_long(argc, argv, 1, 5000);
	if (pipe(fds) || pthread_create(&thread, NULL, consumer, NULL))
		return 1;
	for (i = 0; i < nr; i++)
		produce();
	pthread_join(thread, NULL);
	return 0;
}
