// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "record_summary.h"

#include "record_opts.h"
#include "recording.h"
#include "trace/probes.h"
#include "util/msg.h"
#include "util/plural.h"
#include "util/window_estimate.h"

#define SMALL_STACK_BYTES	2048	/* hold some twenty frames */

__u64 record_summary__nr_lost(const struct recording_counts *c)
{
	return c->nr_lost_output + c->nr_lost_map + c->nr_lost_inflight + c->nr_lost_cpu +
	       c->nr_malformed + c->nr_uncounted;
}

static const char *samples(__u64 nr)
{
	return plural(nr, "sample", "samples");
}

/* With copies of the stack a sample is a hundred times as large as without. */
static void print_full_rings(const struct record_opts *opts, const struct recording_counts *c)
{
	char smaller[80] = "";

	if (opts->callgraph == CALLGRAPH_DWARF && opts->stack_bytes > SMALL_STACK_BYTES)
		snprintf(smaller, sizeof(smaller), ", --call-graph dwarf,%d copies less of the stack",
			 SMALL_STACK_BYTES);
	if (c->nr_lost_output)
		pr_warning("%llu churn %s lost: a ring was full (-m makes it larger, -c takes fewer samples%s)\n",
			   c->nr_lost_output, samples(c->nr_lost_output), smaller);
	if (c->nr_lost_cpu)
		pr_warning("%llu CPU %s lost: a ring was full (-m makes it larger, -F takes fewer samples%s)\n",
			   c->nr_lost_cpu, samples(c->nr_lost_cpu), smaller);
}

static void print_losses(const struct recording_counts *c)
{
	if (c->nr_lost_map)
		pr_warning("%llu %s not followed: more were live than --max-blocks allows\n",
			   c->nr_lost_map, plural(c->nr_lost_map, "block", "blocks"));
	if (c->nr_lost_inflight)
		pr_warning("%llu %s lost that never returned\n", c->nr_lost_inflight,
			   plural(c->nr_lost_inflight, "call", "calls"));
	if (c->nr_uncounted)
		pr_warning("%llu %s not recorded: more than %d processes at a time\n",
			   c->nr_uncounted, plural(c->nr_uncounted, "call", "calls"),
			   CHURN_MAX_PROCS);
	if (c->nr_malformed)
		pr_warning("%llu churn %s lost: not as the BPF program writes them\n",
			   c->nr_malformed, samples(c->nr_malformed));
}

static void print_gaps(const struct recording_counts *c)
{
	double mean_ms = c->nr_gaps ? c->gap_ns / 1e6 / c->nr_gaps : 0;

	if (c->nr_gaps == 1)
		pr_warning("1 process ran for %.1f ms before its probes were in place: what it allocated then is missing (--method uprobe-event leaves no gap)\n",
			   mean_ms);
	else if (c->nr_gaps)
		pr_warning("%llu processes ran for %.1f ms on average before their probes were in place: what they allocated then is missing (--method uprobe-event leaves no gap)\n",
			   c->nr_gaps, mean_ms);
}

static void print_unhooked(const struct recording_counts *c)
{
	if (c->nr_unhooked)
		pr_warning("%llu %s without the preload library: what they allocated is missing (--method=uprobe records it)\n",
			   c->nr_unhooked, plural(c->nr_unhooked, "program ran", "programs ran"));
}

/* "222 cycles, 210 instructions" */
static void list_events(const struct record_opts *opts, const struct recording_counts *c, char *buf,
			size_t bytes)
{
	size_t i, used = 0;

	for (i = 0; i < opts->nr_events && used < bytes; i++)
		used += snprintf(buf + used, bytes - used, "%s%llu %s", i ? ", " : "",
				 c->nr_event_samples[i], opts->events[i].name);
}

/* As perf record says it. */
static void describe_compression(const struct record_written *written, char *buf, size_t bytes)
{
	buf[0] = '\0';
	if (written->packed_bytes)
		snprintf(buf, bytes, ", compressed (original %.3f MB, ratio is %.3f)",
			 written->plain_bytes / 1048576.0,
			 (double)written->plain_bytes / written->packed_bytes);
}

/* "2541003 allocations", and how it is known. */
static void print_allocations(const struct record_opts *opts, const struct recording_counts *c,
			      const struct window_result *windows, char *buf, size_t bytes)
{
	const char *calls = opts->slow_path ? "refills" : "allocations";
	const struct window_range *r;
	double seen;

	if (windows && windows->is_off) {
		snprintf(buf, bytes, "allocations not counted");
		return;
	}
	if (!windows || !windows->is_sampled) {
		snprintf(buf, bytes, "%llu %s", c->nr_allocations,
			 plural(c->nr_allocations, opts->slow_path ? "refill" : "allocation", calls));
		return;
	}
	r = &windows->ranges[WINDOW_ALLOCS];
	seen = windows->cpu_ns > 0 ? 100 * windows->seen_ns / windows->cpu_ns : 0;
	if (windows->at_least)
		snprintf(buf, bytes, "at least %.0f %s by windows of %.1f %% of the CPU time",
			 r->low, calls, seen);
	else
		snprintf(buf, bytes, "%.0f %s (%.0f to %.0f) by windows of %.1f %% of the CPU time",
			 r->value, calls, r->low, r->high, seen);
}

static void print_cost(const struct window_result *w)
{
	if (!w || !w->has_cost || w->cpu_ns <= 0)
		return;
	pr_info("[ perf churn record: Probes took %.2f %% of the target's CPU time (budget %g %%) ]\n",
		100 * w->cost_ns / w->cpu_ns, 100 * w->budget);
}

void record_summary__print(const struct record_opts *opts, const struct recording_counts *c,
			   const struct window_result *windows, const struct record_written *written,
			   bool cut_short)
{
	double file_mb = written->file_bytes / 1048576.0;
	char events[CPU_EVENT_MAX * (sizeof(opts->events[0].name) + 24)];
	char allocations[160], compression[80];

	print_full_rings(opts, c);
	print_losses(c);
	print_gaps(c);
	print_unhooked(c);
	if (cut_short) {
		pr_info("[ perf churn record: Cut short, %.3f MB in %s ]\n", file_mb, opts->output);
		return;
	}
	if (opts->slow_path)
		pr_info("Slow path only: a refill is a call that the allocator's caches could not serve; others were not seen.\n");
	list_events(opts, c, events, sizeof(events));
	describe_compression(written, compression, sizeof(compression));
	print_allocations(opts, c, windows, allocations, sizeof(allocations));
	print_cost(windows);
	pr_info("[ perf churn record: Captured and wrote %.3f MB %s (%s, %llu churn:alloc, %llu churn:free samples; %s, %llu lost)%s ]\n",
		file_mb, opts->output, events, c->nr_alloc_samples,
		c->nr_free_samples, allocations, record_summary__nr_lost(c), compression);
}
