/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json_out.h - prints JSON that is valid whatever the names in it are.
 */
#ifndef PERF_CHURN_VIEW_JSON_OUT_H
#define PERF_CHURN_VIEW_JSON_OUT_H

#include <stdbool.h>
#include <stdio.h>

#include "churn/report.h"

/** struct json_out - Zero it, set @out. */
struct json_out {
	FILE *out;
	int depth;
	bool has_member;
};

/* @key is NULL inside an array. */
void json__open(struct json_out *j, const char *key, char bracket);
void json__close(struct json_out *j, char bracket);

/** json__string() - NULL becomes null; bytes that are no UTF-8 become U+FFFD. */
void json__string(struct json_out *j, const char *key, const char *text);

/** json__number() - A plain number; NAN and infinities become null. */
void json__number(struct json_out *j, const char *key, double value);
void json__u64(struct json_out *j, const char *key, __u64 value);
void json__bool(struct json_out *j, const char *key, bool value);

/** json__bound() - "lower", "upper", "unknown", or null. */
void json__bound(struct json_out *j, const char *key, enum bound bound);

/** json__estimate() - "@key": value, "@key_error": standard error, "@key_bound": what it is. */
void json__estimate(struct json_out *j, const char *key, const struct estimate *e);

#endif /* PERF_CHURN_VIEW_JSON_OUT_H */
