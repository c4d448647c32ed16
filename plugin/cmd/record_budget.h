/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_budget.h - a recording whose probes are on in windows: what each window's samples stand for,
 * and what all of them tell in the end.
 */
#ifndef PERF_CHURN_CMD_RECORD_BUDGET_H
#define PERF_CHURN_CMD_RECORD_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

struct gate_window;
struct hit_child;
struct probes;
struct record_budget;
struct record_opts;
struct window_gate;
struct window_result;

/**
 * record_budget__new() - Measure what hits cost; open nothing yet.
 * @child: From hit_child__new(); belongs to this from now on.
 * @tids, @nr_tids: The only threads to record, if any; copied.
 * @nr_cpus: CPUs recorded on.
 *
 * Return: 0 or a negative errno, printed.
 */
int record_budget__new(const struct record_opts *opts, struct probes *probes, struct hit_child *child,
		       const pid_t *tids, size_t nr_tids, int nr_cpus, struct record_budget **ret);
void record_budget__free(struct record_budget *b);

/** record_budget__look() - Say what probes would cost that are on all the time. Return: 0 or an errno. */
int record_budget__look(struct record_budget *b);

/** record_budget__gate() - Opens the windows. */
struct window_gate *record_budget__gate(struct record_budget *b);

/** record_budget__take() - Take the next window that is over. Return: 1, 0 when there is none, -ENOMEM. */
int record_budget__take(struct record_budget *b, struct gate_window *ret);

/** record_budget__scale() - Raise a finished sample's weight to what its window makes it stand for. */
void record_budget__scale(const struct record_budget *b, __u64 sample_type, void *sample);

/** record_budget__result() - What all windows taken tell. */
void record_budget__result(const struct record_budget *b, struct window_result *ret);

#endif /* PERF_CHURN_CMD_RECORD_BUDGET_H */
