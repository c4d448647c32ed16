// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"
#include "bpf/preload.h"
#include "hook_site.h"
#include "load.h"
#include "util/clock.h"

#define NR_HOOKS	2
#define NR_CALLS	100	/* of a batch */
#define NR_BATCHES	5	/* the fastest counts */
#define FIRES_NS	30	/* no trap is faster, no nop slower */
#define WORTH		0.9	/* it must cost at most so much of the other */

static double time_calls(void (*hook)(const struct preload_call *))
{
	static const struct preload_call nothing;
	__u64 start, ns, best = ~0ULL;
	int batch, i;

	for (batch = 0; batch < NR_BATCHES; batch++) {
		start = clock__now_ns();
		for (i = 0; i < NR_CALLS; i++)
			hook(&nothing);
		ns = clock__now_ns() - start;
		best = ns < best ? ns : best;
	}
	return (double)best / NR_CALLS;
}

/* The file's pages are enough: the hooks call nothing. Forked from a program with threads: no malloc. */
static void __attribute__((noreturn)) run_child(const struct attach_sites *sites, int go_fd, int ns_fd)
{
	size_t page_bytes = sysconf(_SC_PAGESIZE), i;
	int fd = open(sites->path, O_RDONLY | O_CLOEXEC);
	double ns[NR_HOOKS];
	char go;

	if (read(go_fd, &go, 1) != 1)
		_exit(1);
	for (i = 0; i < NR_HOOKS; i++) {
		unsigned long start = sites->offsets[i] & ~(page_bytes - 1);
		char *code = mmap(NULL, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, start);

		if (code == MAP_FAILED)
			_exit(1);
		ns[i] = time_calls((void (*)(const struct preload_call *))(code + (sites->offsets[i] - start)));
	}
	_exit(write(ns_fd, ns, sizeof(ns)) < 0);
}

static bool measure(pid_t child, int prog_fd, const struct attach_sites *sites, int go_fd, int ns_fd,
		    int *link_fd)
{
	double ns[NR_HOOKS];

	*link_fd = attach_multi(prog_fd, TRACE_UPROBE_MULTI, sites, child, false);
	return *link_fd >= 0 && write(go_fd, "", 1) == 1 && read(ns_fd, ns, sizeof(ns)) == sizeof(ns) &&
	       ns[1] > FIRES_NS && ns[1] < WORTH * ns[0];
}

static bool try_in_child(int prog_fd, const struct attach_sites *sites, const int *go, const int *ns,
			 int *link_fd)
{
	pid_t child = fork();
	bool faster;

	if (child < 0)
		return false;
	if (!child) {
		close(go[1]);
		run_child(sites, go[0], ns[1]);
	}
	faster = measure(child, prog_fd, sites, go[1], ns[0], link_fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return faster;
}

bool hook_site__fast_is_faster(int prog_fd, const struct attach_sites *sites, int *link_fd)
{
	int go[2], ns[2];
	bool faster;

	*link_fd = -1;
	if (sites->nr != NR_HOOKS || pipe2(go, O_CLOEXEC))
		return false;
	if (pipe2(ns, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return false;
	}
	faster = try_in_child(prog_fd, sites, go, ns, link_fd);
	close(go[0]);
	close(go[1]);
	close(ns[0]);
	close(ns[1]);
	return faster;
}
