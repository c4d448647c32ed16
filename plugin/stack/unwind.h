/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unwind.h - user stacks from a copy of the stack and the registers, by call frame information.
 */
#ifndef PERF_CHURN_STACK_UNWIND_H
#define PERF_CHURN_STACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct pdsample;
struct space;
struct unwinder;

/**
 * unwinder__new() - One for a machine; keeps the tables of all files and the last spaces' mappings.
 *
 * Return: 0 or -ENOMEM.
 */
int unwinder__new(struct unwinder **ret);
void unwinder__free(struct unwinder *u);

/**
 * unwinder__walk() - Walk a sample's stack copy.
 * @s: With regs and stack, of x86-64 code.
 * @ips, @exact: Room for @max frames, innermost first; see struct walk_input.
 * @complete: Whether the walk came to where the thread began.
 *
 * Return: Number of frames; 0 when not even the first could be told.
 */
size_t unwinder__walk(struct unwinder *u, struct space *space, const struct pdsample *s, __u64 *ips,
		      bool *exact, size_t max, bool *complete);

#endif /* PERF_CHURN_STACK_UNWIND_H */
