// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "shape.h"
#include "stacks.h"

void shape__exit(struct shape *s)
{
	classes__exit(&s->sizes);
	classes__exit(&s->lives);
}

/*
 * What glibc takes for a block on 64-bit machines: its size and a word, rounded up to 16, at least
 * 32. (One that is mapped by itself takes whole pages; it is so large that it makes no odds.)
 */
static double glibc_chunk(__u64 size_bytes)
{
	double bytes = size_bytes + 8.0;

	if (size_bytes < 1ull << 48)
		bytes = (size_bytes + 8 + 15) & ~15ull;
	return bytes < 32 ? 32 : bytes;
}

static void add_size(struct shape *s, __u64 size_bytes, __u64 weight)
{
	double chunk = glibc_chunk(size_bytes);

	if (!s->nr_samples)
		s->first_bytes = s->min_bytes = size_bytes;
	if (size_bytes < s->min_bytes)
		s->min_bytes = size_bytes;
	if (size_bytes > s->max_bytes)
		s->max_bytes = size_bytes;
	s->nr_samples++;
	share_sum__add(&s->same_size, weight, size_bytes == s->first_bytes);
	ratio_sum__add(&s->chunks, weight, chunk - size_bytes, chunk);
	tally__add(&s->all, weight, size_bytes);
}

int shape__add_alloc(struct shape *s, const struct shape_alloc *a)
{
	add_size(s, a->size_bytes, a->weight);
	share_sum__add(&s->by_calloc, a->weight, a->fn == CHURN_FN_CALLOC);
	share_sum__add(&s->by_realloc, a->weight, a->old);
	if (a->old) {
		share_sum__add(&s->moved, a->weight, a->moved);
		tally__add(&s->grown, a->weight, a->size_bytes);
	}
	s->thread_bits |= 1ull << (a->tid % 64);
	order__add_alloc(&s->order, a->tid);
	return classes__add(&s->sizes, a->size_bytes, a->weight);
}

void shape__add_outgrown(struct shape *s, __u64 size_bytes, __u64 weight)
{
	tally__add(&s->outgrown, weight, size_bytes);
}

static void add_life(struct shape *s, double ns, double weight)
{
	s->lived += weight * ns;
	s->var_lived += weight * (weight - 1) * ns * ns;
}

void shape__add_live(struct shape *s, __u64 age_ns, __u64 weight)
{
	add_life(s, age_ns, weight);
}

static bool same_place(const struct stacks *stacks, __u32 a, __u32 b)
{
	const struct stack_frame *f = stacks__frame(stacks, a), *g = stacks__frame(stacks, b);

	return a == b || (f->function == g->function && f->rel_ip == g->rel_ip);
}

/* The place's own, an empty, or the lightest slot, which is given up. */
static struct shape_place *find_place(struct shape *s, const struct stacks *stacks, __u32 stack,
				      enum frame_left left)
{
	struct shape_place *lightest = &s->places[0];

	for (struct shape_place *p = s->places; p < s->places + SHAPE_PLACES; p++) {
		if (p->sum.nr && p->left == left && same_place(stacks, p->stack, stack))
			return p;
		if (p->sum.count < lightest->sum.count)
			lightest = p;
	}
	*lightest = (struct shape_place){ .stack = stack, .left = left };
	return lightest;
}

static void add_frame(struct shape *s, const struct stacks *stacks, const struct shape_free *f)
{
	enum frame_left left = FRAME_LEFT_NONE;

	if (!f->cross_thread) {
		if (f->stack == STACK_NONE)
			return;
		left = frame_left(stacks, f->site, f->stack);
		tally__add(&find_place(s, stacks, stacks__site(stacks, f->stack), left)->sum,
			   f->weight, f->size_bytes);
	}
	if (left == FRAME_LEFT_UNKNOWN)
		return;
	share_sum__add(&s->own_frame, f->weight, left == FRAME_LEFT_OWN);
	share_sum__add(&s->caller_frame, f->weight, left >= FRAME_LEFT_CALLER);
}

int shape__add_free(struct shape *s, const struct stacks *stacks, const struct shape_free *f)
{
	share_sum__add(&s->cross_thread, f->weight, f->cross_thread);
	share_sum__add(&s->goes_on, f->weight, f->by_realloc);
	add_life(s, f->lifetime_ns, f->weight);
	/* What realloc() gives back lives on in the new block. */
	if (!f->by_realloc) {
		add_frame(s, stacks, f);
		if (f->end_ns)
			order__add_free(&s->order, f->alloc_tid, f->tid, f->start_ns, f->end_ns,
					f->weight);
	}
	return classes__add(&s->lives, f->lifetime_ns, f->weight);
}
