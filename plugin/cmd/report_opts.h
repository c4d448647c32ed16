/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CMD_REPORT_OPTS_H
#define PERF_CHURN_CMD_REPORT_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "churn/filter.h"
#include "stack/machine.h"
#include "view/view.h"

struct names;

/**
 * struct report_opts - Judged options.
 * @time_text: --time as typed; per cent mean something only when the file is open. NULL: all.
 * @filters: Filter options as typed, "--pid 1 --comm sh"; "" without any.
 * @site_depth: Frames that tell sites apart.
 * @names: With the --wrapper expressions.
 * @symbols: Where names come from.
 */
struct report_opts {
	const char *input, *time_text;
	char *filters;
	enum { FORMAT_STDIO, FORMAT_JSON, FORMAT_FOLDED } format;
	struct machine_opts symbols;
	bool pager, strict;
	struct filter filter;
	struct view_opts view;
	size_t site_depth;
	struct names *names;
};

/** report_opts__parse() - Exits with status 129 after one line for bad usage. */
void report_opts__parse(struct report_opts *opts, int argc, const char **argv);
void report_opts__exit(struct report_opts *opts);

#endif /* PERF_CHURN_CMD_REPORT_OPTS_H */
