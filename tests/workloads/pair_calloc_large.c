// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_calloc_large.c - large callocs: each query has a zeroed table of 256 KB, of which it
 * needs little.
 *
 *	pair_calloc_large [QUERIES]	default 200000
 *
 * Site: open_table. FREELIST: in front of calloc() and free(); it has to clear the block as
 * well, and does not save that. FIXED: one table is kept, and a query clears the entries that it
 * used.
 */
#include <inttypes.h>
#include <stdio.h>

#include "freelist.h"
#include "workload.h"

#define NR_ENTRIES	(1 << 15)
#define NR_KEYS		1000
#define BYTES		(NR_ENTRIES * sizeof(uint64_t))

static uint32_t used[NR_KEYS];
static int nr_used;

NOINLINE static uint64_t *open_table(void)
{
#ifdef FIXED
	static uint64_t kept[NR_ENTRIES];

	return kept;
#else
	return site_calloc(BYTES);
#endif
}

NOINLINE static void close_table(uint64_t *table)
{
#ifdef FIXED
	while (nr_used)
		table[used[--nr_used]] = 0;
#else
	nr_used = 0;
	site_free(table, BYTES);
#endif
}

NOINLINE static void count_key(uint64_t *table, uint64_t key)
{
	uint32_t i = (key * 0xff51afd7ed558ccdULL) >> 49;

	while (table[i] && table[i] >> 16 != key)
		i = (i + 1) % NR_ENTRIES;
	if (!table[i]) {
		table[i] = key << 16;
		used[nr_used++] = i;
	}
	table[i]++;
}

NOINLINE static uint64_t run_query(uint64_t nr)
{
	uint64_t *table = open_table(), x = nr, sum = 0;
	int i;

	for (i = 0; i < NR_KEYS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		count_key(table, (x >> 33) % 50000 + 1);
	}
	for (i = 0; i < nr_used; i++)
		sum = sum * 31 + table[used[i]];
	close_table(table);
	return sum;
}

int main(int argc, char **argv)
{
	long i, nr_queries = arg_long(argc, argv, 1, 200000);
	uint64_t sum = 0;

	for (i = 0; i < nr_queries; i++)
		sum += run_query(i);
	printf("%ld queries, checksum %016" PRIx64 "\n", nr_queries, sum);
	return 0;
}
