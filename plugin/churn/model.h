/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model.h - turns samples, in time order, into a report. Pure: no files, no globals.
 *
 * Sampling takes each allocation with probability 1/weight on its own, so the sum of weights
 * estimates the count, and sum w(w-1) its variance; likewise for bytes with the size squared. Where
 * the whole was counted, its parts are made to agree with it (calibrate.h).
 */
#ifndef PERF_CHURN_CHURN_MODEL_H
#define PERF_CHURN_CHURN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "bpf/churn.h"

#include "report.h"
#include "stacks.h"

struct cpu_path;
struct frame;
struct model;

/**
 * struct model_opts - How to look at the samples.
 * @names: Must outlive the model.
 * @srcline, @srcline_ctx: Source lines of sites; NULL: none.
 * @max_live: Most sampled blocks followed at a time.
 * @site_depth: Frames that tell sites apart, from the call outwards; PLACE_ALL_FRAMES: all.
 */
struct model_opts {
	const struct names *names;
	srcline_fn srcline;
	void *srcline_ctx;
	size_t max_live, site_depth;
};

int model__new(const struct model_opts *opts, struct model **ret);
void model__free(struct model *m);

/** model__stacks() - Where to enter a sample's stack, for model_alloc.stack. */
struct stacks *model__stacks(struct model *m);

/**
 * struct model_alloc - A sampled allocation.
 * @comm: From stacks__string().
 * @seq: 0: its free cannot be told.
 * @flags: enum churn_flags.
 * @old: realloc() was given a block.
 */
struct model_alloc {
	__u64 time_ns, size_bytes, weight, seq;
	__u32 pid, tid, stack, fn, flags;
	bool old;
	const char *comm;
};

int model__add_alloc(struct model *m, const struct model_alloc *a);

/**
 * struct model_free - A free of a sampled allocation, or of a block never seen. Where a file is
 * out of order it may come before its allocation.
 * @seq: Of its allocation, 0 when unseen.
 * @stack: STACK_NONE: not known.
 * @flags: enum churn_flags.
 * @counted: Counts as a free; false: only ends the life of its block (a filter left it out).
 * @need_site: Counts only when its allocation is known (a filter on sites).
 */
struct model_free {
	__u64 time_ns, lifetime_ns, weight, seq;
	__u32 pid, tid, stack, fn, flags;
	bool counted, need_site;
};

int model__add_free(struct model *m, const struct model_free *f);

/**
 * model__add_window() - Exact totals of one process since its previous window. Samples up to its
 * end are in it, even if they come later.
 */
int model__add_window(struct model *m, __u32 pid, const struct churn_window *w);

/** model__add_probe() - Strings are copied. */
int model__add_probe(struct model *m, const struct churn_probe *p);

/** model__set_stacks() - How walks by call frame information have ended so far. */
void model__set_stacks(struct model *m, const struct churn_stacks *stacks);

/** model__in_window() - Did the process have breakpoints then? It is counted, and not to be added. */
bool model__in_window(struct model *m, __u32 pid, __u64 time_ns);

/** model__cpu_path() - Number of a kind of CPU samples, for model__add_cpu(). 0 or -ENOMEM. */
int model__cpu_path(struct model *m, const struct cpu_path *like, __u32 *ret);
void model__add_cpu(struct model *m, __u32 path, __u64 period);

/**
 * model__begin_process() - Its first allocation was in the recording, or its parent's was.
 *
 * Of any other process a sample cannot tell a block from before from one that was passed over.
 */
int model__begin_process(struct model *m, __u32 pid);

/** model__begin_fork() - The child is as its parent is. */
int model__begin_fork(struct model *m, __u32 pid, __u32 ppid);

/** model__end_process() - Its blocks are gone: it ended, or became another program by exec. */
int model__end_process(struct model *m, __u32 pid, __u64 time_ns);

/** model__check() - Self-check figures that the caller counts. */
struct report_check *model__check(struct model *m);

/** model__losses() - PERF_RECORD_LOST figures, which the caller counts. */
struct report_losses *model__losses(struct model *m);

/**
 * model__finish() - Work the report out; nothing may be added after it.
 * @rec: What the file says about itself; copied.
 * @end_ns: Time of the end, where blocks still live are censored.
 * @use_windows: Totals come from windows where there are any; false when a filter makes them
 *	not comparable.
 * @ret: The model's own, valid as long as it.
 */
int model__finish(struct model *m, const struct report_recording *rec, __u64 end_ns,
		  bool use_windows, const struct report **ret);

#endif /* PERF_CHURN_CHURN_MODEL_H */
