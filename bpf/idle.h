/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle.h - how long CPUs have been idle, to the nanosecond: what is left is the CPU time of all
 * processes. Only with -a under a budget; the kernel's own figures move by ticks.
 */
#ifndef PERF_CHURN_BPF_IDLE_H
#define PERF_CHURN_BPF_IDLE_H

#include <bpf/bpf_tracing.h>

#include "control.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct churn_idle);
} idle_times SEC(".maps");

SEC("tp_btf/sched_switch")
int BPF_PROG(churn_idle, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 zero = 0;
	struct churn_idle *idle = bpf_map_lookup_elem(&idle_times, &zero);
	__u64 now = bpf_ktime_get_ns();

	if (!idle)
		return 0;
	if (!prev->pid && idle->since_ns)
		idle->idle_ns += now - idle->since_ns;
	idle->since_ns = next->pid ? 0 : now;
	return 0;
}

#endif /* PERF_CHURN_BPF_IDLE_H */
