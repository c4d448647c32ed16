/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reach.h - which functions of an object some of them lead to, by their machine code.
 *
 * Direct calls and jumps are followed, and addresses that an instruction takes; calls through
 * pointers are not, nor references from data.
 */
#ifndef PERF_CHURN_STACK_REACH_H
#define PERF_CHURN_STACK_REACH_H

#include <stdbool.h>
#include <linux/types.h>

struct code_function;
struct elf_file;
struct functions;

/**
 * reach__run() - Mark what can be reached.
 * @fns: Those with is_reached set are where to begin; is_reached is set in the rest.
 * @may_enter: Whether to take a function that is referred to, and go on in it.
 *
 * Return: 0, -ENOMEM, or -E2BIG when it is more than any allocator.
 */
int reach__run(const struct elf_file *file, struct functions *fns,
	       bool (*may_enter)(void *ctx, const struct code_function *fn), void *ctx);

/**
 * reach__keep_exclusive() - Unmark what can also be reached from elsewhere.
 * @fns: After reach__run(). Functions that are_known stay.
 *
 * Return: 0, -ENOMEM, or -E2BIG when the object is too large to be searched; the marks then
 * mean nothing.
 */
int reach__keep_exclusive(const struct elf_file *file, struct functions *fns);

#endif /* PERF_CHURN_STACK_REACH_H */
