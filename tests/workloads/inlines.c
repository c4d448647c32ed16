// SPDX-License-Identifier: GPL-2.0-only
/*
 * inlines.c - 23 allocations by main -> go (inlined) -> build -> make_node (inlined) -> xmalloc
 * (inlined) -> malloc, and 7 by main -> build_alone -> make_alone (inlined) -> malloc.
 */
#include "workload.h"

#define INLINE		static inline __attribute__((always_inline))

INLINE void *xmalloc(size_t n)
{
	return keep(malloc(n));
}

INLINE void *make_node(int i)
{
	return keep(xmalloc(16 + i));	/* line: node */
}

INLINE void *make_alone(void)
{
	return keep(malloc(100));	/* line: alone */
}

NOINLINE static void build(void)
{
	for (int i = 0; i < 23; i++)
		keep(make_node(i));	/* line: build */
}

NOINLINE static void build_alone(void)
{
	for (int i = 0; i < 7; i++)
		keep(make_alone());
}

INLINE void go(void)
{
	build();
	keep(NULL);
}

int main(void)
{
	go();
	build_alone();
	keep(NULL);
	return 0;
}
