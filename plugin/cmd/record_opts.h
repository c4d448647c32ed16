/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CMD_RECORD_OPTS_H
#define PERF_CHURN_CMD_RECORD_OPTS_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/types.h>

#include "trace/probes.h"
#include "trace/rings.h"

#define MAX_STACK_BYTES	65528

#define RECORD_DEFAULT_FREQ_HZ	999

/**
 * struct record_opts - What the user asked `perf churn record` for.
 * @period: 0: adapt to about 1000 samples a second and CPU.
 * @sample_bytes: --bytes: sample one byte in so many instead; 0: calls.
 * @slow_path: Probe the allocator's slow functions in place of its entry points.
 * @may_preload: --method=auto: PROBE_AUTO may become PROBE_PRELOAD.
 * @windows: Probes are on in windows only, so that they cost no more than
 * @budget: of the target's CPU time, like 0.03; 0: no probes.
 * @pids, @nr_pids: Processes of -p or -u, or of the threads of -t.
 * @tids, @nr_tids: The threads of -t.
 * @compression_level: 0: none.
 * @no_inherit: -i or -t: no thread and no process that is started later.
 * @command: Rest of the command line, NULL-terminated; NULL when there is none.
 * @cpus, @nr_cpus: The CPUs of -C, NULL: all.
 */
struct record_opts {
	struct cpu_event events[CPU_EVENT_MAX];
	size_t nr_events;
	__u64 freq_hz;
	bool freq_given;
	__u64 period;
	__u64 sample_bytes;
	bool windows;
	double budget;
	enum callgraph callgraph;
	__u32 stack_bytes;
	__u32 max_stack;
	bool verify_stacks;
	const char *output;
	int compression_level;
	size_t pages, churn_pages;
	bool pages_given;
	unsigned int delay_ms;
	bool quiet;
	int verbose;
	bool strict;
	bool system_wide;
	uid_t uid;
	int *pids;
	int nr_pids;
	int *tids;
	int nr_tids;
	bool no_inherit;
	const char *cpu_list;
	int *cpus;
	int nr_cpus;
	enum probe_method method;
	bool may_preload;
	bool slow_path;
	__u32 max_blocks;
	char **command;
	int argc;		/* the whole command line, for the file */
	const char **argv;
};

/**
 * record_opts__parse() - Parse and judge the command line; on a usage error it says why and
 * exits with status 129.
 *
 * Return: 0, or a negative errno (printed): a process of -p does not exist, say.
 */
int record_opts__parse(struct record_opts *opts, int argc, const char **argv);
void record_opts__exit(struct record_opts *opts);

/** record_opts__copy_stacks() - As if --call-graph dwarf had been asked for, with its larger rings. */
void record_opts__copy_stacks(struct record_opts *opts);

#endif /* PERF_CHURN_CMD_RECORD_OPTS_H */
