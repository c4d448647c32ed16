/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walker_procs.h - keeps the walker's processes right at forks, execs and exits, at once: the recorder
 * hears of them later.
 */
#ifndef PERF_CHURN_BPF_WALKER_PROCS_H
#define PERF_CHURN_BPF_WALKER_PROCS_H

#include "walker.h"

/* A child begins with its parent's address space: so do its tables, before it runs. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(walk_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	struct walk_exec *exec;
	struct walk_proc *proc;
	struct walk_proc copy;

	if (from == to)
		return 0;
	/* What the number's last owner has left: it may be told of even after its end. */
	bpf_map_delete_elem(&walk_execs, &to);
	bpf_map_delete_elem(&walk_procs, &to);
	proc = bpf_map_lookup_elem(&walk_procs, &from);
	if (!proc)
		return 0;
	exec = bpf_map_lookup_elem(&walk_execs, &from);
	if (exec && proc->since_ns < exec->exec_ns)
		return 0;
	copy = *proc;
	copy.since_ns = 0;
	bpf_map_update_elem(&walk_procs, &to, &copy, BPF_ANY);
	return 0;
}

/*
 * An exec is known by its end only, when the mappings of the new program have been reported. It
 * begins with a new name for the leader, right before the record (COMM, exec) that the recorder
 * dates the new mappings by.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(walk_rename, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct walk_exec new = {}, *exec;

	if (task->pid != tgid || !bpf_map_lookup_elem(&walk_procs, &tgid))
		return 0;
	exec = bpf_map_lookup_elem(&walk_execs, &tgid);
	if (exec) {
		exec->rename_ns = bpf_ktime_get_ns();
		return 0;
	}
	new.rename_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&walk_execs, &tgid, &new, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(walk_exec_end, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct walk_exec *exec = bpf_map_lookup_elem(&walk_execs, &tgid);

	if (exec)
		exec->exec_ns = exec->rename_ns;
	return 0;
}

/* The leader may end before other threads do. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(walk_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	bpf_map_delete_elem(&walk_execs, &tgid);
	bpf_map_delete_elem(&walk_procs, &tgid);
	return 0;
}

#endif /* PERF_CHURN_BPF_WALKER_PROCS_H */
