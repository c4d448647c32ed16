/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * windows.h - from running counters to churn:window records: what each process did since the last.
 */
#ifndef PERF_CHURN_TRACE_WINDOWS_H
#define PERF_CHURN_TRACE_WINDOWS_H

#include <sys/types.h>
#include <linux/types.h>

struct churn_totals;
struct churn_window;
struct windows;

/**
 * windows__new() - No window is open yet; the first begins at @start_ns.
 */
int windows__new(__u64 start_ns, struct windows **ret);
void windows__free(struct windows *w);

/** windows__begin() - The first windows begin at @start_ns instead. */
void windows__begin(struct windows *w, __u64 start_ns);

/** windows__add_gap() - A process ran, or may have run, for @gap_ns before it had probes. */
int windows__add_gap(struct windows *w, pid_t pid, __u64 gap_ns);

/**
 * windows__close() - Close the window of one process at @end_ns.
 * @totals: Its counters now.
 * @period: Sampling period in force.
 * @ret: Filled, common header included.
 *
 * Return: 1 when something was counted, and for the first window of each process; 0 when nothing
 * happened (@ret is not set), or -ENOMEM.
 */
int windows__close(struct windows *w, pid_t pid, __u64 end_ns, __u64 period,
		   const struct churn_totals *totals, struct churn_window *ret);

/** windows__forget() - A process has ended and its last window is closed. */
void windows__forget(struct windows *w, pid_t pid);

#endif /* PERF_CHURN_TRACE_WINDOWS_H */
