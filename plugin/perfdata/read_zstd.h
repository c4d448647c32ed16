/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_PERFDATA_READ_ZSTD_H
#define PERF_CHURN_PERFDATA_READ_ZSTD_H

#include <stddef.h>

#include "read_stream.h"

struct unzip;

/**
 * unzip__new() - A decompressor for the records of one recording thread (perf record -z).
 *
 * All compressed records of a file are one zstd stream, cut at any byte: what was compressed
 * with one of them may end in the middle of a record that the next one brings to its end.
 *
 * Return: NULL without memory.
 */
struct unzip *unzip__new(void);
void unzip__free(struct unzip *u);

/** unzip__feed() - The next compressed bytes; must stay in memory until unzip__run() returned 0. */
void unzip__feed(struct unzip *u, const void *data, size_t bytes);

/**
 * unzip__run() - Decompress as far as a stream's chunk has room.
 *
 * Return: Bytes written to the stream, 0 when the input is used up, -EINVAL for damaged data.
 */
ssize_t unzip__run(struct unzip *u, struct stream *to);

#endif /* PERF_CHURN_PERFDATA_READ_ZSTD_H */
