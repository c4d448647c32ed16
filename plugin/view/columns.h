/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * columns.h - the columns of the sites table, and the rows in their order.
 */
#ifndef PERF_CHURN_VIEW_COLUMNS_H
#define PERF_CHURN_VIEW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "churn/report.h"

/**
 * struct site_row - One row.
 * @share: Of all allocations, or bytes with --by bytes; 0 to 1.
 * @weight: What the order is by: the share, or the part of the CPU time.
 * @raw: For programs: plain numbers, in bytes and ns.
 */
struct site_row {
	const struct report *report;
	const struct report_site *site;
	size_t site_idx;
	size_t rank;
	double share, weight;
	bool raw;
};

/**
 * struct column - One row here, its two functions and a line in the man page make a column.
 * @key: Name for -F and --sort.
 * @width: At least the title's.
 * @left: Left aligned; only such a column may be the last.
 * @cmp: Order of --sort; the largest, or for names the first, comes first.
 */
struct column {
	const char *key, *title;
	int width;
	bool left;
	int (*cmp)(const struct site_row *a, const struct site_row *b);
	void (*print)(FILE *out, const struct site_row *row);
};

/** column__title() - Over the table of a report. */
const char *column__title(const struct column *column, const struct report *r);

#define MAX_COLUMNS	32

/** struct column_list - @add: To those shown by default (a list that begins with "+"). */
struct column_list {
	const struct column *cols[MAX_COLUMNS];
	size_t nr;
	bool add;
};

/**
 * columns__parse() - Comma-separated keys, a "+" before them all.
 * @option: Name for the error line, which lists all keys.
 *
 * Return: 0, or -EINVAL, printed.
 */
int columns__parse(const char *option, const char *keys, struct column_list *ret);

/** columns__add() - Put a column before the last one, which names the site; once. */
void columns__add(struct column_list *list, const struct column *column);

/**
 * columns__default() - What is shown without -F: error columns only where there are errors, and
 * what is sorted by, unless the site's column has it.
 * @by_cpu: What sites cost stands first.
 */
void columns__default(const struct report *r, const struct column_list *sort, bool by_cpu,
		      struct column_list *ret);

/** columns__add_samples() - The column of -n, behind the first one. */
void columns__add_samples(struct column_list *list);

#endif /* PERF_CHURN_VIEW_COLUMNS_H */
