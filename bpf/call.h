/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * call.h - a hit of a probe: which call it is, of which process, and whether it counts.
 */
#ifndef PERF_CHURN_BPF_CALL_H
#define PERF_CHURN_BPF_CALL_H

#include "churn.h"
#include "control.h"
#include "gate.h"

/* Settings, written between open and load. */
const volatile bool cpu_filtered;	/* -C: only CPUs in cpu_selected */
const volatile __u32 only_uid = ~0U;	/* -u */
const volatile bool tid_filtered;	/* -t, -i: only threads in tid_selected */
const volatile __u32 own_tgid;		/* the recorder itself, never traced */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);			/* set to the number of CPUs */
	__type(key, __u32);
	__type(value, __u8);
} cpu_selected SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);			/* set by the recorder */
	__type(key, __u32);
	__type(value, __u8);
} tid_selected SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, CHURN_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct churn_totals);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CHURN_MAX_SITES + 1);
	__type(key, __u32);
	__type(value, struct churn_site_hits);
} site_hits SEC(".maps");

/* Hits of processes that found no room in the totals map. */
__u64 nr_uncounted;

static const struct churn_totals no_totals;

/*
 * Registers are read once, at fixed offsets, before anything branches: left to itself, clang moves
 * the loads behind a branch and computes their address, which the verifier refuses.
 */
struct call {
	__u64 arg1, arg2, arg3;
	__u64 result;
	__u64 sp, ip, bp, bx;
	__u64 cookie;
	__u32 fn;
	__u32 tgid;
	__u32 tid;
	__u32 window;			/* number of the gate's window, 0: no gates */
	bool wraps;			/* may call other probed functions for itself */
	bool at_entry;			/* else at the return */
	__u8 calibration;		/* enum churn_calibration */
	struct churn_totals *totals;
};

static __always_inline bool cpu_is_selected(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u8 *selected;

	if (!cpu_filtered)
		return true;
	selected = bpf_map_lookup_elem(&cpu_selected, &cpu);
	return selected && *selected;
}

/* The allocator calls or jumps to its own malloc and free in there. */
static __always_inline bool is_wrapping_fn(__u32 fn)
{
	return fn == CHURN_FN_REALLOC || fn == CHURN_FN_MEMALIGN ||
	       fn == CHURN_FN_ALIGNED_ALLOC || fn == CHURN_FN_POSIX_MEMALIGN ||
	       fn == CHURN_FN_VALLOC || fn == CHURN_FN_PVALLOC;
}

static __always_inline void read_registers(struct pt_regs *ctx, struct call *call)
{
	__u64 arg1 = ctx->di, arg2 = ctx->si, arg3 = ctx->dx;
	__u64 result = ctx->ax, sp = ctx->sp, ip = ctx->ip, bp = ctx->bp, bx = ctx->bx;

	barrier_var(arg1);
	barrier_var(arg2);
	barrier_var(arg3);
	barrier_var(result);
	barrier_var(sp);
	barrier_var(ip);
	barrier_var(bp);
	barrier_var(bx);
	call->arg1 = arg1;
	call->arg2 = arg2;
	call->arg3 = arg3;
	call->result = result;
	call->sp = sp;
	call->ip = ip;
	call->bp = bp;
	call->bx = bx;
}

/* -t, -i, -u */
static __always_inline bool is_chosen(const struct call *call)
{
	if (only_uid != ~0U && (__u32)bpf_get_current_uid_gid() != only_uid)
		return false;
	return !tid_filtered || bpf_map_lookup_elem(&tid_selected, &call->tid);
}

static __always_inline bool call__find_totals(struct call *call)
{
	call->totals = bpf_map_lookup_elem(&totals, &call->tgid);
	if (!call->totals) {
		bpf_map_update_elem(&totals, &call->tgid, &no_totals, BPF_NOEXIST);
		call->totals = bpf_map_lookup_elem(&totals, &call->tgid);
	}
	if (!call->totals)
		ADD(nr_uncounted, 1);
	return call->totals;
}

/* call__take() has to follow or, with gates, call__enter() or call__leave(). */
static __always_inline bool call__init(struct pt_regs *ctx, struct call *call, __u64 cookie)
{
	__u64 id = bpf_get_current_pid_tgid();

	read_registers(ctx, call);
	call->cookie = cookie;
	call->fn = CHURN_COOKIE_FN(cookie);
	call->wraps = is_wrapping_fn(call->fn) || cookie & CHURN_COOKIE_WRAPS;
	call->tgid = id >> 32;
	call->tid = (__u32)id;
	call->window = 0;
	call->calibration = CHURN_CALIBRATE_NOT;
	call->totals = NULL;
	return call->tgid != own_tgid;
}

/* Without gates: does this call count? */
static __always_inline bool call__take(struct call *call)
{
	return is_chosen(call) && call__find_totals(call);
}

static __always_inline struct churn_site_hits *call__site(const struct call *call)
{
	__u32 site = CHURN_COOKIE_SITE(call->cookie);

	return bpf_map_lookup_elem(&site_hits, &site);
}

static __always_inline void count_stray(struct call *call, struct churn_gate *gate)
{
	struct churn_site_hits *hits = call__site(call);

	if (gate && !gate->open)
		gate__note_stray(gate);
	ADD(call->totals->nr_stray, 1);
	if (hits)
		ADD(call->totals->stray_cost_ns, hits->cost_ns);
}

/* With gates: does this entry count? */
static __always_inline bool call__enter(struct call *call)
{
	struct churn_gate *gate = gate__find(call->tgid);

	if (!call__find_totals(call))
		return false;
	if (!gate || !gate->open || (!gate->calibration && !(is_chosen(call) && cpu_is_selected()))) {
		count_stray(call, gate);
		return false;
	}
	call->window = gate->number;
	call->calibration = gate->calibration;
	return true;
}

/* With gates: a call may return when the gate is shut again. */
static __always_inline bool call__leave(struct call *call)
{
	struct churn_gate *gate = gate__find(call->tgid);

	if (!gate || !call__find_totals(call))
		return false;
	call->window = gate->number;
	ADD(call->totals->cost_ns, sampled_cost_ns);
	return true;
}

static __always_inline void count_hit(const struct call *call)
{
	struct churn_site_hits *hits = call__site(call);

	if (hits) {
		ADD(hits->nr_hits, 1);
		hits->ip = call->ip;
		hits->tgid = call->tgid;
		if (gated)
			ADD(call->totals->cost_ns, hits->cost_ns);
	}
	ADD(call->totals->nr_hits, 1);
	if (!call->totals->malloc_ip)
		call->totals->malloc_ip = call->ip;
}

#endif /* PERF_CHURN_BPF_CALL_H */
