// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_arena_contention.c - four threads, one arena: M_ARENA_MAX is 1, to save memory, and the
 * blocks are larger than what glibc's cache of each thread takes.
 *
 *	pair_arena_contention [JOBS]	default 400000, of each thread
 *
 * Site: open_job, 4 blocks of 1500 to 3000 bytes. FREELIST: in front of malloc() and free(), one
 * for each thread. FIXED: each thread has the buffers of a job and keeps them.
 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

#include "freelist.h"
#include "workload.h"

#define NR_THREADS	4
#define NR_BLOCKS	4
#define BLOCK_BYTES(i)	(1500UL + 500 * (i))

struct job {
	uint64_t *blocks[NR_BLOCKS];
};

struct worker {
	pthread_t id;
	uint64_t nr, sum;
};

static long nr_jobs;

NOINLINE static void open_job(struct job *job)
{
#ifdef FIXED
	static __thread uint64_t kept[NR_BLOCKS][BLOCK_BYTES(NR_BLOCKS) / 8];

	for (int i = 0; i < NR_BLOCKS; i++)
		job->blocks[i] = kept[i];
#else
	for (int i = 0; i < NR_BLOCKS; i++)
		job->blocks[i] = site_alloc(BLOCK_BYTES(i));
#endif
}

NOINLINE static void close_job(struct job *job)
{
#ifdef FIXED
	(void)job;
#else
	for (int i = 0; i < NR_BLOCKS; i++)
		site_free(job->blocks[i], BLOCK_BYTES(i));
#endif
}

NOINLINE static uint64_t work_on(struct job *job, uint64_t seed)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_BLOCKS; i++) {
		uint64_t *words = job->blocks[i];

		for (int w = 0; w < 100; w++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			words[w] = seed;
		}
		for (int w = 0; w < 100; w++)
			sum = (sum ^ words[w]) * 0xff51afd7ed558ccdULL;
	}
	return sum;
}

static void *run_jobs(void *arg)
{
	struct worker *worker = arg;
	struct job job;

	for (long i = 0; i < nr_jobs; i++) {
		open_job(&job);
		worker->sum += work_on(&job, worker->nr * nr_jobs + i);
		close_job(&job);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[NR_THREADS] = { 0 };
	uint64_t sum = 0;

	nr_jobs = arg_long(argc, argv, 1, 400000);
	mallopt(M_ARENA_MAX, 1);
	for (int i = 0; i < NR_THREADS; i++) {
		workers[i].nr = i;
		if (pthread_create(&workers[i].id, NULL, run_jobs, &workers[i]))
			return 1;
	}
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(workers[i].id, NULL);
		sum += workers[i].sum;
	}
	printf("%ld jobs, checksum %016" PRIx64 "\n", nr_jobs, sum);
	return 0;
}
