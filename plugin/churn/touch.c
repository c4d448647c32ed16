// SPDX-License-Identifier: GPL-2.0-only
#include "stacks.h"
#include "touch.h"

static int add_function(struct touch *t, struct mix_table *table, const struct stacks *stacks,
			__u32 node, const struct mix_part *like)
{
	struct mix_part part = *like;

	return places__add_function(&t->functions, stacks, node, &part.place) ?:
	       mix_table__add(table, &part);
}

int touch__add(struct touch *t, const struct stacks *stacks, __u32 stack, __u32 site, __u64 nr,
	       double bytes)
{
	const struct mix_part part = { .site = site, .nr = nr, .bytes = bytes };
	__u32 node = stacks__site(stacks, stack), caller = stacks__caller(stacks, node);
	int err = add_function(t, &t->own, stacks, node, &part);

	if (err || caller == STACK_NONE || stacks__frame(stacks, caller)->kind == FRAME_START)
		return err;
	return add_function(t, &t->callers, stacks, caller, &part);
}

void touch__sort(struct touch *t)
{
	mix_table__sort(&t->own);
	mix_table__sort(&t->callers);
}

void touch__exit(struct touch *t)
{
	places__exit(&t->functions);
	mix_table__exit(&t->own);
	mix_table__exit(&t->callers);
}

bool touch__find(const struct touch *t, const struct stacks *stacks, __u32 stack, struct mix *ret)
{
	for (; stack != STACK_NONE; stack = stacks__caller(stacks, stack)) {
		__u32 function = places__find_function(&t->functions, stacks, stack);

		if (function != PLACE_NONE && (mix_table__find(&t->own, function, ret) ||
					       mix_table__find(&t->callers, function, ret)))
			return true;
	}
	return false;
}
