// SPDX-License-Identifier: GPL-2.0-only
/*
 * pairs.c - malloc and free at once, 32 bytes, nothing else: some 10 ns a pair.
 *
 *	pairs PAIRS
 *
 * Says "cpu_ns NS wall_ns NS ops PAIRS", without the start and the end of the process.
 */
#include "meter.h"

int main(int argc, char **argv)
{
	long i, nr = argc > 1 ? atol(argv[1]) : 1000000;
	struct meter start = meter_now();

	for (i = 0; i < nr; i++)
		free(keep(malloc(32)));
	return say_cost(start, nr);
}
