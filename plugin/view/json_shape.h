/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_VIEW_JSON_SHAPE_H
#define PERF_CHURN_VIEW_JSON_SHAPE_H

#include <stddef.h>

#include "json_out.h"

struct report;
struct report_shape;

/** json__histogram() - Classes with their upper bounds under @bound_key. */
void json__histogram(struct json_out *j, const char *key, const char *bound_key,
		     const char *count_key, const struct report_class *classes, size_t nr);

/** json__shape() - What a site's blocks are like, as members of the site. */
void json__shape(struct json_out *j, const struct report *r, const struct report_shape *s);

#endif /* PERF_CHURN_VIEW_JSON_SHAPE_H */
