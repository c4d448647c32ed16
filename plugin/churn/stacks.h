/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stacks.h - every distinct stack once, as a tree of frames from the outermost inwards.
 *
 * Memory grows with the number of distinct stacks, not of samples. Strings are copied.
 */
#ifndef PERF_CHURN_CHURN_STACKS_H
#define PERF_CHURN_CHURN_STACKS_H

#include <stddef.h>
#include <linux/types.h>

#include "names.h"

#define STACK_NONE	((__u32)-1)

struct stacks;
struct frame;

/**
 * struct stack_frame - One distinct frame: an address in an object, or an inlined function there.
 * @sym, @dso: NULL when unknown.
 * @srcline: "file.c:12" of the call, asked for only where a site is; else NULL.
 * @sym_start, @rel_ip: Addresses in the object.
 * @function: Number of its function; frames with the same number are in the same function.
 */
struct stack_frame {
	const char *sym, *dso, *srcline;
	__u64 sym_start, rel_ip;
	__u32 function;
	enum frame_kind kind;
	bool inlined;
	bool srcline_known;
};

/** srcline_fn - Source line of a frame, NULL when unknown; @call: its ip is a return address. */
typedef const char *(*srcline_fn)(void *ctx, const struct frame *f, bool call);

int stacks__new(const struct names *names, srcline_fn srcline, void *srcline_ctx,
		struct stacks **ret);
void stacks__free(struct stacks *s);

/**
 * stacks__add() - Number of a stack; the same frames give the same number.
 * @frames: Innermost first, as machine__resolve() names them. Kernel frames are left out, and the
 *	outermost ones that are in no object.
 * @ret: STACK_NONE when no user frame is there.
 *
 * Return: 0 or -ENOMEM.
 */
int stacks__add(struct stacks *s, const struct frame *frames, size_t nr, __u32 *ret);

/** stacks__caller() - The stack without its innermost frame, STACK_NONE at the outermost. */
__u32 stacks__caller(const struct stacks *s, __u32 stack);

/** stacks__frame() - Innermost frame of a stack. */
const struct stack_frame *stacks__frame(const struct stacks *s, __u32 stack);

/**
 * stacks__site() - The stack cut where it leaves the allocator and its wrappers.
 *
 * Its innermost frame is the site. Where every frame is allocator, wrapper or thread start:
 * the outermost wrapper, else the outermost frame.
 */
__u32 stacks__site(const struct stacks *s, __u32 stack);

/**
 * stacks__complete() - The outermost frame is one that threads start with, or, as _start is
 * nameless in a stripped program, the next one is.
 */
bool stacks__complete(const struct stacks *s, __u32 stack);

/** stacks__string() - A copy of @str that lives as long as @s, one for equal strings. */
const char *stacks__string(struct stacks *s, const char *str);

/** find_site() - Index in @kinds (innermost first) of the frame that is the site; @nr > 0. */
size_t find_site(const enum frame_kind *kinds, size_t nr);

#endif /* PERF_CHURN_CHURN_STACKS_H */
