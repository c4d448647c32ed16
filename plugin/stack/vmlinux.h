/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_STACK_VMLINUX_H
#define PERF_CHURN_STACK_VMLINUX_H

#include "locate.h"

struct symtab;

/**
 * vmlinux__load() - Read the functions of a kernel image that is not stripped.
 * @build_id: It must carry this one, if known.
 * @ref: Name of a symbol whose address, as linked, is wanted.
 * @ref_addr: Its address; 0 when there is no such symbol.
 * @tab: Filled and finished on success; empty otherwise.
 *
 * Return: 0, -ESTALE for another kernel's, -ENOEXEC for what is no ELF file, -ENODATA when it has
 * no functions, -ENOMEM, or the errno of open(2). Prints nothing.
 */
int vmlinux__load(const struct locate_env *env, const char *path, const struct build_id *build_id,
		  const char *ref, __u64 *ref_addr, struct symtab *tab);

#endif /* PERF_CHURN_STACK_VMLINUX_H */
