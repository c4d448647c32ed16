/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * window_gate.h - opens and closes windows on processes, each under a budget of its own.
 *
 * Attaching and detaching wait for the kernel, so a thread does it, one window after the other. What
 * windows have counted is queued for the recording; the samples of a window must stay in their rings
 * until it is known there what it stands for.
 */
#ifndef PERF_CHURN_TRACE_WINDOW_GATE_H
#define PERF_CHURN_TRACE_WINDOW_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

#include "bpf/churn.h"

struct hit_child;
struct probes;
struct window_gate;

/**
 * struct window_gate_opts - How windows are opened.
 * @budget: Part of a process's CPU time, like 0.03; 0: no probes at all.
 * @period: As in struct probes_opts; 0: adapt to @samples_per_s.
 * @system_wide: One gate for all processes; they are added as -1.
 * @tids, @nr_tids: Only these threads, if any.
 * @cpus, @nr_cpus: Only these CPUs, if any.
 * @child: Measures what hits cost.
 */
struct window_gate_opts {
	double budget;
	__u64 period, samples_per_s;
	bool system_wide;
	const pid_t *tids;
	size_t nr_tids;
	const int *cpus;
	size_t nr_cpus;
	struct hit_child *child;
};

/**
 * window_gate__new() - Measure what hits cost, and tell the probes; nothing is opened yet.
 *
 * Return: 0 or a negative errno, printed.
 */
int window_gate__new(const struct window_gate_opts *opts, struct probes *probes,
		     struct window_gate **ret);

/** window_gate__free() - Stops. The probes must outlive this. */
void window_gate__free(struct window_gate *g);

/**
 * window_gate__add() - An image that a process has mapped. From any thread.
 * @index: From probes__add_image().
 */
int window_gate__add(struct window_gate *g, pid_t pid, size_t index);

/** window_gate__fork() - @pid is a child of @ppid: it has what that has. */
int window_gate__fork(struct window_gate *g, pid_t pid, pid_t ppid);

/** window_gate__remove() - A process has ended. */
void window_gate__remove(struct window_gate *g, pid_t pid);

/**
 * window_gate__glance() - In place of starting: a few short windows on what was added.
 * @ret: Sums: calls, hits, CPU time, cost.
 *
 * Return: 0 or a negative errno, printed.
 */
int window_gate__glance(struct window_gate *g, struct churn_window *ret);

/** window_gate__start() - Begin to open windows. */
int window_gate__start(struct window_gate *g);

/** window_gate__stop() - Close what is open; queue what it has counted, and what was left after it. */
void window_gate__stop(struct window_gate *g);

/**
 * window_gate__lock() - Keep the next window from opening.
 *
 * Return: true if none is open whose samples may not be taken yet.
 */
bool window_gate__lock(struct window_gate *g);
void window_gate__unlock(struct window_gate *g);

/**
 * struct gate_window - What is to be written.
 * @pid: Process, for -a any that was hit; @ip a probed address in it.
 * @stays_on: The probes are on after it, too.
 */
struct gate_window {
	pid_t pid;
	__u64 ip;
	bool stays_on;
	struct churn_window window;
};

/** window_gate__next() - Take the oldest. Return: false when there is none. */
bool window_gate__next(struct window_gate *g, struct gate_window *ret);

#endif /* PERF_CHURN_TRACE_WINDOW_GATE_H */
