/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * list_print.h - the table of probes, for people and for programs.
 */
#ifndef PERF_CHURN_CMD_LIST_PRINT_H
#define PERF_CHURN_CMD_LIST_PRINT_H

#include <stdio.h>

struct list_objects;
struct probe_costs;

/** list_print__text() - @costs: NULL when they could not be measured. */
void list_print__text(FILE *out, const struct list_objects *list, const struct probe_costs *costs);

/** list_print__json() - The same as JSON, schema perf-churn-list/1. */
void list_print__json(FILE *out, const struct list_objects *list, const struct probe_costs *costs);

#endif /* PERF_CHURN_CMD_LIST_PRINT_H */
