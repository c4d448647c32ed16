/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CMD_REPORT_OPTS_H
#define PERF_CHURN_CMD_REPORT_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "churn/filter.h"
#include "view/view.h"

/**
 * struct report_opts - Judged options.
 * @time_text: --time as typed; per cent can be judged only when the file is open. NULL: all.
 * @wrappers: --wrapper expressions, @nr_wrappers of them.
 */
struct report_opts {
	const char *input, *time_text;
	enum { FORMAT_STDIO, FORMAT_JSON, FORMAT_FOLDED } format;
	bool demangle, inlines, pager, strict;
	struct filter filter;
	struct view_opts view;
	const char **wrappers;
	size_t nr_wrappers;
};

/**
 * report_opts__parse() - Exits with status 129 after one line for bad usage.
 *
 * Return: 0 or -ENOMEM.
 */
int report_opts__parse(struct report_opts *opts, int argc, const char **argv);
void report_opts__exit(struct report_opts *opts);

#endif /* PERF_CHURN_CMD_REPORT_OPTS_H */
