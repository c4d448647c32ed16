/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * verdict.h - the allocator's share of the CPU, how sure it is, and what follows.
 */
#ifndef PERF_CHURN_CHURN_VERDICT_H
#define PERF_CHURN_CHURN_VERDICT_H

#include "report.h"

struct model;

/** finish_cpu() - Set the shares in report.cpu. */
void finish_cpu(struct model *m);

/** judge() - From a report with totals and cpu. */
enum report_verdict judge(const struct report *r);

#endif /* PERF_CHURN_CHURN_VERDICT_H */
