// SPDX-License-Identifier: GPL-2.0-only
/*
 * timed.c - run a command and say what it took: its own times, not those of the tool around it.
 *
 *	timed [-l LIBRARY] [-n VARIABLE=VALUE] FILE COMMAND...
 *	timed -r PID
 *
 * FILE gets the line "PID" when the command starts, and "CPU_NS WALL_NS STATUS" when it has ended:
 * user and system time of it and all it waited for; wall time since it was last continued. LIBRARY is
 * preloaded into the command, and only there. -r continues a stopped process and waits for its end.
 *
 * No call of the allocator: tools watch us, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ENV	4096

static char preload[4200];
static const char *extra;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int64_t tv_ns(struct timeval tv)
{
	return tv.tv_sec * 1000000000LL + tv.tv_usec * 1000LL;
}

static int fail(const char *what)
{
	char line[300];
	int bytes = snprintf(line, sizeof(line), "timed: %s: %s\n", what, strerror(errno));

	return write(2, line, bytes) == bytes ? 125 : 126;
}

static void say(int fd, const char *line, int bytes)
{
	if (write(fd, line, bytes) != bytes)
		_exit(fail("cannot write"));
}

static void execute(char **argv)
{
	static char *env[MAX_ENV];
	size_t nr = 0;
	char **e;

	/* First, or the loader's search goes by what the tool has set. */
	if (preload[0])
		env[nr++] = preload;
	if (extra)
		env[nr++] = (char *)extra;
	for (e = environ; *e && nr < MAX_ENV - 1; e++) {
		if (!preload[0] || strncmp(*e, "LD_PRELOAD=", 11))
			env[nr++] = *e;
	}
	execvpe(argv[0], argv, env);
	_exit(fail(argv[0]));
}

static int await(pid_t pid, int fd, int64_t start_ns)
{
	struct rusage ru;
	char line[96];
	int status;

	do {
		if (wait4(pid, &status, WCONTINUED, &ru) < 0)
			return fail("cannot wait");
		if (WIFCONTINUED(status))
			start_ns = now_ns();
	} while (WIFCONTINUED(status));
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	say(fd, line, snprintf(line, sizeof(line), "%lld %lld %d\n",
			       (long long)(tv_ns(ru.ru_utime) + tv_ns(ru.ru_stime)),
			       (long long)(now_ns() - start_ns), status));
	return status;
}

static int run(const char *path, char **argv)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int64_t start_ns = now_ns();
	char line[32];
	pid_t pid;

	if (fd < 0)
		return fail(path);
	/* The end of the command is ours to tell, also when the terminal's Ctrl-C ends it. */
	pid = fork();
	if (pid < 0)
		return fail("cannot fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execute(argv);
	}
	signal(SIGINT, SIG_IGN);
	say(fd, line, snprintf(line, sizeof(line), "%d\n", pid));
	return await(pid, fd, start_ns);
}

static int release(pid_t pid)
{
	struct pollfd end = { .events = POLLIN };

	end.fd = syscall(SYS_pidfd_open, pid, 0);
	if (end.fd < 0 || kill(pid, SIGCONT))
		return fail("cannot continue the process");
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	return 0;
}

int main(int argc, char **argv)
{
	long pid;
	int c;

	while ((c = getopt(argc, argv, "+l:n:r:")) != -1) {
		if (c == 'r' && sscanf(optarg, "%ld", &pid) == 1)
			return release(pid);
		if (c == 'l')
			snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", optarg);
		else if (c == 'n')
			extra = optarg;
		else
			return 125;
	}
	if (argc - optind < 2)
		return 125;
	return run(argv[optind], argv + optind + 1);
}
