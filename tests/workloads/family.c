// SPDX-License-Identifier: GPL-2.0-only
/*
 * family.c - each entry point of the family a known number of times, with known bytes.
 *
 *	family [ROUNDS]		default 101
 *
 * Per round 11 allocations of 2437 bytes and 11 frees (reallocarray on a block is one of each), 5
 * failures that tools see (posix_memalign with alignment 3, a calloc and a memalign too big, a valloc
 * and a pvalloc too big), one failure inside reallocarray, which calls nobody, and 3 free(NULL).
 */
#include <malloc.h>

#include "workload.h"

static volatile size_t huge = SIZE_MAX / 2;

NOINLINE static void fails(void)
{
	void *p = NULL;

	if (!posix_memalign(&p, 3, 100) || calloc(huge, 4) || memalign(64, huge) || valloc(huge) ||
	    pvalloc(huge) || reallocarray(keep(NULL), huge, 8))
		abort();
}

NOINLINE static void succeeds(void)
{
	void *p[10];
	int i;

	p[0] = malloc(0);
	p[1] = calloc(3, 29);				/* 87 */
	p[2] = memalign(256, 300);
	p[3] = aligned_alloc(8, 40);			/* alignment that malloc has anyway */
	p[4] = aligned_alloc(64, 640);
	if (posix_memalign(&p[5], 8, 50) || posix_memalign(&p[6], 4096, 70))
		abort();
	p[7] = valloc(500);
	p[8] = pvalloc(600);
	p[9] = reallocarray(keep(NULL), 5, 10);		/* 50 */
	p[9] = reallocarray(keep(p[9]), 10, 10);	/* 100 */
	for (i = 0; i < 10; i++)
		free(keep(p[i]));
	for (i = 0; i < 3; i++)
		free(keep(NULL));
}

int main(int argc, char **argv)
{
	long i, rounds = arg_long(argc, argv, 1, 101);

	for (i = 0; i < rounds; i++) {
		fails();
		succeeds();
	}
	return 0;
}
