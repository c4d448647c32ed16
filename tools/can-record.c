// SPDX-License-Identifier: GPL-2.0-only
/*
 * can-record - tries each thing that recording needs, apart from our own code.
 *
 * Exit status 0 and no output where all of it works, else 1 and one line on what is missing. Tests
 * are skipped on this program's word, so it must not use what they test.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>

#define BTF_PATH	"/sys/kernel/btf/vmlinux"
#define UPROBE_PMU	"/sys/bus/event_source/devices/uprobe/type"

static int missing(const char *what, int err, const char *hint)
{
	printf("cannot record here: %s: %s (%s)\n", what, strerror(err), hint);
	return 1;
}

/* A program of two instructions, "return 0", of the type that uprobes run. */
static int try_bpf(void)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (__u64)(unsigned long)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (__u64)(unsigned long)"GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0)
		return missing("loading a BPF program", errno,
			       "needs root or CAP_BPF and CAP_PERFMON, and bpf(2) not filtered");
	close(fd);
	return 0;
}

/* What BPF programs write to: a bpf-output event for all tasks of a CPU. */
static int try_perf_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
	};
	int cpu, err = 0, fd = -1;

	/* CPU 0 may be off, or not ours. */
	for (cpu = 0; fd < 0 && cpu < 4096; cpu++) {
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno != ENODEV && errno != EINVAL)
			err = errno;
		if (err)
			break;
	}
	if (fd < 0)
		return missing("opening a perf event for all tasks", err ?: ENODEV,
			       "needs root or CAP_PERFMON, or kernel.perf_event_paranoid at 0");
	close(fd);
	return 0;
}

int main(void)
{
	if (access(UPROBE_PMU, R_OK))
		return missing(UPROBE_PMU, errno, "needs a kernel with CONFIG_UPROBE_EVENTS and /sys");
	if (access(BTF_PATH, R_OK))
		return missing(BTF_PATH, errno, "needs a kernel with CONFIG_DEBUG_INFO_BTF");
	return try_perf_event() || try_bpf();
}
