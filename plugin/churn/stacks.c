// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "stack/machine.h"
#include "stacks.h"

struct node {
	__u32 caller;
	__u32 frame;
	__u32 site;	/* node of the site, once a stack ends here */
};

/* Growing arrays, each with an index over it. */
struct stacks {
	const struct names *names;
	srcline_fn srcline;
	void *srcline_ctx;

	char **strings;
	size_t nr_strings, room_strings;
	struct index string_index;

	struct stack_frame *frames;
	size_t nr_frames, room_frames;
	struct index frame_index;

	__u32 *functions;	/* a frame of each function */
	size_t nr_functions, room_functions;
	struct index function_index;

	struct node *nodes;
	size_t nr_nodes, room_nodes;
	struct index node_index;
};

int stacks__new(const struct names *names, srcline_fn srcline, void *srcline_ctx,
		struct stacks **ret)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->names = names;
	s->srcline = srcline;
	s->srcline_ctx = srcline_ctx;
	*ret = s;
	return 0;
}

void stacks__free(struct stacks *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nr_strings; i++)
		free(s->strings[i]);
	free(s->strings);
	free(s->frames);
	free(s->functions);
	free(s->nodes);
	index__exit(&s->string_index);
	index__exit(&s->frame_index);
	index__exit(&s->function_index);
	index__exit(&s->node_index);
	free(s);
}

const char *stacks__string(struct stacks *s, const char *str)
{
	__u64 hash = hash_str(str);
	size_t pos;
	__u32 id;
	char *copy;

	for (id = index__first(&s->string_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&s->string_index, hash, &pos)) {
		if (!strcmp(s->strings[id], str))
			return s->strings[id];
	}
	if (grow_array(&s->strings, &s->room_strings, s->nr_strings, sizeof(*s->strings)))
		return NULL;
	copy = strdup(str);
	if (!copy)
		return NULL;
	if (index__add(&s->string_index, hash, s->nr_strings)) {
		free(copy);
		return NULL;
	}
	s->strings[s->nr_strings++] = copy;
	return copy;
}

/*
 * Strings are unique here, so pointers stand for them. An unnamed function is known by its
 * address alone, an inlined one by its name: DWARF gives each copy another start.
 */
static bool same_function(const struct stack_frame *a, const struct stack_frame *b)
{
	if (a->sym != b->sym || a->dso != b->dso || a->inlined != b->inlined)
		return false;
	if (!a->sym)
		return a->rel_ip == b->rel_ip;
	return a->inlined || a->sym_start == b->sym_start;
}

static __u64 function_hash(const struct stack_frame *f)
{
	__u64 hash = hash_mix((__u64)(unsigned long)f->sym, (__u64)(unsigned long)f->dso);

	if (!f->sym)
		return hash_mix(hash, f->rel_ip);
	return f->inlined ? hash : hash_mix(hash, f->sym_start);
}

static int find_function(struct stacks *s, struct stack_frame *f)
{
	__u64 hash = function_hash(f);
	size_t pos;
	__u32 id;
	int err;

	for (id = index__first(&s->function_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&s->function_index, hash, &pos)) {
		if (same_function(&s->frames[s->functions[id]], f))
			goto found;
	}
	id = s->nr_functions;
	err = grow_array(&s->functions, &s->room_functions, id, sizeof(*s->functions));
	if (!err)
		err = index__add(&s->function_index, hash, id);
	if (err)
		return err;
	s->functions[s->nr_functions++] = s->nr_frames;
found:
	f->function = id;
	return 0;
}

static int copy_frame(struct stacks *s, const struct frame *from, struct stack_frame *to)
{
	*to = (struct stack_frame){
		.sym_start = from->sym_start,
		.rel_ip = from->dso ? from->rel_ip : from->ip,
		.inlined = from->inlined,
	};
	if (from->sym && !(to->sym = stacks__string(s, from->sym)))
		return -ENOMEM;
	if (from->dso && !(to->dso = stacks__string(s, from->dso)))
		return -ENOMEM;
	return 0;
}

static int add_frame(struct stacks *s, const struct frame *from, __u32 *ret)
{
	struct stack_frame f;
	int err = copy_frame(s, from, &f);
	__u64 hash;
	size_t pos;
	__u32 id;

	if (err)
		return err;
	hash = hash_mix(function_hash(&f), f.rel_ip);
	for (id = index__first(&s->frame_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&s->frame_index, hash, &pos)) {
		if (s->frames[id].rel_ip == f.rel_ip && same_function(&s->frames[id], &f))
			goto found;
	}
	id = s->nr_frames;
	err = grow_array(&s->frames, &s->room_frames, id, sizeof(*s->frames));
	if (!err)
		err = find_function(s, &f);
	if (!err)
		err = index__add(&s->frame_index, hash, id);
	if (err)
		return err;
	f.kind = from->allocator ? FRAME_ALLOCATOR :
				   names__classify(s->names, f.sym, f.dso, false);
	s->frames[s->nr_frames++] = f;
found:
	*ret = id;
	return 0;
}

static int add_node(struct stacks *s, __u32 caller, __u32 frame, __u32 *ret)
{
	__u64 hash = hash_mix(hash_mix(0, caller), frame);
	size_t pos;
	__u32 id;
	int err;

	for (id = index__first(&s->node_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&s->node_index, hash, &pos)) {
		if (s->nodes[id].caller == caller && s->nodes[id].frame == frame)
			goto found;
	}
	id = s->nr_nodes;
	err = grow_array(&s->nodes, &s->room_nodes, id, sizeof(*s->nodes));
	if (!err)
		err = index__add(&s->node_index, hash, id);
	if (err)
		return err;
	s->nodes[s->nr_nodes++] = (struct node){ caller, frame, STACK_NONE };
found:
	*ret = id;
	return 0;
}

size_t find_site(const enum frame_kind *kinds, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (kinds[i] == FRAME_PROGRAM)
			return i;
	}
	for (i = nr; i-- > 0;) {
		if (kinds[i] == FRAME_WRAPPER)
			return i;
	}
	return nr - 1;
}

/* The same choice as find_site(), walking from the inside out. */
static __u32 find_site_node(const struct stacks *s, __u32 stack)
{
	__u32 wrapper = STACK_NONE, last = stack;

	for (; stack != STACK_NONE; stack = s->nodes[stack].caller) {
		enum frame_kind kind = s->frames[s->nodes[stack].frame].kind;

		if (kind == FRAME_PROGRAM)
			return stack;
		if (kind == FRAME_WRAPPER)
			wrapper = stack;
		last = stack;
	}
	return wrapper != STACK_NONE ? wrapper : last;
}

/* A return address, or the innermost frame's own (with what was inlined there). */
static bool is_call(const struct frame *frames, size_t i)
{
	return i && frames[i].ip != frames[0].ip;
}

static int name_line(struct stacks *s, __u32 frame_id, const struct frame *from, bool call)
{
	struct stack_frame *f = &s->frames[frame_id];
	const char *line;

	if (f->srcline_known || !s->srcline)
		return 0;
	line = s->srcline(s->srcline_ctx, from, call);
	if (line && !(f->srcline = stacks__string(s, line)))
		return -ENOMEM;
	f->srcline_known = true;
	return 0;
}

/* The site's line, found again in the caller's array by counting from the outermost frame. */
static int end_stack(struct stacks *s, __u32 stack, const struct frame *frames, size_t nr)
{
	__u32 site = find_site_node(s, stack), node;
	size_t outer = 0, i = nr;

	for (node = s->nodes[site].caller; node != STACK_NONE; node = s->nodes[node].caller)
		outer++;
	while (i-- > 0) {
		if (!frames[i].kernel && !outer--)
			break;
	}
	s->nodes[stack].site = site;
	return name_line(s, s->nodes[site].frame, &frames[i], is_call(frames, i));
}

/*
 * Where a walk by frame pointers has left the stack, only addresses in no object follow: they
 * would make each sample a stack of its own.
 */
static size_t cut_garbage(const struct frame *frames, size_t nr)
{
	while (nr > 1 && !frames[nr - 1].kernel && !frames[nr - 1].dso && !frames[nr - 1].sym)
		nr--;
	return nr;
}

int stacks__add(struct stacks *s, const struct frame *frames, size_t nr, __u32 *ret)
{
	__u32 stack = STACK_NONE, frame;
	size_t i = nr = cut_garbage(frames, nr);
	int err = 0;

	while (i-- > 0) {
		if (frames[i].kernel)
			continue;
		err = add_frame(s, &frames[i], &frame);
		if (!err)
			err = add_node(s, stack, frame, &stack);
		if (err)
			return err;
	}
	if (stack != STACK_NONE && s->nodes[stack].site == STACK_NONE)
		err = end_stack(s, stack, frames, nr);
	*ret = stack;
	return err;
}

__u32 stacks__caller(const struct stacks *s, __u32 stack)
{
	return s->nodes[stack].caller;
}

const struct stack_frame *stacks__frame(const struct stacks *s, __u32 stack)
{
	return &s->frames[s->nodes[stack].frame];
}

__u32 stacks__site(const struct stacks *s, __u32 stack)
{
	return s->nodes[stack].site;
}

bool stacks__complete(const struct stacks *s, __u32 stack)
{
	enum frame_kind kind, outer = FRAME_PROGRAM;

	for (;;) {
		kind = stacks__frame(s, stack)->kind;
		stack = s->nodes[stack].caller;
		if (stack == STACK_NONE)
			return kind == FRAME_START || outer == FRAME_START;
		outer = kind;
	}
}
