// SPDX-License-Identifier: GPL-2.0-only
/*
 * execer.c - a process that executes itself again.
 *
 *	execer [TIMES]		default 4
 *
 * Each of the TIMES + 1 images makes 101 allocations of 48 bytes and frees 50 of them; the other 51
 * die with the image. All in one process id.
 */
#include "workload.h"

NOINLINE static void image_site(void)
{
	void *p[101];
	int i;

	for (i = 0; i < 101; i++)
		p[i] = keep(malloc(48));
	for (i = 0; i < 50; i++)
		free(p[i]);
}

int main(int argc, char **argv)
{
	long times = arg_long(argc, argv, 1, 4);
	char arg[2] = "0";

	image_site();
	if (times <= 0)
		return 0;
	arg[0] = '0' + (times - 1) % 10;
	execl("/proc/self/exe", "execer", arg, NULL);
	return 127;
}
