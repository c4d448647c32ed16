/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu_sample.h - the program on the CPU events: samples with walked stacks in place of the kernel's.
 */
#ifndef PERF_CHURN_BPF_CPU_SAMPLE_H
#define PERF_CHURN_BPF_CPU_SAMPLE_H

#include "walker.h"

#define BREAKPOINT		0xcc		/* int3 */
#define PF_KTHREAD		0x00200000	/* include/linux/sched.h */

const volatile __u32 verify_every;		/* so many CPU samples, one is copied as well; 0: none */

__u64 nr_lost_cpu_output;

/* Positions in struct pt_regs, in words. */
enum { REG_BP = 4, REG_BX, REG_R11, REG_R10, REG_AX = 10, REG_DI = 14, REG_ORIG_AX, REG_IP, REG_CS,
       REG_SP = 19, REG_NR = 21 };

static __always_inline void set_regs(struct walk_regs *to, const __u64 *regs)
{
	to->ip = regs[REG_IP];
	to->sp = regs[REG_SP];
	to->bp = regs[REG_BP];
	to->bx = regs[REG_BX];
	to->rax = regs[REG_AX];
	to->rdi = regs[REG_DI];
	to->r10 = regs[REG_R10];
	to->r11 = regs[REG_R11];
}

/* Between the trap and its handler the address is that behind the breakpoint, in mid-instruction. */
static __always_inline void step_back_to_breakpoint(struct walk_regs *regs)
{
	__u8 bytes[2] = {};

	if (bpf_probe_read_user(bytes, sizeof(bytes), (void *)(regs->ip - 1)))
		return;
	if (bytes[0] == BREAKPOINT && bytes[1] != BREAKPOINT)
		regs->ip--;
}

/* Interrupted in the kernel: as it was entered. Return: is there a user at all? */
static __always_inline bool read_entry_regs(struct walk_slot *slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 regs[REG_NR];

	if (task->flags & PF_KTHREAD || !task->mm)
		return false;
	if (bpf_probe_read_kernel(regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		return false;
	set_regs(&slot->state.regs, regs);
	if (regs[REG_ORIG_AX] == ~0ULL)
		step_back_to_breakpoint(&slot->state.regs);
	return (regs[REG_CS] & 3) == 3;
}

/*
 * As u64 words at fixed offsets, before anything else: the verifier refuses a narrower read of cs,
 * and reads behind branches.
 */
static __always_inline bool read_sample_regs(struct bpf_perf_event_data *ctx,
					     struct walk_slot *slot)
{
	volatile __u64 *words = (volatile __u64 *)ctx;
	__u64 regs[REG_NR] = {};

	regs[REG_CS] = words[REG_CS];
	regs[REG_IP] = words[REG_IP];
	regs[REG_SP] = words[REG_SP];
	regs[REG_BP] = words[REG_BP];
	regs[REG_BX] = words[REG_BX];
	regs[REG_AX] = words[REG_AX];
	regs[REG_DI] = words[REG_DI];
	regs[REG_R10] = words[REG_R10];
	regs[REG_R11] = words[REG_R11];
	if ((regs[REG_CS] & 3) != 3)
		return read_entry_regs(slot);
	set_regs(&slot->state.regs, regs);
	return true;
}

/* The id that the file knows the event by: an inherited event's is its parent's. */
static __always_inline __u64 primary_id(struct bpf_perf_event_data *ctx)
{
	struct perf_event *event = NULL, *parent;

	bpf_probe_read_kernel(&event, sizeof(event), (void *)ctx +
			      bpf_core_field_offset(struct bpf_perf_event_data_kern, event));
	if (!event)
		return 0;
	parent = BPF_CORE_READ(event, parent);
	return BPF_CORE_READ(parent ?: event, id);
}

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} cpu_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} cpu_copies SEC(".maps");

__u64 nr_cpu_samples;

/* The kernel adds registers and stack: an unwinder of others tells whether the walk was right. */
static __always_inline void emit_for_verification(struct bpf_perf_event_data *ctx,
						  const struct walk_slot *slot)
{
	if (!verify_every || slot->head.status == WALK_NO_USER ||
	    __sync_fetch_and_add(&nr_cpu_samples, 1) % verify_every)
		return;
	if (bpf_perf_event_output(ctx, &cpu_copies, BPF_F_CURRENT_CPU, (void *)&slot->head,
				  sizeof(slot->head)))
		__sync_fetch_and_add(&nr_lost_cpu_output, 1);
}

/* A sample of a CPU event: the same with its true stack; the event's own sample is dropped. */
SEC("perf_event")
int churn_cpu(struct bpf_perf_event_data *ctx)
{
	struct walk_slot *slot = walk_slot__take_cpu();
	__u64 period = ctx->sample_period;

	if (!slot) {
		__sync_fetch_and_add(&nr_lost_cpu_output, 1);
		return 0;
	}
	slot->head.event_id = primary_id(ctx);
	slot->head.period = period;
	if (read_sample_regs(ctx, slot)) {
		walk_slot__walk(slot, true, false);
	} else {
		slot->head.nr = slot->head.is_copy = 0;
		slot->head.status = WALK_NO_USER;
	}
	if (walk_slot__emit(ctx, slot, &cpu_stacks, 0))
		__sync_fetch_and_add(&nr_lost_cpu_output, 1);
	else
		emit_for_verification(ctx, slot);
	walk_slot__give(slot);
	return 0;
}

#endif /* PERF_CHURN_BPF_CPU_SAMPLE_H */
