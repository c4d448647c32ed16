/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blocks.h - the sampled blocks that are followed from their allocation to their free.
 */
#ifndef PERF_CHURN_BPF_BLOCKS_H
#define PERF_CHURN_BPF_BLOCKS_H

#include "call.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);		/* set by the recorder */
	__type(key, struct churn_live_key);
	__type(value, struct churn_live);
} live SEC(".maps");

static __always_inline __u64 exec_id(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), self_exec_id);
}

/*
 * The process that owns the heap: a child of vfork, until its exec, allocates in its parent's memory,
 * which may free the block (as shells do).
 */
static __always_inline __u64 heap_owner(const struct call *call)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (!BPF_CORE_READ(task, vfork_done) ||
	    BPF_CORE_READ(task, mm) != BPF_CORE_READ(task, real_parent, mm))
		return call->tgid;
	return (__u32)BPF_CORE_READ(task, real_parent, tgid);
}

static __always_inline bool take_live(const struct call *call, __u64 ptr, struct churn_live *ret)
{
	struct churn_live_key key = { .tgid = heap_owner(call), .ptr = ptr };
	struct churn_live *found = bpf_map_lookup_elem(&live, &key);

	if (!found)
		return false;
	*ret = *found;
	bpf_map_delete_elem(&live, &key);
	return ret->exec_id == exec_id();
}

static __always_inline void put_live(const struct call *call, __u64 ptr,
				     const struct churn_live *rec)
{
	struct churn_live_key key = { .tgid = heap_owner(call), .ptr = ptr };

	if (bpf_map_update_elem(&live, &key, rec, BPF_ANY))
		ADD(call->totals->nr_lost_map, 1);
}

/* Only for frees of unseen blocks, which are rare: the parent has it if we are its forked child. */
static __always_inline bool is_live_in_parent(__u64 ptr)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct churn_live_key key = {
		.tgid = (__u32)BPF_CORE_READ(task, real_parent, tgid), .ptr = ptr,
	};
	struct churn_live *found = bpf_map_lookup_elem(&live, &key);

	return found && found->time_ns < BPF_CORE_READ(task, group_leader, start_time);
}

#endif /* PERF_CHURN_BPF_BLOCKS_H */
