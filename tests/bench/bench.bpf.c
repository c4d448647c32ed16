// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench.bpf.c - programs for stacks_bench: the walker of bpf/walker.h, and the kernel's own ways to get
 * at a user stack. Each kind once for a uprobe and once for a CPU event, where churn_cpu is the recorder's.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/walker.h"

#define MAX_IPS		127

char LICENSE[] SEC("license") = "GPL";

/* What the last one saw. */
__u32 last_nr, last_status;
__s64 last_id;
__u64 nr_failed;

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1024);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, MAX_IPS * sizeof(__u64));
} stacks SEC(".maps");

static __always_inline void walk(struct walk_slot *slot, bool entry)
{
	slot->head.event_id = slot->head.period = 0;
	walk_slot__walk(slot, true, entry);
	last_nr = slot->nr;
	last_status = slot->head.status;
}

static __always_inline int walk_uprobe(struct pt_regs *ctx, bool is_emitted)
{
	struct walk_slot *slot = walk_slot__take();
	struct walk_regs *regs;

	if (!slot)
		return 0;
	regs = &slot->state.regs;
	regs->ip = PT_REGS_IP(ctx);
	regs->sp = PT_REGS_SP(ctx);
	regs->bp = PT_REGS_FP(ctx);
	regs->bx = ctx->bx;
	regs->rax = regs->rdi = regs->r10 = regs->r11 = 0;
	walk(slot, true);
	if (is_emitted && walk_slot__emit(ctx, slot, &cpu_stacks, 0))
		__sync_fetch_and_add(&nr_failed, 1);
	walk_slot__give(slot);
	return 0;
}

static __always_inline int take_stackid(void *ctx)
{
	last_id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	if (last_id < 0)
		__sync_fetch_and_add(&nr_failed, 1);
	return 0;
}

/* The kernel adds to the record what the event asks for: a callchain, a copy of the stack. */
static __always_inline int emit_head(void *ctx)
{
	struct walk_head head = {};

	if (bpf_perf_event_output(ctx, &cpu_stacks, BPF_F_CURRENT_CPU, &head, sizeof(head)))
		__sync_fetch_and_add(&nr_failed, 1);
	return 0;
}

SEC("uprobe")
int uprobe_none(struct pt_regs *ctx)
{
	return 0;
}

SEC("uprobe")
int uprobe_walk(struct pt_regs *ctx)
{
	return walk_uprobe(ctx, false);
}

SEC("uprobe")
int uprobe_record(struct pt_regs *ctx)
{
	return walk_uprobe(ctx, true);
}

SEC("uprobe")
int uprobe_stackid(struct pt_regs *ctx)
{
	return take_stackid(ctx);
}

SEC("uprobe")
int uprobe_emit(struct pt_regs *ctx)
{
	return emit_head(ctx);
}

SEC("perf_event")
int cpu_none(struct bpf_perf_event_data *ctx)
{
	return 0;
}

SEC("perf_event")
int cpu_walk(struct bpf_perf_event_data *ctx)
{
	struct walk_slot *slot = walk_slot__take_cpu();

	if (!slot)
		return 0;
	if (read_sample_regs(ctx, slot))
		walk(slot, false);
	walk_slot__give(slot);
	return 0;
}

SEC("perf_event")
int cpu_stackid(struct bpf_perf_event_data *ctx)
{
	return take_stackid(ctx);
}

SEC("perf_event")
int cpu_emit(struct bpf_perf_event_data *ctx)
{
	return emit_head(ctx);
}
