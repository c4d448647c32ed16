/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cost_sites.h - from CPU samples to what each site costs.
 */
#ifndef PERF_CHURN_CHURN_COST_SITES_H
#define PERF_CHURN_CHURN_COST_SITES_H

#include <stddef.h>

#include "report.h"

struct model;

/**
 * spread_costs() - Set report.cpu.classes, .spread and .unattributed, and share costs out to sites.
 *
 * After totals, before the sites: a site that only CPU samples have seen is added.
 *
 * Return: 0 or -ENOMEM.
 */
int spread_costs(struct model *m);

/** cost_of_site() - For report_site.cost. */
struct report_cost cost_of_site(const struct model *m, size_t site);

#endif /* PERF_CHURN_CHURN_COST_SITES_H */
