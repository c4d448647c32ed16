// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uprobes through trace events: a line in tracefs' uprobe_events defines one, a perf event opened
 * on it for a task plants it there and, inherited, in whatever that task clones, forks and execs.
 * A BPF program linked to one perf event of the trace event runs for all of them. It is linked to a
 * *holder*, opened on the first task without inheriting: on recent kernels an inherited event takes
 * the program along and, when its thread exits, off the trace event (perf_event_alloc() copies
 * event->prog, freeing the copy detaches it). All perf events stay disabled; the probes work all
 * the same, and nothing is scheduled in and out at context switches.
 *
 * Where two tasks have inherited the same events, the kernel may swap their sets at a context switch
 * instead of switching events (context_equiv()), but an event goes on naming the task it was made
 * for, and by that name a uprobe decides whose address space it is in. When the task that holds the
 * event exits, a process that lives on loses its probes. So each process leader also gets *anchors*,
 * events opened on it and not inherited: they stay with it, and keep its set, and those of its
 * threads and children, from being swapped.
 *
 * The definitions would outlive a killed recorder (the breakpoints do not). So a guard, a process of
 * its own, waits for our end and sweeps up; and should it be killed, too, the group's name holds our
 * pid, and the next recorder sweeps away what belongs to the dead.
 */
#include <api/fs/tracing_path.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "attach.h"

#include "bpf/churn.h"
#include "bpf/control.h"
#include "util/msg.h"

#define GROUP_PREFIX	"perf_churn_"
#define GUARD_TRIES	300	/* a minute */

struct trace_event {
	char name[32];
	bool on_return;
	__u64 id;
	__u64 cookie;
	int prog_fd;
	int holder_fd, link_fd;		/* -1 until the first open */
};

struct trace_events {
	char group[64];
	struct trace_event *events;	/* entry, return, entry, return ...; no return of free */
	size_t nr;
};

static int open_tracing_file(const char *name, int flags)
{
	char *path;
	int fd;

	path = get_tracing_file(name);
	if (!path)
		return -ENOMEM;
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	put_tracing_file(path);
	return fd;
}

int trace_events__check(void)
{
	int fd = open_tracing_file("uprobe_events", O_WRONLY | O_APPEND);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int write_definition(const char *line)
{
	int fd = open_tracing_file("uprobe_events", O_WRONLY | O_APPEND);
	int err = 0;

	if (fd < 0)
		return fd;
	if (write(fd, line, strlen(line)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int define_event(const char *group, const char *name, bool on_return,
			const char *path, unsigned long offset)
{
	char line[512];

	snprintf(line, sizeof(line), "%c:%s/%s %s:0x%lx\n", on_return ? 'r' : 'p', group, name,
		 path, offset);
	return write_definition(line);
}

static int read_event_id(const char *group, const char *name, __u64 *id)
{
	char file[160], text[32];
	ssize_t n;
	int fd;

	snprintf(file, sizeof(file), "events/%s/%s/id", group, name);
	fd = open_tracing_file(file, O_RDONLY);
	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	*id = strtoull(text, NULL, 10);
	return 0;
}

static int open_event(__u64 id, pid_t tid, int cpu, bool inherit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = PERF_ATTR_SIZE_VER7,
		.config = id,
		.sample_period = 1,
		.disabled = 1,
		.inherit = inherit,
	};
	int fd;

	fd = syscall(__NR_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int link_program(int prog_fd, int event_fd, __u64 cookie)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = prog_fd;
	attr.link_create.target_fd = event_fd;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

static int make_event(struct trace_events *t, const struct attach_sites *sites, size_t site,
		      bool on_return, int prog_fd)
{
	struct trace_event *ev = &t->events[t->nr];
	int err;

	snprintf(ev->name, sizeof(ev->name), "%c%zu", on_return ? 'r' : 'p', site);
	ev->on_return = on_return;
	ev->cookie = sites->cookies[site];
	ev->prog_fd = prog_fd;
	ev->holder_fd = ev->link_fd = -1;
	err = define_event(t->group, ev->name, on_return, sites->path, sites->offsets[site]);
	if (err)
		return err;
	t->nr++;
	return read_event_id(t->group, ev->name, &ev->id);
}

int trace_events__new(const char *group, const struct attach_sites *sites, int entry_fd,
		      int return_fd, struct trace_events **ret)
{
	struct trace_events *t;
	size_t i;
	int err;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	snprintf(t->group, sizeof(t->group), GROUP_PREFIX "%d_%s", getpid(), group);
	t->events = calloc(2 * sites->nr, sizeof(*t->events));
	if (!t->events) {
		err = -ENOMEM;
		goto err_free;
	}
	for (i = 0; i < sites->nr; i++) {
		err = make_event(t, sites, i, false, entry_fd);
		if (!err && attach_has_return(sites->cookies[i]))
			err = make_event(t, sites, i, true, return_fd);
		if (err) {
			pr_err("%s: cannot make a uprobe event at offset 0x%lx: %s\n",
			       sites->path, sites->offsets[i], strerror(-err));
			goto err_free;
		}
	}
	*ret = t;
	return 0;

err_free:
	trace_events__free(t);
	return err;
}

static void undefine_event(const char *group, const char *name)
{
	char line[128];

	snprintf(line, sizeof(line), "-:%s/%s\n", group, name);
	write_definition(line);
}

void trace_events__free(struct trace_events *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->nr; i++) {
		if (t->events[i].link_fd >= 0)
			close(t->events[i].link_fd);
		if (t->events[i].holder_fd >= 0)
			close(t->events[i].holder_fd);
	}
	for (i = 0; i < t->nr; i++)
		undefine_event(t->group, t->events[i].name);
	free(t->events);
	free(t);
}

static int open_holder(struct trace_event *ev, pid_t tid)
{
	ev->holder_fd = open_event(ev->id, tid, tid == -1 ? 0 : -1, false);
	if (ev->holder_fd < 0)
		return ev->holder_fd;
	ev->link_fd = link_program(ev->prog_fd, ev->holder_fd, ev->cookie);
	if (ev->link_fd >= 0)
		return 0;
	close(ev->holder_fd);
	ev->holder_fd = -1;
	return ev->link_fd;
}

static int open_one(struct trace_event *ev, pid_t tid, bool inherit)
{
	int err = 0;

	if (ev->link_fd < 0)
		err = open_holder(ev, tid);
	if (err)
		return err;
	return open_event(ev->id, tid, tid == -1 ? 0 : -1, inherit && tid != -1);
}

static int open_kind(struct trace_events *t, pid_t tid, bool inherit, bool on_return, int *fds,
		     int *nr)
{
	size_t i;
	int fd;

	for (i = 0; i < t->nr; i++) {
		if (t->events[i].on_return != on_return)
			continue;
		fd = open_one(&t->events[i], tid, inherit);
		if (fd < 0)
			return fd;
		fds[(*nr)++] = fd;
	}
	return 0;
}

/* Returns first: an entry without its return would leave a call in flight, and lose it. */
int trace_events__open(struct trace_events *t, pid_t tid, bool inherit, int *fds)
{
	int nr = 0, err;

	err = open_kind(t, tid, inherit, true, fds, &nr) ?:
	      open_kind(t, tid, inherit, false, fds, &nr);
	while (err && nr)
		close(fds[--nr]);
	return err ?: nr;
}

/* A line of uprobe_events: "p:perf_churn_1234_0/p0 /path:0x..." Whose is it? 0: not ours. */
static pid_t parse_line(const char *line, char group[64], char name[32])
{
	char *end;
	long pid;

	if (sscanf(line, "%*c:%63[^/]/%31s", group, name) != 2)
		return 0;
	if (strncmp(group, GROUP_PREFIX, strlen(GROUP_PREFIX)))
		return 0;
	pid = strtol(group + strlen(GROUP_PREFIX), &end, 10);
	return pid > 0 && *end == '_' ? pid : 0;
}

static bool is_dead(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* Remove the events of one recorder, or (0) of all that are dead. Return: how many there were. */
static int sweep(pid_t whose)
{
	char group[64], name[32], *line = NULL;
	int fd = open_tracing_file("uprobe_events", O_RDONLY), nr = 0;
	size_t room = 0;
	FILE *file;
	pid_t pid;

	file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && getline(&line, &room, file) > 0) {
		pid = parse_line(line, group, name);
		if (!pid || (whose ? pid != whose : !is_dead(pid)))
			continue;
		undefine_event(group, name);
		nr++;
	}
	free(line);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return nr;
}

void trace_events__sweep(void)
{
	sweep(0);
}

/* Until the recorder is gone; then until the kernel has let go of its events, too. */
static void stand_guard(pid_t recorder, int end_fd)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	char byte;
	int tries;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	setsid();
	while (read(end_fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (tries = 0; sweep(recorder) && tries < GUARD_TRIES; tries++)
		nanosleep(&pause, NULL);
}

/* Only the pipe stays open: the guard must keep no event, link or output of ours alive. */
static void keep_only(int fd)
{
	dup2(fd, STDIN_FILENO);
	close_range(STDIN_FILENO + 1, ~0U, 0);
}

int trace_events__guard(void)
{
	pid_t recorder = getpid(), pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return -errno;
	}
	if (!pid) {
		keep_only(fds[0]);
		stand_guard(recorder, STDIN_FILENO);
		_exit(0);
	}
	close(fds[0]);
	return fds[1];
}
