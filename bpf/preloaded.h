/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * preloaded.h - the program on the hook of libperf-churn.so: events of calls that the library has picked
 * and counted (preload.h). Part of churn.bpf.c, whose emit() it uses.
 */
#ifndef PERF_CHURN_BPF_PRELOADED_H
#define PERF_CHURN_BPF_PRELOADED_H

#include "preload.h"

/* Programs started by this recording, and theirs; 0: whoever is hit, the link chooses. */
const volatile __u64 only_session;

/* Mean gap between samples in force in the process that was hit last, in calls; 0: in bytes. */
__u64 preload_period;

/* Hooks called with an argument that cannot be read. */
__u64 nr_unread_hooks;

/* Programs that call another's malloc, which comes before the library's. */
__u64 nr_shadowed;

static __always_inline void add_since(struct churn_totals *to, const struct preload_totals *since)
{
	ADD(to->nr_allocs, since->nr_allocs);
	ADD(to->alloc_bytes, since->alloc_bytes);
	ADD(to->nr_frees, since->nr_frees);
	ADD(to->nr_failed, since->nr_failed);
	ADD(to->nr_free_null, since->nr_free_null);
	ADD(to->nr_reallocs, since->nr_reallocs);
	ADD(to->nr_lost_map, since->nr_lost_map);
	ADD(to->nr_lost_inflight, since->nr_lost_inflight);
}

static __always_inline void fill_hooked_alloc(struct churn_alloc *out, const struct preload_call *in)
{
	out->ptr = in->ptr;
	out->size = in->size;
	out->size_class = pow2_class(in->size);
	out->old_ptr = in->old_ptr;
	out->seq = in->seq;
	out->weight = in->weight;
	out->caller = in->caller;
	out->fn = in->fn;
	out->flags = in->flags | CHURN_F_PRELOAD;
}

static __always_inline void fill_hooked_free(struct churn_free *out, const struct preload_call *in,
					     __u32 tid)
{
	out->ptr = in->ptr;
	out->size = in->size;
	out->lifetime_ns = bpf_ktime_get_ns() - in->alloc_ns;
	out->life_class = pow2_class(out->lifetime_ns);
	out->weight = in->weight;
	out->seq = in->seq;
	out->caller = in->caller;
	out->alloc_tid = in->alloc_tid;
	out->fn = in->fn;
	out->flags = in->flags | CHURN_F_PRELOAD |
		     (in->alloc_tid != tid ? CHURN_F_CROSS_THREAD : 0);
}

static __noinline int emit_hooked(struct pt_regs *ctx, const struct call *call,
				  const struct preload_call *in)
{
	struct walk_slot *slot = walk_slot__take();
	struct churn_common *common;

	if (!slot) {
		ADD(call->totals->nr_lost_output, 1);
		return 0;
	}
	__builtin_memset(slot->record, 0, sizeof(slot->record));
	if (in->kind == PRELOAD_ALLOC) {
		common = (void *)(slot->record + WALKER_RECORD_BYTES - sizeof(struct churn_alloc));
		common->type = CHURN_ALLOC_ID;
		common->pid = call->tid;
		fill_hooked_alloc((void *)common, in);
		emit(ctx, call, slot, &alloc_events, sizeof(struct churn_alloc));
	} else {
		common = (void *)(slot->record + WALKER_RECORD_BYTES - sizeof(struct churn_free));
		common->type = CHURN_FREE_ID;
		common->pid = call->tid;
		fill_hooked_free((void *)common, in, call->tid);
		emit(ctx, call, slot, &free_events, sizeof(struct churn_free));
	}
	return 0;
}

SEC("uprobe.multi")
int churn_hook(struct pt_regs *ctx)
{
	struct preload_call in;
	struct call call;

	if (!recording)
		return 0;
	if (bpf_probe_read_user(&in, sizeof(in), (void *)ctx->di)) {
		ADD(nr_unread_hooks, 1);
		return 0;
	}
	if (!in.kind || (only_session && in.session != only_session))
		return 0;
	if (in.kind == PRELOAD_SHADOWED) {
		ADD(nr_shadowed, 1);
		return 0;
	}
	if (!call__init(ctx, &call, bpf_get_attach_cookie(ctx)) || !call__take(&call))
		return 0;
	call.at_entry = true;
	count_hit(&call);
	add_since(call.totals, &in.since);
	preload_period = in.period;
	if (in.kind == PRELOAD_ALLOC || in.kind == PRELOAD_FREE)
		emit_hooked(ctx, &call, &in);
	return 0;
}

#endif /* PERF_CHURN_BPF_PRELOADED_H */
