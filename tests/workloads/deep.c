// SPDX-License-Identifier: GPL-2.0-only
/*
 * deep.c - allocations at the bottom of a recursion.
 *
 *	deep [DEPTH [NR]]	default 100 and 50
 *
 * NR times: main -> dive (DEPTH frames of it) -> bottom_site -> malloc(72), freed by main.
 */
#include "workload.h"

NOINLINE static void *bottom_site(void)
{
	return keep(malloc(72));
}

NOINLINE static void *dive(long depth)
{
	void *p = depth > 1 ? dive(depth - 1) : bottom_site();

	return keep(p);
}

int main(int argc, char **argv)
{
	long i, depth = arg_long(argc, argv, 1, 100), nr = arg_long(argc, argv, 2, 50);

	for (i = 0; i < nr; i++)
		free(dive(depth));
	return 0;
}
