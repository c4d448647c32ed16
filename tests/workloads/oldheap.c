// SPDX-License-Identifier: GPL-2.0-only
/*
 * oldheap.c - a process whose heap is older than the recording.
 *
 *	oldheap [OLD [PAIRS]]		default 3000 and 7000
 *
 * old_site() allocates OLD blocks of 80 bytes. Then it says "ready" and waits for a line on stdin.
 * Then free_old() frees them, new_site() makes PAIRS blocks of 56 bytes, each freed at once by
 * new_free(), and it says "done" and waits for the end of stdin.
 */
#include "workload.h"

static void **old;

NOINLINE static void old_site(long i)
{
	old[i] = keep(malloc(80));
}

NOINLINE static void free_old(long i)
{
	free(old[i]);
	keep(old);
}

NOINLINE static void *new_site(void)
{
	return keep(malloc(56));
}

NOINLINE static void new_free(void *p)
{
	free(p);
	keep(old);
}

static void wait_input(void)
{
	char c = 0;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

int main(int argc, char **argv)
{
	long i, nr = arg_long(argc, argv, 1, 3000), pairs = arg_long(argc, argv, 2, 7000);

	old = keep(malloc(nr * sizeof(*old)));
	for (i = 0; i < nr; i++)
		old_site(i);
	say("ready\n");
	wait_input();
	for (i = 0; i < nr; i++)
		free_old(i);
	for (i = 0; i < pairs; i++)
		new_free(new_site());
	say("done\n");
	wait_input();
	return 0;
}
