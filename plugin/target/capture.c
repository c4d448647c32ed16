// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"

#define MAX_TEXT_BYTES	(1 << 20)
#define REAP_STEP_MS	2

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

static int spawn_with_files(const char * const *argv, const posix_spawn_file_actions_t *files,
			    pid_t *ret)
{
	posix_spawnattr_t attr;
	sigset_t signals;
	int err;

	posix_spawnattr_init(&attr);
	sigemptyset(&signals);
	posix_spawnattr_setsigmask(&attr, &signals);
	sigfillset(&signals);
	posix_spawnattr_setsigdefault(&attr, &signals);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn(ret, argv[0], files, &attr, (char * const *)argv, environ);
	posix_spawnattr_destroy(&attr);
	return -err;
}

static int spawn(const char * const *argv, int stdout_fd, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	int err;

	posix_spawn_file_actions_init(&files);
	err = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ?:
	      posix_spawn_file_actions_adddup2(&files, stdout_fd, STDOUT_FILENO) ?:
	      posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = err ? -err : spawn_with_files(argv, &files, ret);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

/* Return: Bytes read, 0 at the end, or a negative errno. */
static ssize_t read_until(int fd, char *buf, size_t nr_bytes, long deadline_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	long left_ms = deadline_ms - now_ms();
	ssize_t ret;

	if (left_ms <= 0)
		return -ETIMEDOUT;
	ret = poll(&poll_fd, 1, left_ms);
	if (ret > 0)
		ret = read(fd, buf, nr_bytes);
	else if (!ret)
		return -ETIMEDOUT;
	return ret < 0 ? -errno : ret;
}

static int read_all(int fd, char *text, long deadline_ms)
{
	size_t nr_bytes = 0;
	ssize_t nr_read;

	for (;;) {
		nr_read = read_until(fd, text + nr_bytes, MAX_TEXT_BYTES - nr_bytes, deadline_ms);
		if (nr_read == -EINTR)
			continue;
		if (nr_read <= 0)
			break;
		nr_bytes += nr_read;
		if (nr_bytes == MAX_TEXT_BYTES)
			return -EFBIG;
	}
	text[nr_bytes] = '\0';
	return nr_read;
}

static int reap_until(pid_t pid, long deadline_ms)
{
	int status;

	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended < 0 && errno != EINTR)
			return -errno;
		if (ended == pid)
			return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EPROTO;
		if (now_ms() >= deadline_ms)
			return -ETIMEDOUT;
		poll(NULL, 0, REAP_STEP_MS);
	}
}

static int finish(pid_t pid, int err, long deadline_ms)
{
	if (!err)
		err = reap_until(pid, deadline_ms);
	/* Otherwise it is reaped, or is not ours to reap. */
	if (err == -ETIMEDOUT || err == -EFBIG) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return err;
}

static int run(const char * const *argv, int timeout_ms, char *text)
{
	long deadline_ms = now_ms() + timeout_ms;
	int fds[2], err;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	err = spawn(argv, fds[1], &pid);
	close(fds[1]);
	if (!err) {
		err = read_all(fds[0], text, deadline_ms);
		err = finish(pid, err, deadline_ms);
	}
	close(fds[0]);
	return err;
}

int capture__run(const char * const *argv, int timeout_ms, char **ret)
{
	char *text = malloc(MAX_TEXT_BYTES + 1);
	int err = text ? run(argv, timeout_ms, text) : -ENOMEM;

	if (err) {
		free(text);
		return err;
	}
	*ret = text;
	return 0;
}
