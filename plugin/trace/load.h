/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load.h - which of our BPF programs this kernel takes.
 */
#ifndef PERF_CHURN_TRACE_LOAD_H
#define PERF_CHURN_TRACE_LOAD_H

#include <stdbool.h>
#include <linux/types.h>

#include "probes.h"

#define TRACE_UPROBE_MULTI	48	/* BPF_TRACE_UPROBE_MULTI, kernel 6.6 */
#define TRACE_UPROBE_SESSION	57	/* BPF_TRACE_UPROBE_SESSION, kernel 6.13 */

/**
 * struct loaded - What was loaded.
 * @skel: The programs and their maps; to be destroyed with churn_bpf__destroy().
 * @method: Never PROBE_AUTO.
 * @walks: Stacks are walked, as was asked for.
 */
struct loaded {
	struct churn_bpf *skel;
	enum probe_method method;
	bool walks;
};

/**
 * load_programs() - Load the best that the kernel takes: each method in turn for PROBE_AUTO, without
 *	the stack walker if it takes none with it.
 * @nr_cpus: Possible CPUs.
 *
 * Return: 0 or a negative errno; the error is printed.
 */
int load_programs(const struct probes_opts *opts, int nr_cpus, struct loaded *ret);

/** load_period() - Tell the programs the period in force; see struct probes_opts. */
int load_period(struct churn_bpf *skel, __u64 period, __u32 first_exact);

#endif /* PERF_CHURN_TRACE_LOAD_H */
