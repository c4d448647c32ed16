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

struct task_struct {
	__u32 self_exec_id;
	int pid;
	int tgid;
	__u64 start_time;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
} __attribute__((preserve_access_index));

#endif
H
