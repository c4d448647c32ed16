/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * write_blob.h - bytes that grow. An allocation that fails marks the blob; ask once, at the end.
 */
#ifndef PERF_CHURN_PERFDATA_WRITE_BLOB_H
#define PERF_CHURN_PERFDATA_WRITE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct blob {
	char *data;
	size_t bytes, room;
	bool failed;
};

void blob__put(struct blob *b, const void *data, size_t bytes);
void blob__put_u32(struct blob *b, __u32 value);
void blob__put_u64(struct blob *b, __u64 value);

/** blob__put_cstring() - The text and its NUL. */
void blob__put_cstring(struct blob *b, const char *text);

/** blob__put_string() - As feature sections hold strings: u32 length, then padded to 64 bytes. */
void blob__put_string(struct blob *b, const char *text);

void blob__exit(struct blob *b);

#endif /* PERF_CHURN_PERFDATA_WRITE_BLOB_H */
