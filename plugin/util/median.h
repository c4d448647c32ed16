/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_UTIL_MEDIAN_H
#define PERF_CHURN_UTIL_MEDIAN_H

#include <stddef.h>

/** median() - Of @nr values, at least one; sorts them. */
double median(double *values, size_t nr);

#endif /* PERF_CHURN_UTIL_MEDIAN_H */
