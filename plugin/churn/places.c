// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "stacks.h"

/* Of a function that has no line and no address of a call. */
#define AT_ANY	((__u64)-1)

void places__exit(struct places *p)
{
	free(p->list);
	index__exit(&p->index);
	memset(p, 0, sizeof(*p));
}

/* Frames of one address, one inlined into the other, are at the same call. */
static bool is_return_address(const struct stacks *s, __u32 stack, __u32 node)
{
	const struct stack_frame *innermost = stacks__frame(s, stack), *f = stacks__frame(s, node);

	return node != stack && (f->rel_ip != innermost->rel_ip || f->dso != innermost->dso);
}

static struct place function_at(const struct stack_frame *f, __u64 at)
{
	return (struct place){
		.sym = f->sym, .dso = f->dso, .inlined = f->inlined, .at = at,
		.sym_start = f->sym && !f->inlined ? f->sym_start : 0,
	};
}

static __u64 hash_callers(const struct stacks *s, __u32 stack, __u32 node, size_t depth)
{
	__u64 hash = 0;

	while (depth-- > 1 && (node = stacks__caller(s, node)) != STACK_NONE) {
		const struct stack_frame *f = stacks__frame(s, node);

		hash = hash_mix(hash_mix(hash, f->function + 1),
				f->rel_ip - is_return_address(s, stack, node));
	}
	return hash;
}

static struct place place_of(const struct places *p, const struct stacks *s, __u32 stack)
{
	__u32 node = stacks__site(s, stack);
	const struct stack_frame *f = stacks__frame(s, node);
	struct place place = function_at(f, f->rel_ip - is_return_address(s, stack, node));

	if (f->srcline)
		place.at = 0;
	place.srcline = f->srcline;
	place.callers = hash_callers(s, stack, node, p->depth);
	return place;
}

/* Strings of the stacks are unique, so their addresses will do. */
static __u64 hash_place(const struct place *p)
{
	__u64 hash = hash_mix((__u64)(unsigned long)p->sym, (__u64)(unsigned long)p->dso);

	hash = hash_mix(hash_mix(hash, (__u64)(unsigned long)p->srcline), p->at);
	return hash_mix(hash, p->callers);
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->sym == b->sym && a->dso == b->dso && a->srcline == b->srcline &&
	       a->sym_start == b->sym_start && a->at == b->at && a->callers == b->callers &&
	       a->inlined == b->inlined;
}

static __u32 find_place(const struct places *p, const struct place *place)
{
	__u64 hash = hash_place(place);
	size_t pos;
	__u32 id;

	for (id = index__first(&p->index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&p->index, hash, &pos)) {
		if (same_place(&p->list[id], place))
			return id;
	}
	return PLACE_NONE;
}

static int add_place(struct places *p, const struct place *place, __u32 *ret)
{
	int err;

	*ret = find_place(p, place);
	if (*ret != PLACE_NONE)
		return 0;
	err = grow_array(&p->list, &p->room, p->nr, sizeof(*p->list));
	if (!err)
		err = index__add(&p->index, hash_place(place), p->nr);
	if (err)
		return err;
	p->list[p->nr] = *place;
	*ret = p->nr++;
	return 0;
}

int places__add(struct places *p, const struct stacks *stacks, __u32 stack, __u32 *ret)
{
	struct place place = place_of(p, stacks, stack);

	return add_place(p, &place, ret);
}

__u32 places__find(const struct places *p, const struct stacks *stacks, __u32 stack)
{
	struct place place = place_of(p, stacks, stack);

	return find_place(p, &place);
}

/* An unnamed function is known by its address alone. */
static struct place whole_function(const struct stacks *stacks, __u32 stack)
{
	const struct stack_frame *f = stacks__frame(stacks, stack);

	return function_at(f, f->sym ? AT_ANY : f->rel_ip);
}

int places__add_function(struct places *p, const struct stacks *stacks, __u32 stack, __u32 *ret)
{
	struct place place = whole_function(stacks, stack);

	return add_place(p, &place, ret);
}

__u32 places__find_function(const struct places *p, const struct stacks *stacks, __u32 stack)
{
	struct place place = whole_function(stacks, stack);

	return find_place(p, &place);
}

int places__add_call(struct places *p, const struct stacks *stacks, __u32 stack, __u32 *ret)
{
	const struct stack_frame *f = stacks__frame(stacks, stack);
	struct place place = function_at(f, f->rel_ip);

	return add_place(p, &place, ret);
}

__u32 places__find_call(const struct places *p, const struct stacks *stacks, __u32 stack)
{
	__u32 caller = stacks__caller(stacks, stack);
	const struct stack_frame *f;
	struct place place;

	if (caller == STACK_NONE)
		return PLACE_NONE;
	f = stacks__frame(stacks, caller);
	place = function_at(f, f->rel_ip - 1);
	return find_place(p, &place);
}
