/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach.h - one set of uprobes in one process, as a file descriptor or several.
 */
#ifndef PERF_CHURN_TRACE_ATTACH_H
#define PERF_CHURN_TRACE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

struct attach_sites {
	const char *path;		/* opens here; no blanks in it */
	const unsigned long *offsets;	/* file offsets */
	const __u64 *cookies;		/* CHURN_COOKIE() */
	const unsigned long *counters;	/* file offsets of reference counters, NULL: none */
	size_t nr;
};

/** attach_has_return() - Do the programs want to see the call of a site return? */
bool attach_has_return(__u64 cookie);

/**
 * attach_multi() - A uprobe_multi link.
 * @prog_fd: Program loaded for BPF_TRACE_UPROBE_MULTI or _SESSION.
 * @attach_type: The same type.
 * @pid: Process id or 0 for all.
 * @on_return: Probe the return instead of the entry (not for sessions).
 *
 * Return: The link's fd or a negative errno. Prints nothing.
 */
int attach_multi(int prog_fd, int attach_type, const struct attach_sites *sites, pid_t pid,
		 bool on_return);

/* Trace events of one image in tracefs, each with a BPF program on it. */
struct trace_events;

/**
 * trace_events__new() - Define uprobe events for all sites, entry and return, in tracefs.
 * @entry_fd, @return_fd: Programs of type kprobe.
 * @group: Group of the events, must be ours alone.
 *
 * Nothing is planted until trace_events__open(). Return: 0 or a negative errno, printed.
 */
int trace_events__new(const char *group, const struct attach_sites *sites, int entry_fd,
		      int return_fd, struct trace_events **ret);
void trace_events__free(struct trace_events *t);

/**
 * trace_events__open() - Plant the probes in a task.
 * @tid: Thread id, or -1 for all tasks.
 * @inherit: And in all that it will clone and fork; else these are anchors, see attach_event.c.
 * @fds: Room for 2 x sites->nr descriptors.
 *
 * Return: Number of descriptors, -ESRCH, or a negative errno.
 */
int trace_events__open(struct trace_events *t, pid_t tid, bool inherit, int *fds);

/** trace_events__check() - Can events be defined? Return: 0, or why tracefs cannot be written to. */
int trace_events__check(void);

/** trace_events__sweep() - Remove the events of recorders that were killed with their guards. */
void trace_events__sweep(void);

/**
 * trace_events__guard() - Start a process that removes our events once we are gone, however.
 *
 * To be called before events, links and threads are made.
 *
 * Return: A descriptor that must stay open as long as events are wanted, or a negative errno.
 */
int trace_events__guard(void);

#endif /* PERF_CHURN_TRACE_ATTACH_H */
