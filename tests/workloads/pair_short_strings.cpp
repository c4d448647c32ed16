// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_short_strings.cpp - short strings: a log parser copies the fields of each line into
 * strings.
 *
 *	pair_short_strings [LINES]	default 4000000
 *
 * Site: parse_line, 6 strings of 18 to 40 characters a line, freed at its end. FREELIST: behind
 * operator new and delete. FIXED: string_views into the line.
 */
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>

#include "freelist.h"
#include "workload.h"

#define NR_FIELDS	6
#define NR_LINES	64

#ifdef FIXED
using field = std::string_view;
#else
using field = std::string;
#endif

static char lines[NR_LINES][512];
static uint64_t counts[4096];

static void make_lines()
{
	for (int i = 0; i < NR_LINES; i++) {
		char *at = lines[i];

		for (int f = 0; f < NR_FIELDS; f++) {
			int want = 18 + (i * 7 + f * 5) % 23;

			for (int c = 0; c < want; c++)
				*at++ = 'a' + (i * 31 + f * 17 + c * c) % 26;
			*at++ = f + 1 < NR_FIELDS ? ' ' : '\n';
		}
	}
}

NOINLINE static uint64_t count_field(const char *s, size_t n)
{
	uint64_t h = 14695981039346656037ULL;

	while (n--)
		h = (h ^ (unsigned char)*s++) * 1099511628211ULL;
	return h + ++counts[h >> 52];
}

NOINLINE static uint64_t parse_line(const char *line)
{
	field fields[NR_FIELDS];
	uint64_t sum = 0;

	for (field &f : fields) {
		const char *end = line;

		while (*end > ' ')
			end++;
		f = field(line, end - line);
		line = end + 1;
	}
	for (const field &f : fields)
		sum += count_field(f.data(), f.size());
	return sum;
}

int main(int argc, char **argv)
{
	long nr_lines = arg_long(argc, argv, 1, 4000000);
	uint64_t sum = 0;

	make_lines();
	for (long i = 0; i < nr_lines; i++)
		sum += parse_line(lines[i % NR_LINES]);
	printf("%ld lines, checksum %016" PRIx64 "\n", nr_lines, sum);
	return 0;
}
