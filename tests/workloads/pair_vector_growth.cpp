// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_vector_growth.cpp - growth by copies: vectors start empty and are filled by push_back().
 *
 *	pair_vector_growth [ROWS]	default 4000000
 *
 * Site: decode_row, vectors of 16 to 143 values; each growth allocates the double, copies, frees
 * the smaller. FREELIST: behind operator new and delete. FIXED: reserve(), the length is known.
 */
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "freelist.h"
#include "workload.h"

using row = std::vector<uint64_t>;

NOINLINE static row decode_row(uint64_t seed, size_t nr_values)
{
	row values;

#ifdef FIXED
	values.reserve(nr_values);
#endif
	for (size_t i = 0; i < nr_values; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		values.push_back(seed ^ seed >> 29);
	}
	return values;
}

NOINLINE static uint64_t digest(const row &values)
{
	uint64_t sum = values.size();

	for (uint64_t value : values) {
		sum = (sum ^ value) * 0xff51afd7ed558ccdULL;
		sum ^= sum >> 33;
	}
	return sum;
}

int main(int argc, char **argv)
{
	long nr_rows = arg_long(argc, argv, 1, 4000000);
	uint64_t sum = 0;

	for (long i = 0; i < nr_rows; i++)
		sum += digest(decode_row(i, 16 + i * 37 % 128));
	printf("%ld rows, checksum %016" PRIx64 "\n", nr_rows, sum);
	return 0;
}
