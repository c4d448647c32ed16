// SPDX-License-Identifier: GPL-2.0-only
/*
 * forkers.c - children that allocate as soon as they exist.
 *
 *	forkers			fork only: 6 children and one grandchild each
 *	forkers exec		fork and exec: 4 children that run "forkers leaf I"
 *	forkers leaf I		1000 + I allocations of 40 bytes, all freed
 *
 * Child i makes 1000 + i allocations of 40 bytes at once after fork(), without a system call in
 * between, then frees them. The parent allocates 500 blocks before, which all children inherit: each
 * frees 100 of them (its own copies). A grandchild does as its parent did, with i + 100.
 */
#include <stdbool.h>
#include <sys/wait.h>

#include "workload.h"

#define NR_INHERITED	500
#define NR_CHILDREN	6
#define NR_EXECS	4

static void *inherited[NR_INHERITED];

NOINLINE static void child_site(int i)
{
	static void *p[2000];
	int nr = 1000 + i, j;

	for (j = 0; j < nr; j++)
		p[j] = keep(malloc(40));
	for (j = 0; j < nr; j++)
		free(p[j]);
}

static void free_inherited(void)
{
	int j;

	for (j = 0; j < 100; j++)
		free(inherited[j]);
}

static int reap_all(void)
{
	int status, failed = 0;

	while (wait(&status) > 0)
		failed |= !WIFEXITED(status) || WEXITSTATUS(status);
	return failed;
}

static void child(int i, bool with_child)
{
	child_site(i);
	if (with_child && !fork()) {
		child_site(i + 100);
		free_inherited();
		_exit(0);
	}
	free_inherited();
	_exit(reap_all());
}

static int fork_children(void)
{
	int i;

	for (i = 0; i < NR_INHERITED; i++)
		inherited[i] = keep(malloc(40));
	for (i = 0; i < NR_CHILDREN; i++) {
		if (!fork())
			child(i, true);
	}
	for (i = 0; i < NR_INHERITED; i++)
		free(inherited[i]);
	return reap_all();
}

static int exec_children(const char *self)
{
	char arg[2] = "0";
	int i;

	for (i = 0; i < NR_EXECS; i++) {
		arg[0] = '0' + i;
		if (!fork()) {
			execl(self, "forkers", "leaf", arg, NULL);
			_exit(127);
		}
	}
	return reap_all();
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return fork_children();
	if (argc == 2)
		return exec_children("/proc/self/exe");
	child_site(arg_long(argc, argv, 2, 0));
	return 0;
}
