/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * term.h - what only a terminal gets: a pager, colour, a progress bar.
 */
#ifndef PERF_CHURN_VIEW_TERM_H
#define PERF_CHURN_VIEW_TERM_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * term__begin_output() - Start the pager where standard output is a terminal, as perf does.
 * @pager: false: no pager.
 *
 * Return: whether colour is wanted.
 */
bool term__begin_output(bool pager);

/** struct term_progress - Zero it to begin with. */
struct term_progress {
	__u64 start_ns;
	__u64 last_ns;
	bool off;
};

/**
 * term__progress() - Draw the bar on standard error, if that is a terminal and the read takes
 * longer than half a second.
 */
void term__progress(struct term_progress *p, __u64 done, __u64 total);

/** term__end_progress() - Take the bar away. */
void term__end_progress(struct term_progress *p);

#endif /* PERF_CHURN_VIEW_TERM_H */
