/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report.h - what the model found out, as plain figures for the views.
 */
#ifndef PERF_CHURN_CHURN_REPORT_H
#define PERF_CHURN_CHURN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "bpf/churn.h"
#include "hist.h"
#include "util/window_estimate.h"

struct report_advice;
struct report_shape;
struct stacks;

/** enum bound - What a figure is where something is missing. */
enum bound {
	BOUND_NONE,
	BOUND_LOWER,		/* the truth is not below it */
	BOUND_UPPER,		/* nor above */
	BOUND_UNKNOWN,		/* it may be off either way */
};

/**
 * struct estimate - A figure with its standard error, 0 where it was counted.
 */
struct estimate {
	double value;
	double error;
	enum bound bound;
};

/** enum call_graph - How stacks came into the file. */
enum call_graph {
	CALL_GRAPH_FP,		/* walked by the kernel, along frame pointers */
	CALL_GRAPH_CFI,		/* walked while recording, by call frame information */
	CALL_GRAPH_DWARF,	/* copied, and unwound by the report */
	CALL_GRAPH_NONE,	/* the innermost frame alone */
};

/**
 * struct report_recording - Where the figures come from.
 * @command: Command line of the recorder, quoted for a shell; NULL when not in the file.
 * @method: How calls were seen: "uprobe", "preload", "event"; NULL when the file does not say.
 * @cpu_event: Name of the CPU event; NULL when there is none. @cpu_is_ns: Its periods are in ns.
 * @other_events: Names of sampling events that are not looked at, ", " between them; NULL: none.
 * @freq_hz: Its frequency, 0 when it has a fixed period.
 * @sample_period: One allocation in so many is sampled; 1: all, 0: unknown.
 * @duration_s: What the rates are over.
 * @has_weights: Events made by perf churn; false: somebody else's probes with a size field.
 * @slow_path: Calls are refills of the allocator's caches (--slow-path), not allocations.
 * @has_frees: Frees were recorded.
 * @has_windows: Exact totals were recorded.
 * @call_graph, @cpu_call_graph: Of allocations and of CPU samples.
 * @share_unknown: CPU samples cannot tell the allocator's share of what the report is about.
 * @nr_late: Records out of order.
 * @filtered: Options left some samples out.
 * @is_glibc: All memory is from glibc's malloc.
 * @truncated: The file ends early, or is damaged.
 * @unfinished: The recorder did not live to finish it, or could not write it.
 */
struct report_recording {
	const char *command, *method, *cpu_event, *other_events, *hostname;
	double freq_hz, duration_s;
	__u64 sample_period, nr_late;
	int nr_cpus;
	enum call_graph call_graph, cpu_call_graph;
	bool cpu_is_ns;
	bool has_weights, has_frees, has_windows, share_unknown, filtered, truncated, unfinished;
	bool slow_path, is_glibc;
};

/**
 * struct report_losses - Samples that are missing, by cause.
 * @output, @map, @inflight: Counted by the BPF programs: ring full, map full, call not matched.
 * @perf_churn, @perf_other: PERF_RECORD_LOST for churn events (mostly the same losses as
 *	@output, seen by the kernel) and for all others.
 * @gap_ns: Time processes ran before their probes were in place.
 */
struct report_losses {
	__u64 output, map, inflight, perf_churn, perf_other, gap_ns;
};

/**
 * struct report_totals - Sums over all sites.
 * @live_allocs, @live_bytes: Allocations whose free was not seen.
 * @live_most: With @live_allocs 0 out of a sample: a bound that holds at 95 %; else NAN.
 * @freed_before: Frees of blocks allocated before the recording began; NAN: not known.
 * @os_allocs, @os_frees: With slow_path: calls that ask the system for memory, or give
 *	some back; else NAN.
 * @sampled_allocs, @sampled_bytes, @sampled_frees: The same from samples alone.
 */
struct report_totals {
	struct estimate allocs, bytes, frees, failed, live_allocs, live_bytes;
	struct estimate sampled_allocs, sampled_bytes, sampled_frees;
	double live_most, freed_before, os_allocs, os_frees;
	__u64 free_null, free_internal, reallocs, hits;
};

/** enum cpu_class - What CPU time was spent on; each sample is of one class. */
enum cpu_class {
	CLASS_COMPUTE,
	CLASS_MALLOC,		/* the allocator, called to hand out a block */
	CLASS_FREE,		/* called to take one back */
	CLASS_REALLOC,
	CLASS_HEAP_FAULT,	/* page faults in the allocator, or on fresh memory */
	CLASS_HEAP_SYSCALL,	/* brk(), mmap() and the like, by the allocator */
	CLASS_PROBE,		/* what the recording costs */
	NR_CPU_CLASSES,
};

/**
 * struct report_cost - CPU time that a site's blocks cost, as parts of the program's CPU time
 * without the probes' cost, 0 to 1.
 * @whole: The sum, from allocation to free.
 * @saving: What goes away if nothing is allocated here: without @zeroing, which a program that needs
 *	zeros has to do all the same.
 * @parts: By enum cpu_class. @zeroing: Of the malloc side, calloc()'s memset().
 */
struct report_cost {
	struct estimate whole, saving;
	double parts[NR_CPU_CLASSES], zeroing;
};

/**
 * struct report_cpu_path - CPU samples of one stack, class and thread name; none of compute.
 * @period: Sum of their periods.
 */
struct report_cpu_path {
	__u32 stack;
	enum cpu_class class;
	const char *comm;
	double period;
};

/**
 * struct report_spread - How costs came to their sites, as parts of the program's CPU time.
 * @known: Sites' costs are known: CPU samples have whole stacks.
 * @frees_by_line, @frees_by_function, @frees_unknown: CPU time of frees, by where the mix of what
 *	dies there was found.
 * @faults_inside, @faults_fresh, @faults_likely: Heap faults: with an allocator function on the
 *	stack; with the kernel's functions for fresh anonymous memory; taken for such as others
 *	of the same function are.
 * @faults_unknown: Of the latter two, those no site was found for.
 * @side_unknown: The allocator's functions have no names; malloc side unless frees were seen there.
 * @kernel_unnamed: The kernel's functions have no names: faults and syscalls are not told apart.
 */
struct report_spread {
	bool known;
	double frees_by_line, frees_by_function, frees_unknown;
	double faults_inside, faults_fresh, faults_likely, faults_unknown;
	double side_unknown, kernel_unnamed;
};

/**
 * struct report_cpu - CPU samples, by their period.
 * @share: Part of the CPU time with an allocator function on the stack, probe cost left out.
 *	NAN: not known. Without call graph a lower bound.
 * @share_low, @share_high: 95 % interval (Wilson).
 * @few: So few samples that this is to be shown in place of a standard error.
 * @probe_share: Part of all CPU time that the kernel spent on our probes.
 * @nr_samples: Without probe cost; @nr_chained of them had more than one user frame.
 * @nr_unnamed_libc: Samples at a nameless address in an allocator's object.
 * @nr_windowed: Samples left out since the process had breakpoints then.
 * @nr_kernel: Samples in the kernel, those of @nr_allocator left out.
 * @classes: Parts of all CPU time, by enum cpu_class; they add up to 1. NAN: not known.
 * @allocator: Of these, malloc, free and realloc together.
 * @on_cpu_s: CPU time that was sampled; NAN: the event does not measure time.
 * @unattributed: Costs of no known site.
 */
struct report_cpu {
	struct estimate share;
	struct estimate classes[NR_CPU_CLASSES], allocator;
	struct report_cost unattributed;
	struct report_spread spread;
	double on_cpu_s;
	double share_low, share_high, probe_share;
	__u64 nr_samples, nr_allocator, nr_probe, nr_chained, nr_unnamed_libc, nr_kernel;
	__u64 nr_windowed;
	bool few;
};

/**
 * struct report_check - Figures that tell whether the rest can be believed.
 * @nr_stacks: Stacks of churn samples looked at.
 * @nr_no_stack: Samples without any user frame.
 * @nr_caller_missing, @nr_caller_twice: Stacks without the immediate caller, or with it doubled.
 * @nr_cut: Stacks of allocations that do not reach a thread's start.
 * @nr_repaired: Stacks the recorder put the caller back into.
 * @nr_freed: Frees of sampled allocations; @nr_freed_unseen: of blocks never seen;
 *	@nr_freed_inherited: by a forked child of its parent's blocks; @nr_freed_unmatched: their
 *	allocation is not in the file (lost, or left out by a filter).
 * @nr_untracked: Allocations not followed, because too many were live at a time.
 * @nr_bad: Samples that could not be decoded.
 * @nr_frames, @nr_unmapped, @nr_unnamed: Frames resolved, and those without object or name.
 */
struct report_check {
	__u64 nr_allocs, nr_frees;
	__u64 nr_stacks, nr_no_stack, nr_caller_missing, nr_caller_twice, nr_cut, nr_repaired;
	__u64 nr_freed, nr_freed_unseen, nr_freed_inherited, nr_freed_unmatched;
	__u64 nr_untracked, nr_bad;
	__u64 nr_frames, nr_unmapped, nr_unnamed;
};

/** struct report_class - One class of a histogram: values up to @le, from half of it. */
struct report_class {
	__u64 le;
	struct estimate count;
};

/**
 * struct report_path - One stack, thread name and entry point.
 * @stack: In the report's stacks.
 * @comm: Name of the thread, "" when unknown.
 * @fn: enum churn_fn.
 */
struct report_path {
	__u32 stack, site;
	__u32 fn;
	const char *comm;
	struct estimate allocs, bytes;
};

/**
 * struct report_site - A call in the program that leads to allocations.
 * @stack: A stack that ends at the site, to name it.
 * @first_path, @nr_paths: Its paths in report.paths, which are in the order of sites.
 * @avg_bytes: Mean size.
 * @p50_life_ns: Median lifetime, NAN when unknown.
 * @shape: What its blocks are like (shape.h).
 * @advice, @nr_advice: What to do about it (advice.h).
 * @cost: All NAN when unknown.
 */
struct report_site {
	__u32 stack;
	__u64 nr_samples;
	size_t first_path, nr_paths;
	struct estimate allocs, bytes, frees, live_allocs, live_bytes, avg_bytes;
	double p50_life_ns;
	enum bound life_bound;
	const struct report_shape *shape;
	const struct report_advice *advice;
	size_t nr_advice;
	struct report_cost cost;
};

/** struct report_probe - A probed entry point. */
struct report_probe {
	const char *symbol, *object;
	__u64 offset, nr_hits;
	__u32 fn;
	bool emulated;
};

enum report_verdict {
	VERDICT_EMPTY,		/* no allocation was seen */
	VERDICT_NOT_CHURN,
	VERDICT_SOME,
	VERDICT_CHURN,
	VERDICT_UNKNOWN,	/* no CPU samples to weigh the rate against */
};

/**
 * struct report - All of it. Arrays belong to the model; histograms have no empty ends.
 */
struct report {
	struct report_recording recording;
	struct report_losses losses;
	struct report_totals totals;
	struct report_cpu cpu;
	struct report_check check;
	struct window_result windows;	/* is_sampled: probes were on in windows only */
	struct churn_stacks walks;	/* all zero: none were walked by CFI */
	enum report_verdict verdict;

	struct report_class sizes[LOG2_CLASSES], lives[LOG2_CLASSES];
	size_t nr_sizes, nr_lives;

	const struct report_site *sites;
	size_t nr_sites;
	const struct report_path *paths;
	size_t nr_paths;
	const struct report_cpu_path *cpu_paths;
	size_t nr_cpu_paths;
	const struct report_probe *probes;
	size_t nr_probes;
	const struct stacks *stacks;
};

/** report__nr_lost() - Churn samples lost, each once. */
__u64 report__nr_lost(const struct report *r);

/** report__is_lower_bound() - Losses make the sampled figures too low. */
bool report__is_lower_bound(const struct report *r);

/** report__has_gaps() - Something is missing: losses, or time without probes. */
bool report__has_gaps(const struct report *r);

/** report__why_cut() - Why the file is not the whole recording; NULL when it is. */
const char *report__why_cut(const struct report *r);

/** report__rate() - @count per second, 0 for a recording without duration. */
double report__rate(const struct report *r, double count);

/**
 * report__silent_object() - An object whose allocation functions were probed and never hit.
 * @idx: 0 for the first such object, and so on.
 *
 * Return: One of its probes, or NULL.
 */
const struct report_probe *report__silent_object(const struct report *r, size_t idx);

#endif /* PERF_CHURN_CHURN_REPORT_H */
