// SPDX-License-Identifier: GPL-2.0-only
/*
 * wrappers.c - sites behind the wrappers that programs use.
 *
 *	wrappers [ROUNDS]	default 1000
 *
 * Per round, all freed by drop:
 *   site_xmalloc -> xmalloc -> malloc(48)			1 allocation
 *   site_strdup -> strdup (libc) -> malloc(20)			2
 *   site_xstrdup -> xstrdup -> xmalloc -> malloc(20)		3
 *   site_my_wrap -> my_wrap -> malloc(64)			4, my_wrap in no table of wrappers
 */
#include "workload.h"

static const char text[] = "nineteen characters";

NOINLINE void *xmalloc(size_t n)
{
	void *p = malloc(n);

	if (!p)
		abort();
	return keep(p);
}

NOINLINE char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return keep(memcpy(xmalloc(n), s, n));
}

NOINLINE void *my_wrap(size_t n)
{
	return keep(malloc(n));
}

NOINLINE static void drop(void *p)
{
	free(p);
	keep(p);
}

NOINLINE static void site_xmalloc(void)
{
	drop(xmalloc(48));
}

NOINLINE static void site_strdup(void)
{
	drop(keep(strdup(keep((char *)text))));
}

NOINLINE static void site_xstrdup(void)
{
	drop(xstrdup(keep((char *)text)));
}

NOINLINE static void site_my_wrap(void)
{
	drop(my_wrap(64));
}

int main(int argc, char **argv)
{
	long i, j, rounds = arg_long(argc, argv, 1, 1000);

	for (i = 0; i < rounds; i++) {
		site_xmalloc();
		for (j = 0; j < 2; j++)
			site_strdup();
		for (j = 0; j < 3; j++)
			site_xstrdup();
		for (j = 0; j < 4; j++)
			site_my_wrap();
	}
	return 0;
}
