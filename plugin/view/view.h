/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * view.h - a report as text, JSON or folded stacks.
 */
#ifndef PERF_CHURN_VIEW_VIEW_H
#define PERF_CHURN_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "columns.h"

enum view_by { BY_DEFAULT, BY_COUNT, BY_BYTES, BY_CPU };

/**
 * struct view_opts - How the report is shown.
 * @separator: Text only: between columns, without padding; NULL: a table for people.
 * @show_samples: A column with the number of samples.
 * @no_paths: No call paths below the sites.
 * @header_only: Text only: nothing but the header.
 * @fields: Columns of the sites table; none: the default.
 * @sort: Order of the sites; none: as @by says.
 * @by: What shares, order and weights are by. BY_DEFAULT: order by CPU time where costs are known and
 *	CPU samples are not too few, the rest by allocations.
 * @min_share: Leave out sites, and branches of call paths, below this share, 0 to 1.
 * @limit: Most sites shown; 0: all.
 * @max_stack: Most frames of a call path shown: the site and its callers. What is equal so far is one.
 * @max_path_lines: Text only: lines of call paths below a site; 0: no limit.
 * @quiet: Nothing but the figures.
 * @verbose: Text only: more of the self-check.
 * @color: Escape sequences for a terminal.
 */
struct view_opts {
	struct column_list fields, sort;
	const char *separator;
	enum view_by by;
	bool quiet, color, show_samples, no_paths, header_only;
	int verbose;
	double min_share;
	size_t limit, max_stack, max_path_lines;
};

/** view__stdio() - The report on one screen. Return: 0 or -ENOMEM. */
int view__stdio(FILE *out, const struct report *r, const struct view_opts *opts);

/** view__json() - Schema perf-churn-report/1, Documentation/report-json.txt. 0 or -ENOMEM. */
int view__json(FILE *out, const struct report *r, const struct view_opts *opts);

/** view__by() - What sites are in the order of: BY_CPU only where their costs are known. */
enum view_by view__by(const struct report *r, const struct view_opts *opts);

/**
 * view__folded() - "comm;outermost;...;site;...;malloc N" lines, sorted. 0 or -ENOMEM.
 *
 * With BY_CPU CPU samples that are not compute, N their periods.
 */
int view__folded(FILE *out, const struct report *r, const struct view_opts *opts);

/**
 * rows__new() - The sites that @opts asks for, sorted and ranked.
 * @ret: malloc'ed; the caller frees it.
 *
 * Return: 0 or -ENOMEM.
 */
int rows__new(const struct report *r, const struct view_opts *opts, struct site_row **ret,
	      size_t *ret_nr);

#endif /* PERF_CHURN_VIEW_VIEW_H */
