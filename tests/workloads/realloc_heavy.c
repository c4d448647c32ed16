// SPDX-License-Identifier: GPL-2.0-only
/*
 * realloc_heavy.c - every way a realloc can end.
 *
 * Per round of ROUNDS = 2000 (first argument), each by a function of its own:
 *   grow_moving	malloc(64), then realloc to 128, 192, ..., 640 (9 times), a block between each
 *			two that keeps it from growing in place; all freed
 *   stay_in_place	malloc(1000), realloc to 900 and back to 1000; freed
 *   from_null		realloc(NULL, 77); freed
 *   size_zero		malloc(55), realloc(p, 0): a free, no allocation
 *   too_big		malloc(33), realloc(p, SIZE_MAX / 2) fails and leaves the block; freed
 *   mapped		once in 100 rounds: malloc(300000), realloc to 600000 (mremap), then to 100; freed
 * With a second argument the same is done by two threads at once, where realloc takes other paths
 * inside glibc.
 */
#include <pthread.h>

#include "workload.h"

static long rounds;

NOINLINE static void grow_moving(void)
{
	char *wall[9], *p = keep(malloc(64));
	int i;

	for (i = 0; i < 9; i++) {
		wall[i] = keep(malloc(24));
		p = keep(realloc(p, 128 + i * 64));
	}
	for (i = 0; i < 9; i++)
		free(wall[i]);
	free(p);
}

NOINLINE static void stay_in_place(void)
{
	char *p = keep(malloc(1000));

	p = keep(realloc(p, 900));
	p = keep(realloc(p, 1000));
	free(p);
}

NOINLINE static void from_null(void)
{
	free(keep(realloc(keep(NULL), 77)));
}

NOINLINE static void size_zero(void)
{
	volatile size_t zero = 0;
	void *p = keep(malloc(55));

	if (realloc(p, zero))
		abort();
}

NOINLINE static void too_big(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *p = keep(malloc(33));

	if (realloc(p, huge))
		abort();
	free(p);
}

NOINLINE static void mapped(void)
{
	char *p = keep(malloc(300000));

	p = keep(realloc(p, 600000));
	p = keep(realloc(p, 100));
	free(p);
}

static void *run(void *arg)
{
	long i;

	for (i = 0; i < rounds; i++) {
		grow_moving();
		stay_in_place();
		from_null();
		size_zero();
		too_big();
		if (i % 100 == 0)
			mapped();
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t other;

	rounds = arg_long(argc, argv, 1, 2000);
	if (argc < 3) {
		run(NULL);
		return 0;
	}
	if (pthread_create(&other, NULL, run, NULL))
		return 1;
	run(NULL);
	pthread_join(other, NULL);
	return 0;
}
