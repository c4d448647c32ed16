/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * write_zstd.h - records that hold other records, compressed (perf record -z).
 *
 * All of a file are one zstd stream. It is flushed at the end of each, so that whatever is cut off
 * behind one does not matter.
 */
#ifndef PERF_CHURN_PERFDATA_WRITE_ZSTD_H
#define PERF_CHURN_PERFDATA_WRITE_ZSTD_H

#include <stddef.h>
#include <sys/types.h>

/* Fits into one record even when it cannot be compressed. */
#define ZIP_SLICE_BYTES		((size_t)60 * 1024)

struct perf_event_header;
struct zip;

/**
 * zip__new() - A compressor.
 * @level: zstd's, 1 to 22.
 * @ret: Set on success only.
 *
 * Return: 0 or -ENOMEM.
 */
int zip__new(int level, struct zip **ret);
void zip__free(struct zip *z);

/**
 * zip__next() - Compress what comes next, ZIP_SLICE_BYTES of it at most, into one record.
 * @ret: The record, valid until the next call.
 *
 * Return: Bytes of @data that are in it, or -ENOMEM.
 */
ssize_t zip__next(struct zip *z, const void *data, size_t bytes,
		  const struct perf_event_header **ret);

#endif /* PERF_CHURN_PERFDATA_WRITE_ZSTD_H */
