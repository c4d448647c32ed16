/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gate.h - windows of a recording under a budget: while the gate of a process is shut, hits cost but do
 * not count.
 */
#ifndef PERF_CHURN_BPF_GATE_H
#define PERF_CHURN_BPF_GATE_H

#include "control.h"

#define ADD(counter, n)	__sync_fetch_and_add(&(counter), (n))

/* Setting, written between open and load. */
const volatile bool one_gate;		/* -a: of all processes, under number 0 */

/* Set by the recorder, as long as there are gates. */
bool gated;

/* What a sampled call takes beyond its hits; set by the recorder. */
__u64 sampled_cost_ns;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CHURN_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct churn_gate);
} gates SEC(".maps");

static __always_inline struct churn_gate *gate__find(__u32 tgid)
{
	__u32 key = one_gate ? 0 : tgid;

	return bpf_map_lookup_elem(&gates, &key);
}

/* Threads may overwrite each other's times, which are microseconds apart then. */
static __always_inline void gate__note_stray(struct churn_gate *gate)
{
	gate->last_stray_ns = bpf_ktime_get_ns();
	if (!gate->first_stray_ns)
		gate->first_stray_ns = gate->last_stray_ns;
}

#endif /* PERF_CHURN_BPF_GATE_H */
