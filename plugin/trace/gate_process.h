/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gate_process.h - windows of one process: attach, open, stay, shut, detach, and what came of it.
 * Only for the thread of window_gate.c.
 */
#ifndef PERF_CHURN_TRACE_GATE_PROCESS_H
#define PERF_CHURN_TRACE_GATE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

#include "bpf/control.h"
#include "budget.h"
#include "cpu_clock.h"
#include "window_gate.h"

/* Everything at one moment. */
struct gate_reading {
	__u64 time_ns;
	struct cpu_time cpu;
	struct churn_totals totals;
};

/**
 * struct gate_process - One process, or with -a all.
 * @images: Their numbers; probes are attached in each.
 * @on: Probes stay until the account is overdrawn.
 * @from_before: It ran when the recording began.
 * @end: When the last window ended, or the process was added.
 * @paid: Up to here CPU time and costs were put to the account.
 * @open: When the window was opened.
 * @hits_per_s: Counted lately, a second of the recording.
 * @due_ns: When to look after it next.
 */
struct gate_process {
	pid_t pid;
	size_t *images;
	size_t nr_images;
	struct cpu_clock *clock;
	struct budget budget;
	bool on, had_window, from_before;
	double random;
	__u64 born_ns;
	struct gate_reading end, paid, open;
	__u64 probed_start_ns;
	double hits_per_s;
	__u64 due_ns;
};

struct gate_tools {
	struct probes *probes;
	const struct window_gate_opts *opts;
	double cost_factor;	/* what a hit costs now, against the calibration */
	double cost_error;
	double edge_error_ns;	/* what opening and shutting may take out of a window */
	double stall_ns;
};

/** gate_process__init() - Return: 0, -ESRCH when it is gone, or another negative errno, printed. */
int gate_process__init(struct gate_process *p, const struct gate_tools *t, pid_t pid, bool loan);
void gate_process__exit(struct gate_process *p);

/** gate_process__read() - Clock and counters, now. */
void gate_process__read(const struct gate_process *p, const struct gate_tools *t,
			struct gate_reading *ret);

/** gate_process__pay() - Put what has passed since the last time to the account. */
void gate_process__pay(struct gate_process *p, const struct gate_tools *t,
		       const struct gate_reading *now);

/**
 * gate_process__look() - A whole window; the probes may stay afterwards (@p->on).
 * @period: Sampling period in it.
 * @ret: What it has counted.
 *
 * Return: 0, -ESRCH when the process is gone, or another negative errno, printed.
 */
int gate_process__look(struct gate_process *p, const struct gate_tools *t,
		       const struct budget_plan *plan, __u64 period, struct churn_window *ret);

/** gate_process__glance() - A window of 1 ms; its calls, hits, CPU time and cost are added to @sum. */
int gate_process__glance(struct gate_process *p, const struct gate_tools *t, __u64 period,
			 struct churn_window *sum);

/** gate_process__report_on() - What probes that stay have counted since the last report. */
void gate_process__report_on(struct gate_process *p, const struct gate_tools *t, __u64 period,
			     struct churn_window *ret);

/** gate_process__switch_off() - They go. */
void gate_process__switch_off(struct gate_process *p, const struct gate_tools *t, __u64 period,
			      struct churn_window *ret);

/** gate_process__report_rest() - Time since the last window, which none will stand for. */
void gate_process__report_rest(struct gate_process *p, const struct gate_tools *t,
			       struct churn_window *ret);

#endif /* PERF_CHURN_TRACE_GATE_PROCESS_H */
