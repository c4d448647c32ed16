// SPDX-License-Identifier: GPL-2.0-only
/*
 * status.c - ends as told: "status exit N", "status signal N", or "status sleep SECONDS" (0 unless
 * SIGTERM or SIGINT ends it). Makes one allocation first.
 */
#include <signal.h>

#include "workload.h"

int main(int argc, char **argv)
{
	long n = arg_long(argc, argv, 2, 0);

	keep(malloc(11));
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "signal"))
		raise(n);
	if (!strcmp(argv[1], "sleep")) {
		sleep_ns(n * 1000000000ULL);
		return 0;
	}
	return n;
}
