/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frames.h - whether the frame that allocated a block was still there when it was freed, as far as
 * two stacks can tell.
 *
 * They are the same from the outermost frame, with the same return addresses, down to a function
 * that both are in. That is one function called from one place: mostly one activation, but it may
 * be a later one, called again by the same loop. So a block that is kept, and freed by a later
 * call of the function that made it, looks as if it had been freed by the same. What tells them
 * apart is time: an activation's blocks are gone when it is, so on average a thread has no more of
 * them than there are activations; and of two that lived at the same time the younger goes first
 * (order.h). Advice asks for that, too.
 */
#ifndef PERF_CHURN_CHURN_FRAMES_H
#define PERF_CHURN_CHURN_FRAMES_H

#include <linux/types.h>

struct stacks;

/** enum frame_left - What was left of the stack that allocated; the more, the larger. */
enum frame_left {
	FRAME_LEFT_UNKNOWN,	/* a stack does not reach its thread's start */
	FRAME_LEFT_NONE,
	FRAME_LEFT_CALLER,	/* the site's caller, but not its function */
	FRAME_LEFT_OWN,		/* the site's function */
};

/**
 * frame_left() - Of the stack that ends at the site @site, when a block was freed at @stack, by
 * the same thread.
 */
enum frame_left frame_left(const struct stacks *s, __u32 site, __u32 stack);

#endif /* PERF_CHURN_CHURN_FRAMES_H */
