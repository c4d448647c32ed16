/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * budget.h - when to open the next window on a process, how long, and what it may cost. Pure.
 *
 * An account: a share of the CPU time that the process takes is paid in, what probes cost it is paid
 * out. A window opens when the account covers what it is expected to cost. A program whose hits fit
 * the budget at all times keeps its probes; a debt that a burst has left is paid off first.
 */
#ifndef PERF_CHURN_TRACE_BUDGET_H
#define PERF_CHURN_TRACE_BUDGET_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * struct budget - One process, or all of them with -a.
 * @share: Of the CPU time, what is planned with: less than what the user allows, for all that is not
 *	exactly known.
 * @balance_ns: What may be spent.
 * @cpus: CPUs that the process keeps busy, lately: over @seen_ns.
 * @density: Cost of probes that are on, in ns per ns of CPU time without them; < 0: not known.
 * @stall_ns: What attaching and detaching once costs.
 */
struct budget {
	double share;
	double balance_ns;
	double cpus, seen_ns;
	double density;
	double stall_ns;
};

/**
 * budget__init() - Nothing is known.
 * @share: The user's budget, like 0.03.
 * @stall_ns: What attaching and detaching once costs the process.
 * @loan: The first window may be opened at once, and is paid for later.
 */
void budget__init(struct budget *b, double share, double stall_ns, bool loan);

/** budget__pass() - So much time has passed, in which the process took so much CPU time. */
void budget__pass(struct budget *b, __u64 wall_ns, __u64 cpu_ns);

/** budget__spend() - Probes have cost the process so much. */
void budget__spend(struct budget *b, __u64 cost_ns);

/**
 * budget__learn() - What a window has shown.
 * @cpu_ns: CPU time of the process in it, cost included.
 * @cost_ns: Of its hits.
 */
void budget__learn(struct budget *b, __u64 cpu_ns, __u64 cost_ns);

/**
 * struct budget_plan - The next window.
 * @wait_ns: Until then; ask again when that has passed.
 * @window_ns: How long to stay; 0: not yet, ask again after @wait_ns.
 */
struct budget_plan {
	__u64 wait_ns, window_ns;
};

/**
 * budget__plan() - Plan the next window.
 * @since_ns: Time since the last one ended.
 * @random: From 0 to 1: windows must not run in step with the program.
 */
void budget__plan(const struct budget *b, __u64 since_ns, double random, struct budget_plan *ret);

/** budget__keeps_on() - After a window like this, may the probes stay? */
bool budget__keeps_on(const struct budget *b, __u64 cpu_ns, __u64 cost_ns);

/** budget__is_overdrawn() - Probes that have stayed must go. */
bool budget__is_overdrawn(const struct budget *b);

#endif /* PERF_CHURN_TRACE_BUDGET_H */
