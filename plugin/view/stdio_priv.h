/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stdio_priv.h - the parts of the text report, one file each, top to bottom.
 */
#ifndef PERF_CHURN_VIEW_STDIO_PRIV_H
#define PERF_CHURN_VIEW_STDIO_PRIV_H

#include "churn/report.h"
#include "view.h"

/* What is counted. */
static inline const char *calls_word(const struct report *r)
{
	return r->recording.slow_path ? "refills" : "allocations";
}

static inline const char *calls_title(const struct report *r)
{
	return r->recording.slow_path ? "Refills" : "Allocations";
}

void print_histograms(FILE *out, const struct report *r);
int print_sites_table(FILE *out, const struct report *r, const struct view_opts *opts);
void print_self_check(FILE *out, const struct report *r, const struct view_opts *opts);

#endif /* PERF_CHURN_VIEW_STDIO_PRIV_H */
