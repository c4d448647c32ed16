// SPDX-License-Identifier: GPL-2.0-only
/*
 * internals.c - time and allocations in functions of malloc.c that libc does not export.
 *
 *	internals [MS]
 *
 * For MS milliseconds (default 1000) of nearly nothing but mallinfo2, which leaves its work to
 * int_mallinfo: that counts 1000 free blocks of 2000 bytes. Then report_heap calls malloc_info 23
 * times on a stream without a buffer: the program's write_text allocates from inside
 * __malloc_info.
 */
#include <malloc.h>
#include <stdio.h>

#include "workload.h"

#define NR_BLOCKS	2000
#define NR_REPORTS	23

static void *blocks[NR_BLOCKS];

/* Every second block stays, so that the others do not merge. */
NOINLINE static void fill_bins(void)
{
	int i;

	for (i = 0; i < NR_BLOCKS; i++)
		blocks[i] = keep(malloc(2000));
	for (i = 0; i < NR_BLOCKS; i += 2)
		free(blocks[i]);
}

NOINLINE static size_t count_free(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	size_t nr = 0;

	while (now_ns() < end)
		nr = mallinfo2().ordblks;
	return nr;
}

NOINLINE static ssize_t write_text(void *cookie, const char *text, size_t bytes)
{
	(void)cookie;
	/* The first line is malloc_info's own. */
	if (bytes < 7 || memcmp(text, "<malloc", 7))
		free(keep(malloc(23)));
	return bytes;
}

NOINLINE static int report_heap(void)
{
	FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_text });
	int i;

	if (!out || setvbuf(out, NULL, _IONBF, 0))
		return 4;
	for (i = 0; i < NR_REPORTS; i++)
		malloc_info(0, out);
	return fclose(out);
}

int main(int argc, char **argv)
{
	fill_bins();
	if (count_free(arg_long(argc, argv, 1, 1000) * 1000000) < NR_BLOCKS / 2)
		return 3;
	return report_heap();
}
