#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vmlinux.sh BTF BPFTOOL - write vmlinux.h, the kernel types our BPF programs use.
#
# From the running kernel's BTF. Where there is none, the few types we name are written out: the
# programs find fields by CO-RE anyway, so what is built here runs on a kernel that has BTF.
set -eu

if [ -r "$1" ]; then
	exec "$2" btf dump file "$1" format c
fi
echo "note: this kernel has no BTF ($1): building works, recording will not" >&2
cat <<'H'
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

/* The C library's headers want to know: they are read for the integer types. */
#if defined(__TARGET_ARCH_x86) && !defined(__x86_64__)
#define __x86_64__ 1
#endif

#include <stdbool.h>
#include <linux/types.h>
#include <linux/bpf.h>

/* As the kernel calls them, not as <asm/ptrace.h> does. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct xol_area {
	unsigned long vaddr;
} __attribute__((preserve_access_index));

struct uprobes_state {
	struct xol_area *xol_area;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
} __attribute__((preserve_access_index));

struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	bool chained;
	struct return_instance *next;
} __attribute__((preserve_access_index));

struct uprobe_task {
	struct return_instance *return_instances;
} __attribute__((preserve_access_index));

struct perf_event {
	__u64 id;
	struct perf_event *parent;
} __attribute__((preserve_access_index));

struct bpf_perf_event_data {
	struct pt_regs regs;
	__u64 sample_period;
	__u64 addr;
};

struct bpf_perf_event_data_kern {
	struct pt_regs *regs;
	void *data;
	struct perf_event *event;
} __attribute__((preserve_access_index));

struct completion;

struct signal_struct {
	struct {
		int counter;
	} live;
} __attribute__((preserve_access_index));

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct {
	__u32 self_exec_id;
	unsigned int flags;
	int pid;
	int tgid;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	struct completion *vfork_done;
	struct signal_struct *signal;
	__u64 start_time;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

#endif
H
