/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_STACK_SYMBOLS_H
#define PERF_CHURN_STACK_SYMBOLS_H

#include <stdbool.h>
#include <elfutils/libdwfl.h>

struct symtab;

/**
 * symbols__load() - Fill a table from an object: .symtab of it or its debug file, else .dynsym
 * and .gnu_debugdata; then its PLT entries, as NAME@plt.
 * @mod: Reported with bias 0: addresses are those the object was linked for.
 * @demangle: See symtab__finish().
 *
 * Return: 0 (also when there is none), -ENOMEM or -E2BIG; what was found is in @tab in any case.
 */
int symbols__load(Dwfl_Module *mod, bool demangle, struct symtab *tab);

#endif /* PERF_CHURN_STACK_SYMBOLS_H */
