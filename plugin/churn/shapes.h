/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CHURN_SHAPES_H
#define PERF_CHURN_CHURN_SHAPES_H

struct model;

/** finish_shapes() - Set the shapes of a report's sites. Return: 0 or -ENOMEM. */
int finish_shapes(struct model *m);
void free_shapes(struct model *m);

#endif /* PERF_CHURN_CHURN_SHAPES_H */
