// SPDX-License-Identifier: GPL-2.0-only
/*
 * failing.c - allocations that fail because the address space is used up.
 *
 *	failing [threads]
 *
 * RLIMIT_AS is set to what is in use plus 64 MB. Then, each failure beside a success of 16 bytes:
 *   50 failing calls of malloc(1 MB), after as many that work as there is room for
 *   20 failing reallocs of a mapped block to 1 GB, 30 of a small block
 * So 100 failures. A realloc that fails so calls malloc inside glibc, which fails too; that is no
 * call by the program. With "threads" there has been a second thread, and all of them take that path.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

#include "workload.h"

static void limit_memory(void)
{
	struct rlimit lim = { .rlim_cur = 64UL << 20, .rlim_max = 64UL << 20 };
	char text[64] = "";
	FILE *in = fopen("/proc/self/statm", "r");

	if (!in || !fgets(text, sizeof(text), in))
		abort();
	fclose(in);
	lim.rlim_cur = lim.rlim_max += strtoul(text, NULL, 10) * 4096;
	if (setrlimit(RLIMIT_AS, &lim))
		abort();
}

NOINLINE static void *big_site(void)
{
	return keep(malloc(1 << 20));
}

NOINLINE static void *small_site(void)
{
	return keep(malloc(16));
}

NOINLINE static void *grow_site(void *p)
{
	return keep(realloc(p, 1UL << 30));
}

static int fill_up(void)
{
	static void *big[4096], *small[50];
	int nr_big = 0, nr_failed = 0, i;

	while (nr_failed < 50 && nr_big < 4096) {
		void *p = big_site();

		if (p)
			big[nr_big++] = p;
		else
			small[nr_failed++] = small_site();
	}
	for (i = 0; i < nr_big; i++)
		free(big[i]);
	for (i = 0; i < nr_failed; i++)
		free(small[i]);
	return nr_failed;
}

static int grow_too_far(size_t bytes, int times)
{
	void *p = keep(malloc(bytes));
	int nr_failed = 0, i;

	for (i = 0; i < times; i++) {
		nr_failed += !grow_site(p);
		free(small_site());
	}
	free(p);
	return nr_failed;
}

static void *idle(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "threads")) {
		if (pthread_create(&thread, NULL, idle, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	limit_memory();
	return fill_up() + grow_too_far(1 << 20, 20) + grow_too_far(40, 30) != 100;
}
