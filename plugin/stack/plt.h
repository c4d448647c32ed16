/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_STACK_PLT_H
#define PERF_CHURN_STACK_PLT_H

#include <elfutils/libdwfl.h>

struct symtab;

/**
 * plt__load() - Name an x86-64 object's PLT entries, of whichever kind: NAME@plt.
 * @mod: Reported with bias 0.
 * @tab: Finished; unfinished afterwards. Indirect functions are looked up in it.
 *
 * Return: 0, -ENOMEM or -E2BIG.
 */
int plt__load(Dwfl_Module *mod, struct symtab *tab);

#endif /* PERF_CHURN_STACK_PLT_H */
