/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk.h - the walker of bpf/walk.h, run in this process over a copy of a stack.
 */
#ifndef PERF_CHURN_STACK_WALK_H
#define PERF_CHURN_STACK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "trace/walk_memory.h"

/**
 * struct walk_input - A stack to walk.
 * @mem, @proc: Tables, and the mappings of the process in them.
 * @copy: Registers and what else there is to know.
 * @stack, @stack_bytes: Memory from @copy->regs.sp on.
 * @max: Frames to stop at; any number here.
 * @exact: Room for @max flags or NULL: there is no call before the address. It is that of the leaf,
 *	or of code that a signal interrupted, or of a signal frame, to which nobody's call returns.
 */
struct walk_input {
	const struct walk_memory *mem;
	struct walk_proc proc;
	const struct walk_copy *copy;
	const void *stack;
	size_t stack_bytes;
	__u32 max;
	bool *exact;
};

/**
 * walk_stack() - Walk it.
 * @ips: Room for @in->max addresses, innermost first.
 * @nr: Their number.
 *
 * Return: enum walk_status.
 */
int walk_stack(const struct walk_input *in, __u64 *ips, __u32 *nr);

/** walk_status__name() - In a word or two, for messages: "end of stack", "no CFI". */
const char *walk_status__name(int status);

#endif /* PERF_CHURN_STACK_WALK_H */
