/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model_priv.h - the model's inside, for model.c (samples come in) and finish.c (report comes out).
 */
#ifndef PERF_CHURN_CHURN_MODEL_PRIV_H
#define PERF_CHURN_CHURN_MODEL_PRIV_H

#include "calibrate.h"
#include "costs.h"
#include "index.h"
#include "live.h"
#include "model.h"
#include "places.h"
#include "shape.h"
#include "util/window_estimate.h"

/* @large_bytes: in @nr_large sampled blocks of TOUCH_MIN_BYTES or more. */
struct path {
	__u32 stack, fn, site;
	const char *comm;
	struct tally sum;
	double large_bytes;
	__u64 nr_large;
};

/* A site: its function, and the line of the call or, without lines, its address. */
struct site {
	__u32 stack;
	struct tally sum, freed, live;
	struct lives lives;
	struct shape shape;
};

/* The last window that was opened on a process, among times without. */
struct model_window {
	__u32 nr;		/* 0: the probes stay on */
	__u64 start_ns, end_ns;	/* there were breakpoints */
};

/* Times after which blocks from before cannot be followed: exits, execs, ends of windows. */
struct heap_ends {
	__u64 *times_ns;
	size_t nr, room;
};

/*
 * A process: whether its blocks are all from the recording, samples since its last window, and
 * the times its heap went away.
 */
struct process {
	__u32 pid;
	struct tally tail, tail_freed;
	bool from_start, has_calls;
	__u64 counted_ns;	/* end of its last window */
	struct model_window now;
	struct heap_ends ends;
};

/* CPU time of a site; @mix_error: what not knowing whose blocks are freed adds to the error. */
struct cost_sum {
	double parts[NR_CPU_CLASSES];
	double squares, mix_error;
	struct period_sum zeroing;
};

struct model {
	struct stacks *stacks;
	struct live *live;
	struct live *early;	/* frees whose allocation has not come; time_ns is the lifetime */
	struct report_probe *probes;
	size_t nr_probes, room_probes;
	struct path *paths;
	size_t nr_paths, room_paths;
	struct index path_index;
	struct site *sites;
	size_t nr_sites, room_sites;
	struct places site_places;	/* with the sites' numbers */
	struct process *procs;
	size_t nr_procs, room_procs;
	struct index proc_index;

	struct tally sizes[LOG2_CLASSES], lives[LOG2_CLASSES];
	struct tally sampled, freed;
	struct churn_window windows;	/* sum over all */
	struct window_estimate *estimate;
	struct window_result result;
	struct window_sum *window_sums;	/* by number */
	size_t nr_window_sums, room_window_sums;
	struct heap_ends all_ends;	/* of all processes */
	struct model_window all_now;	/* of all processes together */
	size_t nr_windows;
	double failed_var;
	__u64 max_period, max_weight;
	struct calibration calibration;
	double nr_freed_before, nr_freed_inherited, freed_unmatched;	/* from samples */
	struct period_sum cpu_allocator, cpu_rest, cpu_probe;
	struct costs costs;
	struct cost_sum *cost_sums;	/* by site, then of none */

	struct report report;
	struct report_site *report_sites;
	struct report_path *report_paths;
	struct report_shape *report_shapes;
	struct report_advice *report_advice;
	struct report_cpu_path *report_cpu_paths;
};

/** find_site_of() - The site of a stack, made if it is new. Return: 0 or -ENOMEM. */
int find_site_of(struct model *m, __u32 stack, __u32 *ret);

#endif /* PERF_CHURN_CHURN_MODEL_PRIV_H */
