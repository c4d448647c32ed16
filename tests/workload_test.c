// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that we launch.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "kselftest_harness.h"
#include "target/process.h"
#include "target/workload.h"
#include "util/msg.h"

FIXTURE(workload) {
	char dir[64];
	char path[128];
	struct workload *w;
	int status;
};

FIXTURE_SETUP(workload)
{
	strcpy(self->dir, "/tmp/target_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/out", self->dir);
	setenv("PATH", "/usr/bin:/bin", 1);
	self->w = NULL;
	self->status = -1;
	/* Errors that we provoke are not for the reader's eyes. */
	msg__set_verbose(-2);
}

FIXTURE_TEARDOWN(workload)
{
	char command[128];

	workload__free(self->w);
	snprintf(command, sizeof(command), "/bin/rm -rf '%s'", self->dir);
	EXPECT_EQ(0, system(command));
}

#define LAUNCH(...)	workload__new((char *[]){ __VA_ARGS__, NULL }, &self->w)

static bool poll_for(struct workload *w, int *status, int ms)
{
	for (; ms > 0; ms -= 5) {
		if (workload__poll(w, status))
			return true;
		usleep(5000);
	}
	return workload__poll(w, status);
}

TEST_F(workload, waits_for_the_start)
{
	ASSERT_EQ(0, LAUNCH("/usr/bin/touch", self->path));
	EXPECT_LT(0, workload__pid(self->w));
	usleep(50000);
	EXPECT_EQ(-1, access(self->path, F_OK));
	EXPECT_FALSE(workload__poll(self->w, &self->status));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	EXPECT_EQ(0, self->status);
	EXPECT_EQ(0, access(self->path, F_OK));
	EXPECT_EQ(-EALREADY, workload__start(self->w));
}

TEST_F(workload, runs_under_the_announced_pid)
{
	char command[256], text[32] = "";
	int fd;

	snprintf(command, sizeof(command), "echo $$ > %s", self->path);
	ASSERT_EQ(0, LAUNCH("sh", "-c", command));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	fd = open(self->path, O_RDONLY);
	ASSERT_LT(0, read(fd, text, sizeof(text) - 1));
	EXPECT_EQ(workload__pid(self->w), atoi(text));
	close(fd);
}

TEST_F(workload, status_is_kept)
{
	ASSERT_EQ(0, LAUNCH("sh", "-c", "exit 23"));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	self->status = -1;
	ASSERT_TRUE(workload__poll(self->w, &self->status));
	EXPECT_TRUE(WIFEXITED(self->status));
	EXPECT_EQ(23, WEXITSTATUS(self->status));
}

TEST_F(workload, command_is_missing)
{
	ASSERT_EQ(0, LAUNCH("no-such-command-anywhere"));
	EXPECT_EQ(-ENOENT, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	EXPECT_EQ(127, WEXITSTATUS(self->status));
}

TEST_F(workload, command_is_not_executable)
{
	write_file(self->path, 0644, "text");
	ASSERT_EQ(0, LAUNCH(self->path));
	EXPECT_EQ(-EACCES, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	EXPECT_EQ(126, WEXITSTATUS(self->status));
}

TEST_F(workload, command_is_a_script)
{
	write_file(self->path, 0755, "#!/bin/sh\nexit 7\n");
	ASSERT_EQ(0, LAUNCH(self->path));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	EXPECT_EQ(7, WEXITSTATUS(self->status));
}

TEST_F(workload, exits_when_freed_before_the_start)
{
	pid_t pid;

	ASSERT_EQ(0, LAUNCH("/usr/bin/touch", self->path));
	pid = workload__pid(self->w);
	workload__free(self->w);
	self->w = NULL;
	EXPECT_EQ(-1, kill(pid, 0));
	EXPECT_EQ(-1, access(self->path, F_OK));
	workload__free(NULL);
}

/* Launch from a process that then kills itself; tell the workload's pid by a pipe. */
static pid_t launch_and_die(char **argv, bool start)
{
	struct workload *w;
	int fds[2];
	pid_t pid, recorder, ret = 0;

	if (pipe2(fds, O_CLOEXEC))
		abort();
	recorder = fork();
	if (!recorder) {
		if (workload__new(argv, &w) || (start && workload__start(w)))
			abort();
		pid = workload__pid(w);
		if (write(fds[1], &pid, sizeof(pid)) != sizeof(pid))
			abort();
		raise(SIGKILL);
	}
	if (read(fds[0], &ret, sizeof(ret)) != sizeof(ret))
		abort();
	waitpid(recorder, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	return ret;
}

static bool ends_in(pid_t pid, int ms)
{
	pid_t tgid;

	for (; ms > 0; ms -= 5) {
		if (process__check(pid, &tgid))
			return true;
		usleep(5000);
	}
	return false;
}

TEST_F(workload, exits_when_the_recorder_is_killed_before_the_start)
{
	char *argv[] = { "/usr/bin/touch", self->path, NULL };
	pid_t pid = launch_and_die(argv, false);

	EXPECT_TRUE(ends_in(pid, 5000));
	EXPECT_EQ(-1, access(self->path, F_OK));
}

TEST_F(workload, lives_on_when_the_recorder_is_killed_after_it)
{
	char *argv[] = { "/bin/sleep", "60", NULL };
	pid_t pid = launch_and_die(argv, true);

	EXPECT_FALSE(ends_in(pid, 200));
	EXPECT_EQ(0, kill(pid, SIGKILL));
}

TEST_F(workload, has_default_signals)
{
	sigset_t all;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	ASSERT_EQ(0, LAUNCH("sh", "-c", "kill -USR1 $$; exit 0"));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	ASSERT_TRUE(WIFSIGNALED(self->status));
	EXPECT_EQ(SIGUSR1, WTERMSIG(self->status));
}

TEST_F(workload, ignores_hangup_under_nohup)
{
	signal(SIGHUP, SIG_IGN);
	ASSERT_EQ(0, LAUNCH("sh", "-c", "kill -HUP $$; exit 5"));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	EXPECT_EQ(5, WEXITSTATUS(self->status));
}

TEST_F(workload, has_no_descriptors_of_ours)
{
	/* The harness has some of its own. */
	for (int fd = 3; fd < 64; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	ASSERT_EQ(0, LAUNCH("/bin/sh", "-c",
			    "for i in 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$i ] || exit $i; done"));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	EXPECT_EQ(0, WEXITSTATUS(self->status));
}

TEST_F(workload, is_killed)
{
	ASSERT_EQ(0, LAUNCH("/bin/sleep", "100"));
	ASSERT_EQ(0, workload__start(self->w));
	workload__kill(self->w);
	ASSERT_TRUE(workload__poll(self->w, &self->status));
	EXPECT_EQ(SIGTERM, WTERMSIG(self->status));
	workload__kill(self->w);
}

TEST_F(workload, is_killed_while_stopped)
{
	ASSERT_EQ(0, LAUNCH("/bin/sleep", "100"));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_EQ(0, kill(workload__pid(self->w), SIGSTOP));
	workload__kill(self->w);
	ASSERT_TRUE(workload__poll(self->w, &self->status));
	EXPECT_EQ(SIGTERM, WTERMSIG(self->status));
}

TEST_F(workload, was_killed_before_the_start)
{
	ASSERT_EQ(0, LAUNCH("/bin/sleep", "100"));
	ASSERT_EQ(0, kill(workload__pid(self->w), SIGKILL));
	usleep(20000);
	EXPECT_EQ(0, workload__start(self->w));
	ASSERT_TRUE(poll_for(self->w, &self->status, 5000));
	EXPECT_EQ(SIGKILL, WTERMSIG(self->status));
}

static void ignore_signal(int sig)
{
	(void)sig;
}

TEST_F(workload, that_does_not_die_is_left_at_a_signal)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	struct itimerspec after = { .it_value = { .tv_nsec = 100 * 1000 * 1000 } };
	timer_t timer;
	pid_t pid;

	sigaction(SIGALRM, &action, NULL);
	ASSERT_EQ(0, LAUNCH("sh", "-c", "trap '' TERM; : > $0; while :; do sleep 0.1; done", self->path));
	ASSERT_EQ(0, workload__start(self->w));
	while (access(self->path, F_OK))
		usleep(5000);
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, NULL, &timer));
	ASSERT_EQ(0, timer_settime(timer, 0, &after, NULL));
	workload__kill(self->w);
	EXPECT_FALSE(workload__poll(self->w, &self->status));
	pid = workload__pid(self->w);
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_TRUE(poll_for(self->w, &self->status, 5000));
}

TEST_F(workload, reaped_by_somebody_else_has_ended)
{
	ASSERT_EQ(0, LAUNCH("/bin/true"));
	ASSERT_EQ(0, workload__start(self->w));
	ASSERT_EQ(workload__pid(self->w), waitpid(-1, NULL, 0));
	EXPECT_TRUE(workload__poll(self->w, &self->status));
}


TEST_HARNESS_MAIN
