// SPDX-License-Identifier: GPL-2.0-only
/*
 * mixed.c - allocations of all sizes: known numbers of each, spread evenly.
 *
 *	mixed		24000 blocks of 1 to 24 bytes, 24 of 3000, 8 of 100000, 2 of 100000000
 */
#include <stdlib.h>

#define NR_SMALL	24000

static void one(size_t size)
{
	void *volatile p = malloc(size);

	free(p);
}

int main(void)
{
	int i;

	for (i = 0; i < NR_SMALL; i++) {
		one(i % 24 + 1);
		if (i % 1000 == 500)
			one(3000);
		if (i % 3000 == 700)
			one(100000);
		if (i % 12000 == 800)
			one(100000000);
	}
	return 0;
}
