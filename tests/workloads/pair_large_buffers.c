// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_large_buffers.c - buffers above any mmap threshold: each picture has one for the largest
 * possible picture, which is mapped, faulted in where it is used, and unmapped.
 *
 *	pair_large_buffers [PICTURES]	default 50
 *
 * Site: render_picture, 40 MB, of which 4 MB are used. FREELIST: in front of malloc() and
 * free(). FIXED: one buffer is kept.
 */
#include <inttypes.h>
#include <stdio.h>

#include "freelist.h"
#include "workload.h"

#define BYTES	(40UL << 20)
#define WORDS	(512UL << 10)
#define PASSES	12

NOINLINE static void draw(uint64_t *picture, uint64_t seed)
{
	size_t i;

	for (i = 0; i < WORDS; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		picture[i] = seed;
	}
}

NOINLINE static uint64_t digest(const uint64_t *picture, uint64_t sum)
{
	size_t i;

	for (i = 0; i < WORDS; i++) {
		sum = (sum ^ picture[i]) * 0xff51afd7ed558ccdULL;
		sum ^= sum >> 33;
	}
	return sum;
}

NOINLINE static uint64_t render_picture(uint64_t nr)
{
#ifdef FIXED
	static uint64_t *kept;
	uint64_t *picture = kept ?: (kept = malloc(BYTES));
#else
	uint64_t *picture = site_alloc(BYTES);
#endif
	uint64_t sum = nr;
	int pass;

	draw(picture, nr);
	for (pass = 0; pass < PASSES; pass++)
		sum = digest(picture, sum);
#ifndef FIXED
	site_free(picture, BYTES);
#endif
	return sum;
}

int main(int argc, char **argv)
{
	long i, nr_pictures = arg_long(argc, argv, 1, 50);
	uint64_t sum = 0;

	for (i = 0; i < nr_pictures; i++)
		sum += render_picture(i);
	printf("%ld pictures, checksum %016" PRIx64 "\n", nr_pictures, sum);
	return 0;
}
