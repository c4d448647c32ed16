// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/perf_event.h>
#include <zstd.h>

#include "write_zstd.h"

#define COMPRESSED_TYPE		81	/* PERF_RECORD_COMPRESSED */
#define PACKED_BYTES		ZSTD_COMPRESSBOUND(ZIP_SLICE_BYTES)
_Static_assert(sizeof(struct perf_event_header) + PACKED_BYTES <= 65535, "a record's size has 16 bits");

#define WINDOW_LOG		19	/* what level 1 takes; a longer one finds hardly more */
#define HASH_LOG		19
#define CHAIN_LOG		20
#define LAST_SMALL_LEVEL	6	/* the tables of higher ones have up to 800 MB by default */

struct zip {
	ZSTD_CCtx *zstd;
	struct perf_event_header header;
	char packed[PACKED_BYTES];	/* right behind it */
};

static int set(struct zip *z, ZSTD_cParameter parameter, int value)
{
	return ZSTD_isError(ZSTD_CCtx_setParameter(z->zstd, parameter, value)) ? -ENOMEM : 0;
}

static int set_level(struct zip *z, int level)
{
	int err = set(z, ZSTD_c_compressionLevel, level) ?: set(z, ZSTD_c_windowLog, WINDOW_LOG);

	if (err || level <= LAST_SMALL_LEVEL)
		return err;
	return set(z, ZSTD_c_hashLog, HASH_LOG) ?: set(z, ZSTD_c_chainLog, CHAIN_LOG);
}

int zip__new(int level, struct zip **ret)
{
	struct zip *z = calloc(1, sizeof(*z));

	if (!z)
		return -ENOMEM;
	z->zstd = ZSTD_createCCtx();
	if (!z->zstd || set_level(z, level)) {
		zip__free(z);
		return -ENOMEM;
	}
	*ret = z;
	return 0;
}

void zip__free(struct zip *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->zstd);
	free(z);
}

ssize_t zip__next(struct zip *z, const void *data, size_t bytes,
		  const struct perf_event_header **ret)
{
	ZSTD_inBuffer in = { data, bytes < ZIP_SLICE_BYTES ? bytes : ZIP_SLICE_BYTES, 0 };
	ZSTD_outBuffer out = { z->packed, sizeof(z->packed), 0 };

	/* With room for all of it nothing is left inside: only memory can be short. */
	if (ZSTD_compressStream2(z->zstd, &out, &in, ZSTD_e_flush))
		return -ENOMEM;
	z->header = (struct perf_event_header){
		.type = COMPRESSED_TYPE, .size = sizeof(z->header) + out.pos,
	};
	*ret = &z->header;
	return in.pos;
}
