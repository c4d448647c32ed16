// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "cpu_clock.h"

#include "idle_clock.h"
#include "target/process.h"
#include "util/files.h"
#include "util/msg.h"

#define MAX_ROUNDS	5	/* threads start others while we list them */

struct clock_event {
	pid_t tid;
	int fd, user_fd;		/* user_fd -1: no such counter */
};

struct cpu_clock {
	struct clock_event *events;
	size_t nr;
	bool no_user;
	struct idle_clock *idle;	/* in place of events */
};

static int open_counter(__u32 type, __u64 config, pid_t tid, int cpu, bool inherit)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = PERF_ATTR_SIZE_VER7,
		.config = config,
		.inherit = inherit,
		.inherit_thread = inherit,
		.exclude_kernel = type == PERF_TYPE_HARDWARE,
		.exclude_hv = type == PERF_TYPE_HARDWARE,
	};
	int fd = syscall(__NR_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Instructions do not depend on the frequency, and a probe adds none in user mode. */
static int open_user_counter(pid_t tid, int cpu, bool inherit)
{
	int fd = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, tid, cpu, inherit);

	if (fd < 0)
		fd = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, tid, cpu, inherit);
	return fd;
}

static int add_event(struct cpu_clock *c, pid_t tid, int cpu, bool inherit)
{
	struct clock_event *grown = realloc(c->events, (c->nr + 1) * sizeof(*grown));
	struct clock_event *e;

	if (!grown)
		return -ENOMEM;
	c->events = grown;
	e = &grown[c->nr];
	e->tid = tid;
	e->fd = open_counter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, tid, cpu, inherit);
	if (e->fd < 0)
		return e->fd;
	e->user_fd = c->no_user ? -1 : open_user_counter(tid, cpu, inherit);
	if (e->user_fd < 0)
		c->no_user = true;
	c->nr++;
	return 0;
}

static bool has_thread(const struct cpu_clock *c, pid_t tid)
{
	size_t i;

	for (i = 0; i < c->nr; i++) {
		if (c->events[i].tid == tid)
			return true;
	}
	return false;
}

static int add_thread(struct cpu_clock *c, pid_t tid, const int *cpus, size_t nr_cpus, bool inherit)
{
	size_t i;
	int err;

	if (!nr_cpus)
		return add_event(c, tid, -1, inherit);
	for (i = 0; i < nr_cpus; i++) {
		err = add_event(c, tid, cpus[i], inherit);
		if (err)
			return err;
	}
	return 0;
}

/* Until no thread is new: later ones are inherited by those that are known. */
static int add_process(struct cpu_clock *c, pid_t pid, const int *cpus, size_t nr_cpus)
{
	size_t nr_tids, i, before;
	pid_t *tids;
	int err, round;

	for (round = 0; round < MAX_ROUNDS; round++) {
		before = c->nr;
		err = process__threads(pid, &tids, &nr_tids);
		if (err)
			return err;
		for (i = 0; i < nr_tids && (!err || err == -ESRCH); i++) {
			if (!has_thread(c, tids[i]))
				err = add_thread(c, tids[i], cpus, nr_cpus, true);
		}
		free(tids);
		if (err && err != -ESRCH)
			return err;
		if (c->nr == before)
			break;
	}
	return c->nr ? 0 : -ESRCH;
}

/* Of @tids, those that are the process's. */
static int add_chosen(struct cpu_clock *c, pid_t pid, const pid_t *tids, size_t nr_tids,
		      const int *cpus, size_t nr_cpus)
{
	char path[64];
	size_t i;
	int err;

	for (i = 0; i < nr_tids; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tids[i]);
		if (access(path, F_OK))
			continue;
		err = add_thread(c, tids[i], cpus, nr_cpus, false);
		if (err && err != -ESRCH)
			return err;
	}
	return c->nr ? 0 : -ESRCH;
}

int cpu_clock__new(pid_t pid, const pid_t *tids, size_t nr_tids, const int *cpus, size_t nr_cpus,
		   struct cpu_clock **ret)
{
	struct cpu_clock *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = nr_tids ? add_chosen(c, pid, tids, nr_tids, cpus, nr_cpus) :
			add_process(c, pid, cpus, nr_cpus);
	if (!err) {
		*ret = c;
		return 0;
	}
	cpu_clock__free(c);
	if (err == -EMFILE)
		files__say_too_many();
	else if (err != -ESRCH)
		pr_err("Process %d: cannot open its CPU clock: %s\n", pid, strerror(-err));
	return err;
}

int cpu_clock__new_all(struct probes *probes, struct cpu_clock **ret)
{
	struct cpu_clock *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->no_user = true;
	err = idle_clock__new(probes, &c->idle);
	if (err)
		free(c);
	else
		*ret = c;
	return err;
}

void cpu_clock__free(struct cpu_clock *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->nr; i++) {
		close(c->events[i].fd);
		if (c->events[i].user_fd >= 0)
			close(c->events[i].user_fd);
	}
	idle_clock__free(c->idle);
	free(c->events);
	free(c);
}

static __u64 read_counter(int fd)
{
	__u64 value;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

void cpu_clock__read(const struct cpu_clock *c, struct cpu_time *ret)
{
	size_t i;

	*ret = (struct cpu_time){0};
	if (c->idle)
		ret->cpu_ns = idle_clock__busy_ns(c->idle);
	for (i = 0; i < c->nr; i++) {
		ret->cpu_ns += read_counter(c->events[i].fd);
		if (!c->no_user)
			ret->user += read_counter(c->events[i].user_fd);
	}
}
