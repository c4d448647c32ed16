/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debuginfo.h - an object's DWARF: source lines, and the functions inlined at an address.
 */
#ifndef PERF_CHURN_STACK_DEBUGINFO_H
#define PERF_CHURN_STACK_DEBUGINFO_H

#include <stddef.h>
#include <linux/types.h>

#include "object.h"

#define DEBUGINFO_MAX_INLINES	32

struct debuginfo;

/**
 * struct source_line - @file is its last path component, NULL when unknown.
 */
struct source_line {
	const char *file;
	int line;
};

/**
 * struct inlined_fn - One function inlined at an address.
 * @name: Linkage (mangled) name, else the plain one; lives as long as the debuginfo.
 * @call: Where its caller, the next function outwards, calls it.
 */
struct inlined_fn {
	const char *name;
	struct source_line call;
};

/**
 * debuginfo__new() - Open an object's DWARF.
 * @file: Must outlive the debuginfo.
 *
 * Return: 0, -ENOENT when there is none, -ENOMEM. Prints nothing.
 */
int debuginfo__new(const struct object_file *file, struct debuginfo **ret);
void debuginfo__free(struct debuginfo *di);

/**
 * debuginfo__line() - Source line of an address, as linked.
 *
 * Return: The line; file is NULL when the line table does not tell.
 */
struct source_line debuginfo__line(struct debuginfo *di, __u64 addr);

/**
 * debuginfo__inlines() - Functions inlined at an address, innermost first.
 * @fns: Room for DEBUGINFO_MAX_INLINES.
 *
 * Return: Their number; 0 when the code there is the function's own, or nothing is known.
 */
size_t debuginfo__inlines(struct debuginfo *di, __u64 addr, struct inlined_fn *fns);

#endif /* PERF_CHURN_STACK_DEBUGINFO_H */
