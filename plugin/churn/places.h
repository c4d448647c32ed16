/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * places.h - where in the program an allocator was called: the same number for an allocation, a
 * free and a CPU sample of one call.
 *
 * A place is a function and the line of the call or, without lines, its address. The stack of an
 * allocation begins at the call instruction; that of a CPU sample inside of the allocator has the
 * return address there. Both are one place.
 */
#ifndef PERF_CHURN_CHURN_PLACES_H
#define PERF_CHURN_CHURN_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "index.h"

#define PLACE_NONE	((__u32)-1)

/* For a depth: each stack is a place of its own. */
#define PLACE_ALL_FRAMES	((size_t)-1)

struct stacks;

/** struct place - @callers: Stands for the frames above it, where they matter (--site-depth). */
struct place {
	const char *sym, *dso, *srcline;
	__u64 sym_start, at, callers;
	bool inlined;
};

/** struct places - Zero it, but for @depth: frames that tell places apart, the call's first. */
struct places {
	struct place *list;
	size_t nr, room;
	struct index index;
	size_t depth;
};

void places__exit(struct places *p);

/** places__add() - Number of the place where @stack leaves the allocator and its wrappers. */
int places__add(struct places *p, const struct stacks *stacks, __u32 stack, __u32 *ret);

/** places__find() - The same; PLACE_NONE for one that was never added. */
__u32 places__find(const struct places *p, const struct stacks *stacks, __u32 stack);

/** places__add_function() - Number of a whole function, told by a stack that ends in it. */
int places__add_function(struct places *p, const struct stacks *stacks, __u32 stack, __u32 *ret);
__u32 places__find_function(const struct places *p, const struct stacks *stacks, __u32 stack);

/** places__add_call() - Number of the call instruction that an allocation's stack begins with. */
int places__add_call(struct places *p, const struct stacks *stacks, __u32 stack, __u32 *ret);

/** places__find_call() - The same, of a CPU sample's stack that begins in what was called. */
__u32 places__find_call(const struct places *p, const struct stacks *stacks, __u32 stack);

#endif /* PERF_CHURN_CHURN_PLACES_H */
