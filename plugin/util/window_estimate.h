/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * window_estimate.h - from windows in which calls were counted to what a whole recording did. Pure.
 *
 * In a window the program runs slowly, since hits cost CPU time: its rate is the count over the CPU time
 * without that cost, which is known to some per cent. Rates are averaged over windows, not counts over
 * time: a window of given length sees less of a program where it allocates more. The average times the
 * CPU time of the process, less all cost, is the estimate. What it scatters over windows, and what the
 * cost of a hit may be off, make the interval.
 */
#ifndef PERF_CHURN_UTIL_WINDOW_ESTIMATE_H
#define PERF_CHURN_UTIL_WINDOW_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "bpf/churn.h"

struct window_estimate;

/** enum window_count - What is estimated. */
enum window_count {
	WINDOW_ALLOCS,
	WINDOW_BYTES,
	WINDOW_FREES,
	WINDOW_COUNTS,
};

/**
 * struct window_range - An estimate, and where the truth is 19 times in 20.
 * @error: Standard error of @value, for combining it with others.
 */
struct window_range {
	double value, low, high, error;
};

/**
 * struct window_result - What windows tell.
 * @is_sampled: There were windows, with time in between; else everything was counted.
 * @is_off: No probes were wanted.
 * @at_least: Nothing is known upwards: @low holds.
 * @ranges: With counts of probes that stayed on.
 * @cpu_ns: CPU time of all processes; 0: not known.
 * @seen_ns: Of it, with an open window.
 * @cost_ns, @cost_err_ns: Of it, the probes' cost, all included.
 * @has_cost: The last three are known.
 * @nr_windows: That were opened.
 * @longest_ns: The longest of them.
 */
struct window_result {
	bool is_sampled, at_least, has_cost, is_off;
	struct window_range ranges[WINDOW_COUNTS];
	double cpu_ns, seen_ns, cost_ns, cost_err_ns;
	double budget;
	__u64 nr_windows, longest_ns;
};

int window_estimate__new(struct window_estimate **ret);
void window_estimate__free(struct window_estimate *e);

/**
 * window_estimate__add() - A churn:window.
 * @pid: Process it is of.
 */
int window_estimate__add(struct window_estimate *e, __u32 pid, const struct churn_window *w);

/** window_estimate__finish() - All are in. */
void window_estimate__finish(const struct window_estimate *e, struct window_result *ret);

/**
 * window_factor() - What a call counted in a sampled window stands for, as far as can be told then.
 *
 * Time without windows over time with them, times CPU time over that without cost.
 * Return: At least 1; 1 for windows that stand for themselves.
 */
double window_factor(const struct churn_window *w);

/** window_is_dense() - More than half of its CPU time was cost: no telling how fast the program is. */
bool window_is_dense(const struct churn_window *w);

#endif /* PERF_CHURN_UTIL_WINDOW_ESTIMATE_H */
