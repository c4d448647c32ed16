/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CHURN_ADVISE_H
#define PERF_CHURN_CHURN_ADVISE_H

struct model;

/** finish_advice() - Advise on a report's sites, whose costs and shapes are set. Return: 0 or -ENOMEM. */
int finish_advice(struct model *m);

#endif /* PERF_CHURN_CHURN_ADVISE_H */
