/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calltree.h - who calls a site, as a tree that grows from the site outwards.
 */
#ifndef PERF_CHURN_VIEW_CALLTREE_H
#define PERF_CHURN_VIEW_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "churn/report.h"

/**
 * struct calltree_opts - What is printed.
 * @by_bytes: Weigh by bytes, not by allocations.
 * @min_share: Leave out branches with less of the site's weight, 0 to 1.
 * @max_depth: Frames from the site outwards.
 * @max_lines: End with "..." after so many; 0: no limit.
 */
struct calltree_opts {
	bool by_bytes;
	double min_share;
	size_t max_depth;
	size_t max_lines;
};

/** calltree__print() - perf's picture of call chains, below the site's row. 0 or -ENOMEM. */
int calltree__print(FILE *out, const struct report *r, size_t site_idx,
		    const struct calltree_opts *opts);

#endif /* PERF_CHURN_VIEW_CALLTREE_H */
