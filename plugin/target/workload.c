// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launching goes as in perf's evlist__prepare_workload(): the child is forked early, so that
 * events and probes can be put on its process id, and waits until it may exec.
 *
 * One socket pair serves both ways. Parent to child: a byte means go, the end of the stream that
 * the parent has died. Child to parent: the errno of a failed exec, or the end of the stream, as a
 * successful exec closes the child's end. (A pipe would raise SIGPIPE for a child that was killed.)
 *
 * Between fork and exec the child allocates nothing, so no probe counts what is not the command's.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "images.h"
#include "loader.h"
#include "util/msg.h"
#include "workload.h"

/* As shells report a command that they could not run. */
#define EXIT_NOT_FOUND	127
#define EXIT_NOT_RUN	126

/*
 * @fd: Our end of the socket pair; -1 once the command runs.
 * @is_reaped: @status is final, @pid no longer ours.
 */
struct workload {
	char *name;
	pid_t pid;
	int fd;
	bool is_reaped;
	int status;
};

static void reset_signals(void)
{
	struct sigaction action;
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++) {
		/* Ignored only if we were started by nohup: the command has to survive, too. */
		if (sig == SIGHUP && !sigaction(sig, NULL, &action) &&
		    action.sa_handler == SIG_IGN)
			continue;
		signal(sig, SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static ssize_t recv_retry(int fd, void *buf, size_t nr_bytes)
{
	ssize_t ret;

	do {
		ret = recv(fd, buf, nr_bytes, MSG_WAITALL);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

static void __attribute__((noreturn)) run_child(int fd, char **argv)
{
	char go;
	int err;

	reset_signals();
	if (recv_retry(fd, &go, sizeof(go)) != sizeof(go))
		_exit(EXIT_NOT_RUN);
	execvp(argv[0], argv);
	err = errno;
	if (send(fd, &err, sizeof(err), MSG_NOSIGNAL) < 0)
		_exit(EXIT_NOT_RUN);
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

static int fork_child(struct workload *w, char **argv)
{
	int fds[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	w->pid = fork();
	if (w->pid < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (!w->pid) {
		close(fds[0]);
		run_child(fds[1], argv);
	}
	close(fds[1]);
	w->fd = fds[0];
	return 0;
}

int workload__new(char **argv, struct workload **ret)
{
	struct workload *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		return err;
	w->fd = -1;
	w->name = strdup(argv[0]);
	if (w->name)
		err = fork_child(w, argv);
	if (err) {
		pr_err("%s: cannot be launched: %s\n", argv[0], strerror(-err));
		w->is_reaped = true;
		workload__free(w);
		return err;
	}
	*ret = w;
	return 0;
}

static void close_socket(struct workload *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void reap(struct workload *w)
{
	int status = 0;

	/* A signal meant for us (a second Ctrl-C) ends the waiting, SIGCHLD must not. */
	if (!w->is_reaped && waitpid(w->pid, &status, 0) < 0 && errno == EINTR &&
	    waitpid(w->pid, &status, WNOHANG) == 0)
		return;
	if (!w->is_reaped)
		w->status = status;
	w->is_reaped = true;
}

void workload__free(struct workload *w)
{
	bool never_ran;

	if (!w)
		return;
	never_ran = w->fd >= 0;
	close_socket(w);
	/* It exits at once, now that the socket is closed. */
	if (never_ran)
		reap(w);
	free(w->name);
	free(w);
}

pid_t workload__pid(const struct workload *w)
{
	return w->pid;
}

int workload__start(struct workload *w)
{
	ssize_t nr_bytes;
	int err = 0;

	if (w->fd < 0)
		return -EALREADY;
	/* Fails only for a child that was killed: workload__poll() tells how. */
	if (send(w->fd, "", 1, MSG_NOSIGNAL) == 1) {
		nr_bytes = recv_retry(w->fd, &err, sizeof(err));
		if (nr_bytes != sizeof(err))
			err = 0;
	}
	close_socket(w);
	if (err)
		command__explain(w->name, -err);
	return -err;
}

bool workload__poll(struct workload *w, int *status)
{
	int now_status = 0;
	pid_t ended = 0;

	if (!w->is_reaped)
		ended = waitpid(w->pid, &now_status, WNOHANG);
	/* ECHILD: somebody else has waited for it; how it ended is lost. */
	if (ended == w->pid || (ended < 0 && errno == ECHILD)) {
		w->status = now_status;
		w->is_reaped = true;
	}
	if (w->is_reaped)
		*status = w->status;
	return w->is_reaped;
}

void workload__kill(struct workload *w)
{
	int status;

	if (workload__poll(w, &status))
		return;
	close_socket(w);
	kill(w->pid, SIGTERM);
	/* A stopped one would never see it. */
	kill(w->pid, SIGCONT);
	reap(w);
}

int workload__images(char **argv, struct process_image **ret, size_t *ret_nr)
{
	struct image_list list = {};
	char *path;
	int err = command__program(argv[0], &path);

	if (err)
		return err;
	err = loader__add_images(&list, path);
	free(path);
	if (err) {
		image_list__exit(&list);
		return err;
	}
	*ret = list.images;
	*ret_nr = list.nr_images;
	return 0;
}
