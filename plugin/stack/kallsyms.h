/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_STACK_KALLSYMS_H
#define PERF_CHURN_STACK_KALLSYMS_H

#include <linux/types.h>

struct symtab;

/**
 * kallsyms__parse() - Read a file in the format of /proc/kallsyms.
 * @ref: Name of a symbol whose address is wanted.
 * @ref_addr: Its address; 0 when there is no such symbol.
 * @tab: Filled and finished on success; empty otherwise.
 *
 * Lines that are none are skipped.
 *
 * Return: 0, -EPERM when all addresses are hidden (zero), -ENOENT when it holds no function, or
 * the errno of open(2) or read(2). Prints nothing.
 */
int kallsyms__parse(const char *path, const char *ref, __u64 *ref_addr, struct symtab *tab);

#endif /* PERF_CHURN_STACK_KALLSYMS_H */
