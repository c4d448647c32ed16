// SPDX-License-Identifier: GPL-2.0-only
/*
 * mixed.c - two threads with mixed sizes and lifetimes.
 *
 *	mixed CALLS
 *
 * Each thread makes CALLS allocations of 16 bytes to 16 KB, small ones mostly, into random places of
 * a table of 4096, freeing what was there: lifetimes from one step to tens of thousands. One in 16 is
 * resized first; one in 8 goes into a table that both threads use, so the other may free it.
 * Says "cpu_ns NS wall_ns NS ops ALLOCATIONS"; a resized block is two.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "meter.h"

#define NR_PLACES	4096
#define NR_SHARED	512

static _Atomic(void *) shared[NR_SHARED];
static long nr_calls;
static atomic_long nr_ops;

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static size_t draw_size(uint64_t *state)
{
	uint32_t r = draw(state);

	return (16UL << (__builtin_ctz(r | 1 << 10))) + (r >> 12) % 16;
}

static void *run(void *arg)
{
	static _Thread_local void *own[NR_PLACES];
	uint64_t state = 88172645463325252ULL + (long)arg;
	long i, resized = 0;

	for (i = 0; i < nr_calls; i++) {
		void *p = keep(malloc(draw_size(&state)));
		uint32_t r = draw(&state);

		if (!(r & 15)) {
			p = keep(realloc(p, draw_size(&state)));
			resized++;
		}
		if ((r >> 4 & 7) == 0) {
			p = atomic_exchange(&shared[(r >> 8) % NR_SHARED], p);
		} else {
			void *old = own[(r >> 8) % NR_PLACES];

			own[(r >> 8) % NR_PLACES] = p;
			p = old;
		}
		free(p);
	}
	atomic_fetch_add(&nr_ops, nr_calls + resized);
	return NULL;
}

int main(int argc, char **argv)
{
	struct meter start = meter_now();
	pthread_t other;

	nr_calls = argc > 1 ? atol(argv[1]) : 1000000;
	if (pthread_create(&other, NULL, run, (void *)1))
		return 1;
	run(NULL);
	pthread_join(other, NULL);
	return say_cost(start, nr_ops);
}
