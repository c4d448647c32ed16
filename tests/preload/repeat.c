// SPDX-License-Identifier: GPL-2.0-only
/*
 * repeat.c - run a program many times with something preloaded that this one has not.
 *
 *	repeat NR LD_PRELOAD PROGRAM
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int nr = argc == 4 ? atoi(argv[1]) : -1, status;

	while (nr-- > 0) {
		if (!fork()) {
			setenv("LD_PRELOAD", argv[2], 1);
			execl(argv[3], argv[3], NULL);
			_exit(126);
		}
		if (wait(&status) < 0 || status)
			return 1;
	}
	return nr != -1;
}
