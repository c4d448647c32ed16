// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "read_zstd.h"

struct unzip {
	ZSTD_DStream *zstd;
	ZSTD_inBuffer in;
};

struct unzip *unzip__new(void)
{
	struct unzip *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->zstd = ZSTD_createDStream();
	if (!u->zstd || ZSTD_isError(ZSTD_initDStream(u->zstd))) {
		unzip__free(u);
		return NULL;
	}
	return u;
}

void unzip__free(struct unzip *u)
{
	if (!u)
		return;
	ZSTD_freeDStream(u->zstd);
	free(u);
}

void unzip__feed(struct unzip *u, const void *data, size_t bytes)
{
	u->in = (ZSTD_inBuffer){ .src = data, .size = bytes };
}

/* Input may be used up with output still inside: 0 bytes out is the end, not an empty input. */
ssize_t unzip__run(struct unzip *u, struct stream *to)
{
	ZSTD_outBuffer out = { .dst = stream__tail(to), .size = stream__room_bytes(to) };
	size_t before, ret;

	do {
		before = u->in.pos;
		ret = ZSTD_decompressStream(u->zstd, &out, &u->in);
		if (ZSTD_isError(ret))
			return -EINVAL;
	} while (!out.pos && u->in.pos != before && u->in.pos < u->in.size);
	to->tail += out.pos;
	return out.pos;
}
