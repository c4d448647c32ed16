// SPDX-License-Identifier: GPL-2.0-only
/*
 * steady.c - two threads that allocate at a steady rate, and tell at the end whether all was well.
 *
 *	steady [MS [PATH]]	default 600; says "pid N" in PATH, if there is one, before it begins
 *
 * Each ms each thread allocates 40 blocks of 1 to 1000 bytes, resizes every fourth, and frees as many,
 * mostly of some ms before. Ends with "sum N", which depends on MS alone and on what the blocks held,
 * and status 42.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

#include "workload.h"

#define NR_KEPT		300
#define NR_PER_MS	40
#define NR_THREADS	2
#define STATUS		42

struct block {
	unsigned char *bytes;
	size_t size;
	unsigned char fill;
};

static long nr_ms;

NOINLINE static uint64_t drop(struct block *b)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < b->size; i++) {
		if (b->bytes[i] != b->fill) {
			say("corrupt\n");
			_exit(3);
		}
		sum += b->bytes[i];
	}
	free(b->bytes);
	b->size = 0;
	return sum;
}

NOINLINE static void fill(struct block *b, uint64_t random)
{
	b->size = random % 1000 + 1;
	b->fill = random >> 16;
	b->bytes = keep(malloc(b->size));
	memset(b->bytes, b->fill, b->size);
	if (random >> 32 & 3)
		return;
	b->bytes = keep(realloc(b->bytes, b->size * 2));
	memset(b->bytes + b->size, b->fill, b->size);
	b->size *= 2;
}

static void *run(void *arg)
{
	struct block kept[NR_KEPT] = { 0 };
	uint64_t x = (uintptr_t)arg + 1, sum = 0;
	long i;

	for (i = 0; i < nr_ms * NR_PER_MS; i++) {
		struct block *b;

		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		b = &kept[(x >> 40) % NR_KEPT];
		sum += drop(b);
		fill(b, x >> 20);
		if (i % NR_PER_MS == 0)
			sleep_ns(1000000);
	}
	for (i = 0; i < NR_KEPT; i++)
		sum += drop(&kept[i]);
	return (void *)sum;
}

static void say_pid(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	dprintf(fd, "pid %d\n", getpid());
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	uint64_t sum = 0;
	void *ret;
	long i;

	nr_ms = arg_long(argc, argv, 1, 600);
	if (argc > 2)
		say_pid(argv[2]);
	for (i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 1;
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], &ret);
		sum += (uintptr_t)ret;
	}
	printf("sum %lu\n", (unsigned long)sum);
	return STATUS;
}
