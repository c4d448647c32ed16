// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stddef.h>

#include "frames.h"
#include "stacks.h"

static size_t nr_frames(const struct stacks *s, __u32 stack)
{
	size_t nr = 0;

	for (; stack != STACK_NONE; stack = stacks__caller(s, stack))
		nr++;
	return nr;
}

static __u32 cut(const struct stacks *s, __u32 stack, size_t nr)
{
	while (nr-- > 0)
		stack = stacks__caller(s, stack);
	return stack;
}

/*
 * Frames, counted from the outermost one, that two stacks of equal depth share. In the innermost
 * of them the addresses may differ; with it go functions that are inlined there.
 */
static size_t nr_shared(const struct stacks *s, __u32 a, __u32 b, size_t nr)
{
	size_t shared = 0;

	for (; a != b; nr--) {
		const struct stack_frame *f = stacks__frame(s, a);
		bool same = f->function == stacks__frame(s, b)->function;

		a = stacks__caller(s, a);
		b = stacks__caller(s, b);
		if (!same || (a != b && !f->inlined))
			shared = 0;
		else if (!shared)
			shared = nr;
	}
	return shared ? shared : nr;
}

enum frame_left frame_left(const struct stacks *s, __u32 site, __u32 stack)
{
	size_t depth = nr_frames(s, site), nr = nr_frames(s, stack);
	size_t least = depth < nr ? depth : nr;
	size_t shared = nr_shared(s, cut(s, site, depth - least), cut(s, stack, nr - least), least);

	if (!shared && !(stacks__complete(s, site) && stacks__complete(s, stack)))
		return FRAME_LEFT_UNKNOWN;
	if (shared == depth)
		return FRAME_LEFT_OWN;
	return shared && shared + 1 == depth ? FRAME_LEFT_CALLER : FRAME_LEFT_NONE;
}
