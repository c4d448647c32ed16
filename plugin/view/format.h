/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * format.h - figures and names as people read them.
 */
#ifndef PERF_CHURN_VIEW_FORMAT_H
#define PERF_CHURN_VIEW_FORMAT_H

#include <stddef.h>
#include <stdio.h>

#include "churn/report.h"

/** FORMAT_BYTES - Room for any formatted figure. */
#define FORMAT_BYTES	48

/* Each writes into @buf of FORMAT_BYTES and returns it; NAN becomes "-". */

/** format_count() - "2,541,003"; below 10 one decimal where there is a fraction. */
const char *format_count(char *buf, double value);
/** format_si() - "1.21 M": three digits and a power of 1000. */
const char *format_si(char *buf, double value);
/** format_bytes() - "96.3 KB": three digits and a power of 1024, as perf prints sizes. */
const char *format_bytes(char *buf, double value);
/** format_ns() - "1.23 us". */
const char *format_ns(char *buf, double value);
/** bound_mark() - What stands before a figure: "", ">=", "<=", or "~" for not known. */
const char *bound_mark(enum bound bound);
/** format_error() - "+- 1.2 %": the relative standard error; "" where counted. */
const char *format_error(char *buf, const struct estimate *e);

/**
 * print_text() - Print a name out of a file: control characters, which could do things to a
 * terminal, and bytes that are no UTF-8 come out as "?".
 */
void print_text(FILE *out, const char *text);

/**
 * utf8_next() - Decode one character.
 * @text: Moved on behind it, by at least one byte; not at the end.
 *
 * Return: The code point, or -1 for a byte that begins no valid sequence.
 */
long utf8_next(const char **text);

/** base_name() - Path without folders. */
const char *base_name(const char *path);

/** entry_point_name() - "malloc" for CHURN_FN_MALLOC; NULL when unknown. */
const char *entry_point_name(__u32 fn);

#endif /* PERF_CHURN_VIEW_FORMAT_H */
