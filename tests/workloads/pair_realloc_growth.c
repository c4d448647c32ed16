// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_realloc_growth.c - growth by realloc: two texts grow side by side by a few bytes at a
 * time.
 *
 *	pair_realloc_growth [DOCUMENTS]	default 120000
 *
 * Site: append_text, realloc'ed by 48 bytes at a time up to 4 KB. FREELIST: in front of
 * realloc() and free(). FIXED: twice as large each time, and kept for the next document.
 */
#include <inttypes.h>
#include <stdio.h>

#include "freelist.h"
#include "workload.h"

#define NR_LINES	64
#define STEP		48

struct text {
	char *buf;
	size_t used, bytes;
};

static size_t more_bytes(const struct text *t, size_t need)
{
#ifdef FIXED
	return t->bytes * 2 > need ? t->bytes * 2 : need;
#else
	(void)t;
	return (need + STEP - 1) / STEP * STEP;
#endif
}

NOINLINE static void append_text(struct text *t, const char *s, size_t nr)
{
	size_t bytes;

	if (t->used + nr > t->bytes) {
		bytes = more_bytes(t, t->used + nr);
		t->buf = site_realloc(t->buf, t->bytes, bytes);
		t->bytes = bytes;
	}
	memcpy(t->buf + t->used, s, nr);
	t->used += nr;
}

NOINLINE static void drop_text(struct text *t)
{
#ifndef FIXED
	site_free(t->buf, t->bytes);
	t->buf = NULL;
	t->bytes = 0;
#endif
	t->used = 0;
}

NOINLINE static uint64_t digest(const struct text *t)
{
	uint64_t h = 14695981039346656037ULL;
	size_t i;

	for (i = 0; i < t->used; i++)
		h = (h ^ (unsigned char)t->buf[i]) * 1099511628211ULL;
	return h;
}

NOINLINE static uint64_t write_document(struct text *keys, struct text *values, uint64_t nr)
{
	char line[64];
	uint64_t sum, x = nr;
	int i, c;

	for (i = 0; i < NR_LINES; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		for (c = 0; c < 64; c++)
			line[c] = 'a' + (x >> (c & 31)) % 16;
		append_text(keys, line, 20 + x % 16);
		append_text(values, line, 48 + x % 16);
	}
	sum = digest(keys) + digest(values);
	drop_text(keys);
	drop_text(values);
	return sum;
}

int main(int argc, char **argv)
{
	long i, nr_documents = arg_long(argc, argv, 1, 120000);
	struct text keys = { 0 }, values = { 0 };
	uint64_t sum = 0;

	for (i = 0; i < nr_documents; i++)
		sum += write_document(&keys, &values, i);
	printf("%ld documents, checksum %016" PRIx64 "\n", nr_documents, sum);
	return 0;
}
