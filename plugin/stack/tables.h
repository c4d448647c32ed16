/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tables.h - puts the CFI of files into the arrays that the walker reads (bpf/walk_tables.h).
 */
#ifndef PERF_CHURN_STACK_TABLES_H
#define PERF_CHURN_STACK_TABLES_H

#include <stddef.h>
#include <linux/types.h>

#include "trace/walk_memory.h"

struct cfi_table;
struct walk_tables;

/** struct walk_file - Where a file's table stands; see struct walk_map. */
struct walk_file {
	__u32 first_page;
	__u32 page_base;
	__u32 nr_pages;
};

/** struct walk_tables_size - What the tables take. */
struct walk_tables_size {
	size_t nr_files, nr_rows, nr_rules, nr_pages, nr_chunks;
};

/**
 * walk_tables__new() - No file yet.
 * @mem: Must outlive the tables.
 */
int walk_tables__new(const struct walk_memory *mem, struct walk_tables **ret);
void walk_tables__free(struct walk_tables *t);

/**
 * walk_tables__add() - Add a file. Rules that other files have are shared.
 *
 * Context: one thread at a time; walks may go on meanwhile.
 * Return: 0, -ENOSPC when the arrays are full (nothing is changed then), -ENOMEM.
 */
int walk_tables__add(struct walk_tables *t, const struct cfi_table *cfi, struct walk_file *ret);

void walk_tables__size(const struct walk_tables *t, struct walk_tables_size *ret);

/**
 * walk_memory__new_plain() - Arrays in plain memory, for walks in this process.
 *
 * Takes address space for the largest tables, memory for what is used.
 */
int walk_memory__new_plain(struct walk_memory **ret);
void walk_memory__free_plain(struct walk_memory *mem);

#endif /* PERF_CHURN_STACK_TABLES_H */
