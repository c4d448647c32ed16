// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text report: where it comes from, the verdict, totals, histograms, sites, self-check.
 * Lines of comment begin with "#", as in perf report.
 */
#include <math.h>

#include "format.h"
#include "stdio_priv.h"

static void print_recording(FILE *out, const struct report *r)
{
	const struct report_recording *rec = &r->recording;

	if (rec->command) {
		fputs("# command  : ", out);
		print_text(out, rec->command);
		fputc('\n', out);
	}
	fprintf(out, "# recorded : %.3f s", rec->duration_s);
	if (rec->nr_cpus > 0)
		fprintf(out, " on %d CPU%s", rec->nr_cpus, rec->nr_cpus == 1 ? "" : "s");
	if (rec->hostname) {
		fputs(" of ", out);
		print_text(out, rec->hostname);
	}
	fputc('\n', out);
	if (report__why_cut(r))
		fprintf(out, "# warning  : the recording was cut short: %s\n", report__why_cut(r));
}

static void print_events(FILE *out, const struct report *r)
{
	const struct report_recording *rec = &r->recording;

	fputs("# events   : ", out);
	print_text(out, rec->cpu_event ?: "no CPU event");
	if (rec->freq_hz > 0)
		fprintf(out, " at %.0f Hz", rec->freq_hz);
	fprintf(out, ", %s by %s", calls_word(r), rec->method ?: "an unknown method");
	if (r->windows.is_sampled && r->windows.cpu_ns > 0)
		fprintf(out, " in %llu windows, %.1f %% of the CPU time", r->windows.nr_windows,
			100 * r->windows.seen_ns / r->windows.cpu_ns);
	if (rec->sample_period == 1)
		fputs(", every one", out);
	else if (rec->sample_period > 1)
		fprintf(out, ", about one in %llu sampled", rec->sample_period);
	fputc('\n', out);
}

static void print_cost(FILE *out, const struct report *r)
{
	const struct window_result *w = &r->windows;

	if (!w->has_cost || w->cpu_ns <= 0)
		return;
	fprintf(out, "# cost     : %.2f +- %.2f %% of the CPU time", 100 * w->cost_ns / w->cpu_ns,
		100 * w->cost_err_ns / w->cpu_ns);
	if (w->budget > 0)
		fprintf(out, "; the budget was %g %%", 100 * w->budget);
	fputc('\n', out);
}

static void print_cause(FILE *out, const char **separator, __u64 nr, const char *cause)
{
	char buf[FORMAT_BYTES];

	if (!nr)
		return;
	fprintf(out, "%s%s %s", *separator, format_count(buf, nr), cause);
	*separator = ", ";
}

static void print_losses(FILE *out, const struct report *r)
{
	const struct report_losses *l = &r->losses;
	const char *separator = "";
	char buf[FORMAT_BYTES];
	__u64 full = l->output > l->perf_churn ? l->output : l->perf_churn;

	fputs("# lost     : ", out);
	print_cause(out, &separator, full, "churn samples (ring full)");
	print_cause(out, &separator, l->map, "churn samples (BPF map full)");
	print_cause(out, &separator, l->inflight, "churn samples (call without its return)");
	print_cause(out, &separator, l->perf_other, "other samples (ring full)");
	if (l->gap_ns) {
		fprintf(out, "%sprocesses ran up to %s without probes", separator,
			format_ns(buf, l->gap_ns));
		separator = ", ";
	}
	if (report__why_cut(r))
		fprintf(out, "%swhat came after the cut\n", separator);
	else
		fprintf(out, "%s\n", *separator ? "" : "nothing");
}

/* perf record has no better way than copies. */
static const char *why_stacks_end(const struct report *r)
{
	const struct churn_stacks *w = &r->walks;
	bool is_max_stack = w->nr_max > w->nr_no_map + w->nr_no_table + w->nr_no_cfi + w->nr_fault +
					w->nr_stuck + w->nr_no_reg;
	bool ours = r->recording.has_weights;

	switch (r->recording.call_graph) {
	case CALL_GRAPH_FP:
		return ours ? "as in code without frame pointers: record with --call-graph auto" :
			      "as in code without frame pointers: record with --call-graph dwarf";
	case CALL_GRAPH_DWARF:
		return ours ? "as copies are too small for deep ones: record with --call-graph auto, or dwarf,SIZE" :
			      "as copies are too small for deep ones: record with --call-graph dwarf,SIZE";
	default:
		return is_max_stack ? "at the limit of --max-stack: record with a larger one" :
				      "though walked by call frame information: the self-check says where";
	}
}

static void print_stack_note(FILE *out, const struct report *r)
{
	if (r->recording.call_graph == CALL_GRAPH_NONE)
		fputs("# note     : recorded without call graph: sites are the allocator's callers,"
		      " wrappers or not: record with -g\n", out);
	else if (r->check.nr_cut * 2 > r->check.nr_allocs)
		fprintf(out, "# note     : most stacks end early, %s\n", why_stacks_end(r));
}

static void print_other_events(FILE *out, const struct report_recording *rec)
{
	if (!rec->other_events)
		return;
	fputs("# note     : not in this report: ", out);
	print_text(out, rec->other_events);
	if (rec->cpu_event) {
		fputs("; CPU shares are by ", out);
		print_text(out, rec->cpu_event);
	}
	fputc('\n', out);
}

/* What windows cannot tell. */
static void print_window_notes(FILE *out, const struct report *r)
{
	char length[FORMAT_BYTES];

	if (!r->windows.is_sampled)
		return;
	fprintf(out, "# note     : totals are estimates from windows of up to %s; what was live at a window's\n"
		"#            end counts as cut off there: longer lives were not seen\n",
		format_ns(length, r->windows.longest_ns));
	if (r->windows.at_least)
		fputs("# note     : too many calls, or too few windows, to tell the rate: \">=\" marks what it is at least\n",
		      out);
}

/* OS calls are counted as hits, whatever the sampling and the filters. */
static void print_slow_path(FILE *out, const struct report *r)
{
	const struct report_totals *t = &r->totals;
	char refills[FORMAT_BYTES], allocs[FORMAT_BYTES], frees[FORMAT_BYTES];

	if (!r->recording.slow_path)
		return;
	fprintf(out, "# slow path: only %s%s refills; calls served from the allocator's caches are not seen, nor are frees;\n"
		"#            calls for memory of the system: %s, to give some back if there is enough: %s\n",
		bound_mark(t->allocs.bound), format_count(refills, t->allocs.value),
		format_count(allocs, t->os_allocs), format_count(frees, t->os_frees));
}

static void print_notes(FILE *out, const struct report *r)
{
	if (r->recording.filtered)
		fputs("# filtered : options leave samples out; all figures are about the rest\n", out);
	if (!r->recording.has_weights)
		fputs("# note     : not recorded by perf churn: no frees, no lifetimes, no failed calls;\n"
		      "#            each event counts as one allocation; by frame pointers, stacks may\n"
		      "#            lack the immediate caller\n", out);
	else if (!r->recording.has_frees && !r->recording.slow_path)
		fputs("# note     : the file has no frees: no lifetimes, no live blocks\n", out);
	print_window_notes(out, r);
	print_other_events(out, &r->recording);
	print_stack_note(out, r);
	if (r->recording.nr_late)
		fprintf(out, "# note     : %llu records came out of order: only names may suffer\n",
			r->recording.nr_late);
	if (report__is_lower_bound(r))
		fputs("# note     : samples are missing: \">=\" marks a lower bound, \"<=\" an upper one,"
		      " \"~\" what may be off either way\n", out);
}

static void print_silent_objects(FILE *out, const struct report *r)
{
	const struct report_probe *silent;
	const char *separator;
	size_t idx, i;

	for (idx = 0; (silent = report__silent_object(r, idx)); idx++) {
		fputs("# warning  : no hits in ", out);
		print_text(out, silent->object);
		separator = " (";
		for (i = 0; i < r->nr_probes; i++) {
			if (r->probes[i].object != silent->object)
				continue;
			fputs(separator, out);
			print_text(out, r->probes[i].symbol);
			separator = ", ";
		}
		fputs(r->recording.slow_path ?
		      "): its caches served everything, or the program uses another allocator\n" :
		      "): the program may use another allocator\n", out);
	}
}

static void print_verdict_share(FILE *out, const struct report_cpu *c)
{
	if (isnan(c->share.value))
		return;
	fputs("the allocator takes ", out);
	if (c->few)
		fprintf(out, "%.0f to %.0f %%", 100 * c->share_low, 100 * c->share_high);
	else
		fprintf(out, "%s%.1f %%", c->share.bound ? "at least " : "", 100 * c->share.value);
	fprintf(out, "%s of the CPU, ", c->nr_samples < 100 ? " (few samples)" : "");
}

static void print_verdict(FILE *out, const struct report *r, const struct view_opts *opts)
{
	const char *const words[] = {
		[VERDICT_EMPTY] = r->recording.slow_path ? "No refills" : "No allocations", [VERDICT_NOT_CHURN] = "Not churn",
		[VERDICT_SOME] = "Some churn", [VERDICT_CHURN] = "Churn",
		[VERDICT_UNKNOWN] = "Perhaps churn",
	};
	char rate[FORMAT_BYTES];

	fprintf(out, "%s%s%s: ", opts->color ? "\033[1m" : "", words[r->verdict],
		opts->color ? "\033[0m" : "");
	if (r->verdict == VERDICT_EMPTY) {
		fprintf(out, "%s%s\n", r->recording.filtered ? "none matches the filter" :
							       "none was seen in this recording",
			report__why_cut(r) ? ", which was cut short" : "");
		return;
	}
	print_verdict_share(out, &r->cpu);
	if (r->windows.is_off) {
		fputs("allocations were not counted (--budget 0)\n", out);
		return;
	}
	fprintf(out, "%s%s %s/s", bound_mark(r->totals.allocs.bound),
		format_si(rate, report__rate(r, r->totals.allocs.value)), calls_word(r));
	if (!r->cpu.nr_samples)
		fputs("; no CPU samples to weigh them against", out);
	else if (isnan(r->cpu.share.value))
		fputs("; their share of the CPU is not known", out);
	fputc('\n', out);
}

/* "  Allocations        2,541,003 +- 1.2 %" */
static void print_total(FILE *out, const char *title, const struct estimate *e, bool bytes)
{
	const char *(*format)(char *, double) = bytes ? format_bytes : format_count;
	char value[FORMAT_BYTES], error[FORMAT_BYTES], cell[2 * FORMAT_BYTES];

	snprintf(cell, sizeof(cell), "%s%s", bound_mark(e->bound), format(value, e->value));
	fprintf(out, "  %-12s %15s %-9s", title, cell, format_error(error, e));
}

/* "      1.21 M/s", behind its total. */
static void print_per_second(FILE *out, const struct report *r, const struct estimate *e,
			     bool bytes)
{
	const char *(*format)(char *, double) = bytes ? format_bytes : format_si;
	char rate[FORMAT_BYTES], cell[2 * FORMAT_BYTES];

	snprintf(cell, sizeof(cell), "%s%s/s", bound_mark(e->bound),
		 format(rate, report__rate(r, e->value)));
	fprintf(out, " %12s", cell);
}

/* "   95 %: 23,205 to 25,196", where it is an estimate. */
static void print_range(FILE *out, const struct report *r, enum window_count which, bool bytes)
{
	const struct window_range *range = &r->windows.ranges[which];
	const char *(*format)(char *, double) = bytes ? format_bytes : format_count;
	char low[FORMAT_BYTES], high[FORMAT_BYTES];

	if (!r->windows.is_sampled || r->windows.at_least || !r->recording.has_windows)
		return;
	fprintf(out, "   95 %%: %s to %s", format(low, range->low), format(high, range->high));
}

static void print_count(FILE *out, const char *title, const struct estimate *e)
{
	char value[FORMAT_BYTES], error[FORMAT_BYTES];

	if (isnan(e->value))
		return;
	fprintf(out, "   %s %s", title, format_count(value, e->value));
	if (e->error > 0)
		fprintf(out, " %s", format_error(error, e));
}

static void print_live(FILE *out, const struct report_totals *t)
{
	char bytes[FORMAT_BYTES], cell[2 * FORMAT_BYTES], error[FORMAT_BYTES], most[FORMAT_BYTES];

	print_total(out, "Live at end", &t->live_allocs, false);
	snprintf(cell, sizeof(cell), "%s%s", bound_mark(t->live_bytes.bound),
		 format_bytes(bytes, t->live_bytes.value));
	fprintf(out, " %12s", cell);
	if (t->live_bytes.error > 0)
		fprintf(out, "   %s", format_error(error, &t->live_bytes));
	if (!isnan(t->live_most))
		fprintf(out, "   none of the sampled ones; all in all less than %s (95 %%)",
			format_count(most, ceil(t->live_most)));
	fputc('\n', out);
}

static void print_totals(FILE *out, const struct report *r)
{
	const struct report_totals *t = &r->totals;
	struct estimate before = { .value = t->freed_before };

	if (r->windows.is_off)
		return;

	print_total(out, calls_title(r), &t->allocs, false);
	print_per_second(out, r, &t->allocs, false);
	print_range(out, r, WINDOW_ALLOCS, false);
	print_count(out, "failed", &t->failed);
	fputc('\n', out);
	print_total(out, "Bytes", &t->bytes, true);
	print_per_second(out, r, &t->bytes, true);
	print_range(out, r, WINDOW_BYTES, true);
	fputc('\n', out);
	if (!r->recording.has_frees)
		return;
	print_total(out, "Frees", &t->frees, false);
	print_per_second(out, r, &t->frees, false);
	print_range(out, r, WINDOW_FREES, false);
	if (isnan(t->freed_before))
		fputs("   of blocks allocated before: unknown", out);
	else
		print_count(out, "of blocks allocated before", &before);
	fputc('\n', out);
	if (isnan(t->live_allocs.value))
		fputs("  Live at end         unknown\n", out);
	else
		print_live(out, t);
}

static void print_cpu_share(FILE *out, const struct report_cpu *c)
{
	char value[FORMAT_BYTES] = "unknown", error[FORMAT_BYTES] = "";
	bool known = !isnan(c->share.value);

	if (known)
		snprintf(value, sizeof(value), "%s%.1f %%", bound_mark(c->share.bound),
			 100 * c->share.value);
	if (known && c->few)
		snprintf(error, sizeof(error), "%.0f to %.0f", 100 * c->share_low,
			 100 * c->share_high);
	else if (known)
		snprintf(error, sizeof(error), "+- %.1f", 100 * c->share.error);
	fprintf(out, "  %-12s %15s %-9s ", "CPU share", value, error);
	if (!known && c->nr_samples)
		fputs("stacks recorded without copies do not tell which site the allocator ran for\n", out);
	else
		fprintf(out, "%llu of %llu samples %s\n", c->nr_allocator, c->nr_samples,
			c->share.bound ? "are in an allocator function" :
					 "have an allocator function on their stack");
}

static void print_cpu(FILE *out, const struct report *r)
{
	const struct report_cpu *c = &r->cpu;

	if (!c->nr_samples && !c->nr_probe)
		return;
	print_cpu_share(out, c);
	if (c->share.bound == BOUND_LOWER)
		fprintf(out, "%41s%llu are in the kernel: without call graph, for the allocator, the probes,"
			" or neither\n", "", c->nr_kernel);
	if (c->nr_unnamed_libc)
		fprintf(out, "%41s%llu more lie in nameless code of the C library: its debug symbols would tell\n",
			"", c->nr_unnamed_libc);
	if (c->nr_windowed)
		fprintf(out, "%41s%llu more were taken while a window was open, left out\n", "",
			c->nr_windowed);
	if (c->nr_probe)
		fprintf(out, "%41s%llu more (%.1f %% of the CPU) are the cost of the probes, left out\n",
			"", c->nr_probe, 100 * c->probe_share);
}

static void print_class(FILE *out, const char *title, double part)
{
	fprintf(out, "   %s %.1f %%", title, 100 * part);
}

/* "# on-CPU   : 14.2 s   allocator 22.1 % (malloc 12.0, free 9.1)   heap faults 6.2 % ..." */
static void print_classes(FILE *out, const struct report *r)
{
	const struct report_cpu *c = &r->cpu;
	double realloc_part = c->classes[CLASS_REALLOC].value;

	if (isnan(c->allocator.value))
		return;
	fputs("# on-CPU   :", out);
	if (!isnan(c->on_cpu_s))
		fprintf(out, " %.3g s  ", c->on_cpu_s);
	fprintf(out, " allocator %.1f %% (malloc %.1f, free %.1f", 100 * c->allocator.value,
		100 * c->classes[CLASS_MALLOC].value, 100 * c->classes[CLASS_FREE].value);
	if (realloc_part > 0)
		fprintf(out, ", realloc %.1f", 100 * realloc_part);
	fputc(')', out);
	print_class(out, "heap faults", c->classes[CLASS_HEAP_FAULT].value);
	print_class(out, "heap syscalls", c->classes[CLASS_HEAP_SYSCALL].value);
	if (c->classes[CLASS_PROBE].value > 0)
		print_class(out, "probes", c->classes[CLASS_PROBE].value);
	print_class(out, "compute", c->classes[CLASS_COMPUTE].value);
	fputc('\n', out);
}

static void print_header(FILE *out, const struct report *r)
{
	print_recording(out, r);
	print_events(out, r);
	print_cost(out, r);
	print_classes(out, r);
	print_losses(out, r);
	print_slow_path(out, r);
	print_notes(out, r);
	print_silent_objects(out, r);
	fputs("#\n", out);
}

int view__stdio(FILE *out, const struct report *r, const struct view_opts *opts)
{
	int err;

	if (!opts->quiet || opts->header_only)
		print_header(out, r);
	if (opts->header_only)
		return 0;
	if (opts->separator)
		return print_sites_table(out, r, opts);
	if (!opts->quiet) {
		print_verdict(out, r, opts);
		fputc('\n', out);
	}
	print_totals(out, r);
	print_cpu(out, r);
	print_histograms(out, r);
	err = print_sites_table(out, r, opts);
	if (!err && !opts->quiet)
		print_self_check(out, r, opts);
	return err;
}
