// SPDX-License-Identifier: GPL-2.0-only
/*
 * inherited.c - a child frees 23 blocks that its parent allocated; the parent waits, then frees its own.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

#define NR	23

static void *blocks[NR];

NOINLINE static void free_all(void)
{
	int i;

	for (i = 0; i < NR; i++)
		free(blocks[i]);
}

int main(void)
{
	int i, status;

	for (i = 0; i < NR; i++)
		blocks[i] = keep(malloc(40));
	if (!fork()) {
		free_all();
		_exit(0);
	}
	wait(&status);
	free_all();
	return 0;
}
