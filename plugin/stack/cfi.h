/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfi.h - call frame information of an ELF file, compiled to the walker's rows and rules.
 *
 * From .eh_frame, or .debug_frame where that is missing. Any byte of the file may be hostile.
 */
#ifndef PERF_CHURN_STACK_CFI_H
#define PERF_CHURN_STACK_CFI_H

#include <stddef.h>
#include <linux/types.h>

#include "bpf/walk_tables.h"

/** struct cfi_row - From @vaddr up to the next row's, @rule holds. */
struct cfi_row {
	__u64 vaddr;
	__u32 rule;			/* index into the table's rules */
};

/**
 * struct cfi_table - One file's.
 * @rows: Sorted by address, no two at the same one, no two neighbours with the same rule. Code
 *	without CFI has rows of rule 0.
 * @rules: Each once; the first is all zero.
 */
struct cfi_table {
	struct cfi_row *rows;
	size_t nr_rows;
	struct walk_rule *rules;
	size_t nr_rules;
};

/**
 * cfi_table__new() - Compile a file's CFI.
 * @fd: The file, open for reading; nothing of it is mapped.
 *
 * Return: 0; -ENODATA when it has no CFI; -ENOEXEC when it is no x86-64 ELF file; -E2BIG when it
 * has more rules than fit 16 bits, or is larger than anything sane; -ENOMEM; the errno of pread(2).
 */
int cfi_table__new(int fd, struct cfi_table **ret);

/** cfi_table__new_image() - The same for a file in memory (the vDSO). */
int cfi_table__new_image(const void *image, size_t bytes, struct cfi_table **ret);

void cfi_table__free(struct cfi_table *t);

#endif /* PERF_CHURN_STACK_CFI_H */
