/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * symtab.h - the functions of one object (or of the kernel), sorted by address.
 *
 * Filled by symtab__add(), made searchable by symtab__finish(). Where several names share an
 * address, and where sizes are missing, it decides as perf does.
 */
#ifndef PERF_CHURN_STACK_SYMTAB_H
#define PERF_CHURN_STACK_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct symbol - One function.
 * @start, @end: Addresses it spans, end excluded.
 * @shown: For the user of the table: the name as printed, once it is made.
 * @name: Offset of the raw name, see symtab__name().
 * @module: Offset of the kernel module's name, "[kvm]"; 0: none.
 * @bind: STB_GLOBAL, STB_WEAK or STB_LOCAL.
 */
struct symbol {
	__u64 start, end;
	const char *shown;
	__u32 name, module;
	__u32 order;		/* as added; the first of equals wins */
	__u8 bind;
};

struct symtab {
	struct symbol *syms;
	size_t nr, cap;
	char *names;
	size_t names_bytes, names_cap;
};

/** symtab__exit() - Free the contents; a zeroed table is fine. */
void symtab__exit(struct symtab *tab);

/**
 * symtab__add() - Add one symbol.
 * @size: 0 when unknown.
 * @module: Kernel module ("[kvm]"), or NULL. Repeat it only in runs: the last one is kept once.
 *
 * Return: 0, -ENOMEM, or -E2BIG: more than any honest object holds, the table stays as it is.
 */
int symtab__add(struct symtab *tab, __u64 start, __u64 size, __u8 bind, const char *name,
		const char *module);

/**
 * symtab__finish() - Sort, choose among aliases, give a size to those that have none.
 * @demangle: Compare C++ and Rust names as they will be shown.
 */
void symtab__finish(struct symtab *tab, bool demangle);

/** symtab__finish_latest() - Sort; a symbol that one added later overlaps is gone. */
void symtab__finish_latest(struct symtab *tab);

/** symtab__find() - The function that spans @addr, or NULL. */
struct symbol *symtab__find(const struct symtab *tab, __u64 addr);

static inline const char *symtab__name(const struct symtab *tab, const struct symbol *sym)
{
	return tab->names + sym->name;
}

static inline const char *symtab__module(const struct symtab *tab, const struct symbol *sym)
{
	return sym->module ? tab->names + sym->module : NULL;
}

#endif /* PERF_CHURN_STACK_SYMTAB_H */
