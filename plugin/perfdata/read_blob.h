/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * read_blob.h - take typed values out of untrusted bytes, never past their end.
 *
 * A read past the end sets @bad and yields 0 or NULL, so that a parser may take a handful of
 * values and look at @bad once.
 */
#ifndef PERF_CHURN_PERFDATA_READ_BLOB_H
#define PERF_CHURN_PERFDATA_READ_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

/**
 * struct blob - What is left of a byte range.
 * @pos: Next byte.
 * @left_bytes: From @pos to the end.
 * @bad: Something was asked for that is not there.
 */
struct blob {
	char *pos;
	size_t left_bytes;
	bool bad;
};

/** blob__take() - The next @bytes, or NULL (and @bad) where there are fewer. */
static inline char *blob__take(struct blob *b, __u64 bytes)
{
	char *pos = b->pos;

	if (b->bad || bytes > b->left_bytes) {
		b->bad = true;
		return NULL;
	}
	b->pos += bytes;
	b->left_bytes -= bytes;
	return pos;
}

static inline __u32 blob__u32(struct blob *b)
{
	const char *pos = blob__take(b, sizeof(__u32));
	__u32 value = 0;

	if (pos)
		memcpy(&value, pos, sizeof(value));
	return value;
}

static inline __u64 blob__u64(struct blob *b)
{
	const char *pos = blob__take(b, sizeof(__u64));
	__u64 value = 0;

	if (pos)
		memcpy(&value, pos, sizeof(value));
	return value;
}

/** blob__text() - A NUL-terminated string in @bytes bytes (perf pads them), else NULL. */
static inline char *blob__text(struct blob *b, __u64 bytes)
{
	char *text = blob__take(b, bytes);

	if (text && !memchr(text, '\0', bytes)) {
		b->bad = true;
		return NULL;
	}
	return text;
}

/** blob__string() - perf's string form: u32 length, then that many bytes, padded with NULs. */
static inline char *blob__string(struct blob *b)
{
	__u32 bytes = blob__u32(b);

	return blob__text(b, bytes);
}

/** blob__cstring() - A NUL-terminated string without a length in front. */
static inline char *blob__cstring(struct blob *b)
{
	const char *end = b->bad ? NULL : memchr(b->pos, '\0', b->left_bytes);

	if (!end) {
		b->bad = true;
		return NULL;
	}
	return blob__take(b, end - b->pos + 1);
}

#endif /* PERF_CHURN_PERFDATA_READ_BLOB_H */
