// SPDX-License-Identifier: GPL-2.0-only
//
// Deep stacks without frame pointers, for tests/stack_dwarf_test.c: main, a template's method, libc's
// qsort, and a comparison that takes its time.
#include <cstdlib>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

static NOINLINE void spin(long turns)
{
	for (long i = 0; i < turns; i++)
		sink = sink + i;
}

static NOINLINE int compare_slowly(const void *a, const void *b)
{
	spin(20000);
	return *(const int *)a - *(const int *)b;
}

template <typename T> struct Sorter {
	NOINLINE void run(T *values, int nr, int depth)
	{
		if (depth > 0)
			run(values, nr, depth - 1);
		else
			qsort(values, nr, sizeof(T), compare_slowly);
		sink = sink + 1;
	}
};

int main()
{
	Sorter<int> sorter;
	int values[101];

	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 101; i++)
			values[i] = i * 37 % 101;
		sorter.run(values, 101, 5);
	}
	return 0;
}
