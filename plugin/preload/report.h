/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report.h - calls of the hook.
 */
#ifndef PERF_CHURN_PRELOAD_REPORT_H
#define PERF_CHURN_PRELOAD_REPORT_H

#include <linux/types.h>
#include <stdbool.h>

#include "hook.h"
#include "process.h"

/**
 * report__is_borrowed() - Is this a child of vfork, that uses the memory of the process that is
 * recorded? Then the hook must not be called: who is asked to listen to the parent does not hear
 * the child.
 */
bool report__is_borrowed(struct process *p);

/**
 * report__fill() - All of a call that does not depend on its kind, with the slot's counts.
 */
void report__fill(struct process *p, struct slot *slot, struct preload_call *call);

/* Not a function: it would be one more frame between the program and the hook. */
static inline __attribute__((always_inline)) void report__call(const struct process *p,
							       const struct preload_call *call)
{
	if (hook__has_fast() && !p->is_forked)
		perf_churn_hook_fast(call);
	else
		perf_churn_hook(call);
}

/**
 * report__totals() - Report what was counted, if anything.
 */
void report__totals(struct slot *slot);

/**
 * report__is_late() - Should the slot's counts be reported, since it was some time ago?
 */
bool report__is_late(const struct process *p, const struct slot *slot);

/**
 * report__all() - Report what all threads have counted.
 */
void report__all(void);

#endif /* PERF_CHURN_PRELOAD_REPORT_H */
