/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * inflight.h - calls between their entry and their return.
 */
#ifndef PERF_CHURN_BPF_INFLIGHT_H
#define PERF_CHURN_BPF_INFLIGHT_H

#include "blocks.h"
#include "call.h"

#define MAX_STACK_OF_ALLOCATOR	65536	/* bytes from realloc's entry down to a nested malloc's */

/* A call between entry and return. */
struct inflight_key {
	__u32 tid;
	__u32 fn;
};

struct inflight {
	__u64 size;
	__u64 weight;			/* 0: not sampled */
	__u64 old_ptr;
	__u64 memptr;			/* posix_memalign's first argument */
	__u64 sp;
	__u32 uncounted;		/* -C: entered on another CPU */
	__u32 window;			/* in which it was entered */
	__u64 flags;			/* enum churn_flags to be */
	struct churn_live old;		/* record of old_ptr; weight 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct inflight_key);
	__type(value, struct inflight);
} inflight SEC(".maps");

/* Threads inside realloc or memalign, so that malloc and free need not ask the map in vain. */
__s64 nr_nesting;

/* All wrapping functions of a thread share one slot: they do not nest in the program's eyes. */
static __always_inline struct inflight_key inflight_key(const struct call *call)
{
	struct inflight_key key = {
		.tid = call->tid,
		.fn = call->wraps ? CHURN_FN_REALLOC : call->fn,
	};

	return key;
}

static __always_inline bool is_below(const struct call *call, const struct inflight *outer)
{
	return call->sp <= outer->sp && outer->sp - call->sp < MAX_STACK_OF_ALLOCATOR;
}

/*
 * Is this call made by realloc or memalign for itself? By the stack pointer, not by the mere
 * presence of a slot: a thread killed in there leaves one behind, and thread ids come back.
 */
static __always_inline bool is_nested(const struct call *call)
{
	struct inflight_key key = { .tid = call->tid, .fn = CHURN_FN_REALLOC };
	struct inflight *outer;

	if (nr_nesting <= 0)
		return false;
	outer = bpf_map_lookup_elem(&inflight, &key);
	return outer && outer->window == call->window && is_below(call, outer);
}

/*
 * Remember the call until its return. A slot that is there already was left by a call that never
 * returned (longjmp, a signal handler that allocates): its sample is lost, and counted. One from an
 * earlier window is none of this one's.
 */
static __always_inline bool remember(const struct call *call, const struct inflight *in)
{
	struct inflight_key key = inflight_key(call);
	struct inflight *old;

	if (!bpf_map_update_elem(&inflight, &key, in, BPF_NOEXIST)) {
		if (call->wraps)
			ADD(nr_nesting, 1);
		return true;
	}
	old = bpf_map_lookup_elem(&inflight, &key);
	if (!old || old->window == call->window)
		ADD(call->totals->nr_lost_inflight, 1);
	if (bpf_map_update_elem(&inflight, &key, in, BPF_EXIST))
		return false;
	return true;
}

static __always_inline bool recall(const struct call *call, struct inflight *in)
{
	struct inflight_key key = inflight_key(call);
	struct inflight *found = bpf_map_lookup_elem(&inflight, &key);

	if (!found)
		return false;
	*in = *found;
	bpf_map_delete_elem(&inflight, &key);
	if (call->wraps)
		ADD(nr_nesting, -1);
	return in->window == call->window;
}

#endif /* PERF_CHURN_BPF_INFLIGHT_H */
