/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * functions.h - where the functions of an object begin and end, stripped or not.
 *
 * From .eh_frame, which stripping leaves, and from symbols. Any byte of the file may be hostile.
 */
#ifndef PERF_CHURN_STACK_FUNCTIONS_H
#define PERF_CHURN_STACK_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct elf_file;

/**
 * struct code_function - [@start, @end), as linked.
 * @is_exported: Other objects may call it.
 * @is_known: For the user: it is one of the functions asked about.
 * @is_reached: For the user: set by reach__run().
 */
struct code_function {
	__u64 start, end;
	bool is_exported;
	bool is_known;
	bool is_reached;
};

/** struct functions - Sorted by address, without overlaps. */
struct functions {
	struct code_function *fns;
	size_t nr;
};

/**
 * functions__new() - All functions of an object.
 * @is_known: Decides code_function.is_known by a symbol's name; of several names of one function
 *	any may say so.
 *
 * Return: 0, -ENODATA when there are none, -E2BIG when there are more than in any honest object,
 * or -ENOMEM.
 */
int functions__new(const struct elf_file *file, bool (*is_known)(const char *name),
		   struct functions **ret);
void functions__free(struct functions *fns);

/** struct function_piece - Functions that follow on each other, by index, @last among them. */
struct function_piece {
	size_t first, last;
};

/**
 * functions__piece() - What may come from the same source file as one of the functions asked about.
 * @addr: In one that is_known; false is returned for another.
 * @ret: All around it, up to the nearest that are exported and not known.
 */
bool functions__piece(const struct functions *fns, __u64 addr, struct function_piece *ret);

/** functions__find() - The function that holds @addr, or NULL. */
struct code_function *functions__find(const struct functions *fns, __u64 addr);

#endif /* PERF_CHURN_STACK_FUNCTIONS_H */
