// SPDX-License-Identifier: GPL-2.0-only
/*
 * shapes.c - blocks that are freed in every order, each by a site of its own.
 *
 *	shapes [ROUNDS]		default 500
 *
 * A round, in which no two sites are mixed:
 *	scratch		20 x	a block of 48 bytes, freed by scratch itself
 *	make		20 x	a block of 1 to 1000 bytes, freed by the caller, take
 *	queue		20 x	a block of 100 bytes; then the one made 50 before it is freed
 *	push		20 x	a block of 200 bytes onto a stack of at most 4: up 1, up 1, down 1, ...
 *	grow		4 x	malloc(64) and realloc to 128, 256, 512, 1024; freed
 *	copy		4 x	malloc(64), 128, 256, 512, 1024, the one before freed by copy after each
 *	zero		10 x	calloc(4, 10), freed
 * and one time in ten rounds
 *	build		200 blocks of 30 bytes, all freed by tear_down in the same order
 * What is queued at the end is freed.
 */
#include "workload.h"

#define QUEUE	50
#define BATCH	200

static void *queued[QUEUE], *built[BATCH], *stack[4];
static long nr_queued, nr_stacked;
static unsigned int state = 1;

static unsigned int any(unsigned int below)
{
	state = state * 1103515245 + 12345;
	return (state >> 16) % below;
}

NOINLINE static void scratch(void)
{
	free(keep(malloc(48)));
}

NOINLINE static void *make(void)
{
	return keep(malloc(1 + any(1000)));
}

NOINLINE static void take(void)
{
	free(keep(make()));
}

NOINLINE static void queue(void)
{
	void **slot = &queued[nr_queued++ % QUEUE];
	void *old = *slot;

	*slot = keep(malloc(100));
	free(old);
}

NOINLINE static void push(void)
{
	stack[nr_stacked++] = keep(malloc(200));
}

NOINLINE static void pop(void)
{
	free(stack[--nr_stacked]);
}

/* 2 up 1 down to the top, then 1 up 2 down to the bottom. */
NOINLINE static void up_and_down(void)
{
	push();
	push();
	pop();
	push();
	push();
	pop();
	pop();
	push();
	pop();
	pop();
}

NOINLINE static void grow(void)
{
	size_t bytes = 64;
	void *p = keep(malloc(bytes));

	while (bytes < 1024)
		p = keep(realloc(p, bytes *= 2));
	free(p);
}

NOINLINE static void *copy(void *old, size_t bytes)
{
	void *p = keep(malloc(bytes));

	if (old)
		memcpy(p, old, bytes / 2);
	free(old);
	return p;
}

NOINLINE static void grow_by_copying(void)
{
	void *p = NULL;
	size_t bytes;

	for (bytes = 64; bytes <= 1024; bytes *= 2)
		p = keep(copy(p, bytes));
	free(p);
}

NOINLINE static void zero(void)
{
	free(keep(calloc(4, 10)));
}

NOINLINE static void *build(void)
{
	return keep(malloc(30));
}

NOINLINE static void tear_down(void)
{
	int i;

	for (i = 0; i < BATCH; i++)
		free(built[i]);
}

NOINLINE static void one_round(long round)
{
	int i;

	for (i = 0; i < 20; i++)
		scratch();
	for (i = 0; i < 20; i++)
		take();
	for (i = 0; i < 20; i++)
		queue();
	for (i = 0; i < 4; i++)
		up_and_down();
	for (i = 0; i < 4; i++)
		grow();
	for (i = 0; i < 4; i++)
		grow_by_copying();
	for (i = 0; i < 10; i++)
		zero();
	for (i = 0; i < BATCH && round % 10 == 0; i++)
		built[i] = build();
	if (round % 10 == 0)
		tear_down();
}

int main(int argc, char **argv)
{
	long i, rounds = arg_long(argc, argv, 1, 500);

	for (i = 0; i < rounds; i++)
		one_round(i);
	for (i = 0; i < QUEUE; i++)
		free(queued[i]);
	return 0;
}
