/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * touch.h - whose fresh memory a page fault outside the allocator is on, as far as stacks tell.
 *
 * Blocks of a page or more are first touched by the program, as a rule in the function that
 * allocates them, in one that it calls, or in one that the function's caller calls. So from the
 * fault outwards the first function that allocates such blocks itself, or calls one that does, names the
 * sites; of several each has its part by bytes. Where there is none, nobody knows.
 */
#ifndef PERF_CHURN_CHURN_TOUCH_H
#define PERF_CHURN_CHURN_TOUCH_H

#include <stdbool.h>
#include <linux/types.h>

#include "mixes.h"

/** TOUCH_MIN_BYTES - Smaller blocks are mostly touched first by the allocator's own headers. */
#define TOUCH_MIN_BYTES	4096

/** struct touch - Zero it to begin with. @own: functions that allocate; @callers: theirs. */
struct touch {
	struct places functions;
	struct mix_table own, callers;
};

/** touch__add() - Large blocks were allocated on this stack. Return: 0 or -ENOMEM. */
int touch__add(struct touch *t, const struct stacks *stacks, __u32 stack, __u32 site, __u64 nr,
	       double bytes);
void touch__sort(struct touch *t);
void touch__exit(struct touch *t);

/** touch__find() - For a fault's user stack. Return: false when not known. */
bool touch__find(const struct touch *t, const struct stacks *stacks, __u32 stack, struct mix *ret);

#endif /* PERF_CHURN_CHURN_TOUCH_H */
