// SPDX-License-Identifier: GPL-2.0-only
/*
 * vforker.c - children of vfork allocate in their parent's memory, and the parent frees, as shells do.
 *
 *	vforker [NR]		default 23 children, of 7001 bytes each
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"


static void *volatile block;

int main(int argc, char **argv)
{
	volatile int n = argc > 1 ? atoi(argv[1]) : 23, i;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = vfork();
		if (!pid) {
			block = malloc(7001);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		free(block);
	}
	return 0;
}
