// SPDX-License-Identifier: GPL-2.0-only
/*
 * stacks - allocations below known call chains.
 *
 *	stacks alloc|burn [CASE]
 *
 * alloc makes the numbers of allocations that tests/data/stacks.txt lists, of the sizes listed there
 * (7000 to 7999 bytes, which nobody else asks for). burn spends 0.15 s of CPU time in malloc and free
 * in each of these places. Without CASE each runs in a process of its own. A process is named after its
 * case.
 */
#include <cstdio>
#include <cstring>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stacks.h"

/*
 * The recorder takes some ms to give a new process probes that it cannot lose to a child of its own
 * (Documentation/design.txt, anchors). That is not what is tested here.
 */
#define SETTLE_US	50000

bool burning;

static const struct stack_case *const groups[] = { frame_cases, jump_cases, process_cases };

STACK_FN void grab(size_t size, int count)
{
	spend(burning, size, count);
}

static const char *mode()
{
	return burning ? "burn" : "alloc";
}

void exec_case(const char *name)
{
	execl("/proc/self/exe", "stacks", mode(), name, (char *)nullptr);
}

static const struct stack_case *find_case(const char *name)
{
	for (const struct stack_case *group : groups)
		for (const struct stack_case *c = group; c->name; c++)
			if (!strcmp(c->name, name))
				return c;
	return nullptr;
}

static int spawn_case(const char *name)
{
	const char *argv[] = { "stacks", mode(), name, nullptr };
	int err, status;
	pid_t pid;

	err = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, (char **)argv, environ);
	if (err || waitpid(pid, &status, 0) != pid || status) {
		dprintf(2, "stacks: case %s failed\n", name);
		return 1;
	}
	return 0;
}

/* Names that begin with "after" are second halves. */
static int spawn_all()
{
	int failed = 0;

	for (const struct stack_case *group : groups)
		for (const struct stack_case *c = group; c->name; c++)
			if (strncmp(c->name, "after", 5))
				failed |= spawn_case(c->name);
	return failed;
}

int main(int argc, char **argv)
{
	const struct stack_case *c;
	int err;

	if (argc < 2)
		return 2;
	burning = !strcmp(argv[1], "burn");
	if (argc < 3)
		return spawn_all();
	c = find_case(argv[2]);
	if (!c)
		return 2;
	prctl(PR_SET_NAME, c->name);
	usleep(SETTLE_US);
	err = c->run();
	stay();
	return err;
}
