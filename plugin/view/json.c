// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "churn/advice.h"
#include "churn/stacks.h"
#include "format.h"
#include "json_out.h"
#include "json_shape.h"
#include "view.h"

static void print_lost(struct json_out *j, const struct report *r)
{
	const struct report_losses *l = &r->losses;

	json__open(j, "lost", '{');
	json__u64(j, "samples", l->perf_other);
	json__u64(j, "churn_events", report__nr_lost(r));
	json__u64(j, "output", l->output);
	json__u64(j, "map", l->map);
	json__u64(j, "inflight", l->inflight);
	json__u64(j, "perf_churn", l->perf_churn);
	json__close(j, '}');
}

static const char *call_graph_name(enum call_graph call_graph)
{
	static const char *const names[] = {
		[CALL_GRAPH_FP] = "fp", [CALL_GRAPH_CFI] = "cfi",
		[CALL_GRAPH_DWARF] = "dwarf", [CALL_GRAPH_NONE] = "none",
	};

	return names[call_graph];
}

static void print_recording(struct json_out *j, const struct report *r)
{
	const struct report_recording *rec = &r->recording;

	json__open(j, "recording", '{');
	json__string(j, "command", rec->command);
	json__string(j, "hostname", rec->hostname);
	json__number(j, "duration_s", rec->duration_s);
	json__u64(j, "cpus", rec->nr_cpus > 0 ? rec->nr_cpus : 0);
	json__string(j, "method", rec->method);
	json__bool(j, "slow_path", rec->slow_path);
	json__u64(j, "sample_period", rec->sample_period);
	json__string(j, "call_graph", call_graph_name(rec->call_graph));
	json__string(j, "cpu_call_graph", call_graph_name(rec->cpu_call_graph));
	json__string(j, "cpu_event", rec->cpu_event);
	json__string(j, "other_events", rec->other_events);
	json__number(j, "freq_hz", rec->freq_hz);
	print_lost(j, r);
	json__number(j, "gap_s", r->losses.gap_ns / 1e9);
	json__u64(j, "late_records", rec->nr_late);
	json__bool(j, "truncated", report__why_cut(r));
	json__string(j, "truncated_reason", report__why_cut(r));
	json__bool(j, "filtered", rec->filtered);
	json__bool(j, "lower_bounds", report__is_lower_bound(r));
	json__close(j, '}');
}

static void print_range(struct json_out *j, const char *key, const struct window_range *range,
			bool at_least)
{
	json__open(j, key, '{');
	json__number(j, "low", range->low);
	json__number(j, "high", at_least ? NAN : range->high);
	json__close(j, '}');
}

static void print_windows(struct json_out *j, const struct report *r)
{
	const struct window_result *w = &r->windows;

	json__open(j, "windows", '{');
	json__bool(j, "sampled", w->is_sampled);
	json__bool(j, "at_least", w->at_least);
	json__u64(j, "windows", w->nr_windows);
	json__number(j, "longest_ns", w->longest_ns);
	json__number(j, "cpu_s", w->has_cost ? w->cpu_ns / 1e9 : NAN);
	json__number(j, "seen_s", w->has_cost ? w->seen_ns / 1e9 : NAN);
	json__number(j, "cost_s", w->has_cost ? w->cost_ns / 1e9 : NAN);
	json__number(j, "cost_s_error", w->has_cost ? w->cost_err_ns / 1e9 : NAN);
	json__number(j, "budget", w->budget > 0 ? w->budget : NAN);
	print_range(j, "allocs_95", &w->ranges[WINDOW_ALLOCS], w->at_least);
	print_range(j, "bytes_95", &w->ranges[WINDOW_BYTES], w->at_least);
	print_range(j, "frees_95", &w->ranges[WINDOW_FREES], w->at_least);
	json__close(j, '}');
}

static void json__percent(struct json_out *j, const char *key, double part)
{
	json__number(j, key, 100 * part);
}

static void print_cpu_percent(struct json_out *j, const struct report_cpu *c)
{
	json__open(j, "cpu_percent", '{');
	json__percent(j, "allocator", c->allocator.value);
	json__percent(j, "malloc", c->classes[CLASS_MALLOC].value);
	json__percent(j, "free", c->classes[CLASS_FREE].value);
	json__percent(j, "realloc", c->classes[CLASS_REALLOC].value);
	json__percent(j, "heap_fault", c->classes[CLASS_HEAP_FAULT].value);
	json__percent(j, "heap_syscall", c->classes[CLASS_HEAP_SYSCALL].value);
	json__percent(j, "probe", c->classes[CLASS_PROBE].value);
	json__percent(j, "compute", c->classes[CLASS_COMPUTE].value);
	json__close(j, '}');
}

static void print_totals(struct json_out *j, const struct report *r)
{
	const struct report_totals *t = &r->totals;

	json__open(j, "totals", '{');
	json__estimate(j, "allocs", &t->allocs);
	json__estimate(j, "frees", &t->frees);
	json__estimate(j, "bytes", &t->bytes);
	json__estimate(j, "failed", &t->failed);
	json__estimate(j, "live_allocs", &t->live_allocs);
	json__estimate(j, "live_bytes", &t->live_bytes);
	json__number(j, "live_allocs_most", t->live_most);
	json__number(j, "allocs_per_s", report__rate(r, t->allocs.value));
	json__number(j, "allocs_per_s_error", report__rate(r, t->allocs.error));
	json__number(j, "frees_per_s", report__rate(r, t->frees.value));
	json__number(j, "bytes_per_s", report__rate(r, t->bytes.value));
	json__number(j, "freed_before", t->freed_before);
	json__u64(j, "reallocs", t->reallocs);
	json__u64(j, "free_null", t->free_null);
	json__u64(j, "free_internal", t->free_internal);
	json__number(j, "os_allocs", t->os_allocs);
	json__number(j, "os_frees", t->os_frees);
	print_cpu_percent(j, &r->cpu);
	json__percent(j, "unattributed_percent", r->cpu.unattributed.whole.value);
	json__number(j, "on_cpu_s", r->cpu.on_cpu_s);
	json__close(j, '}');
}

static const char *verdict_name(enum report_verdict verdict)
{
	switch (verdict) {
	case VERDICT_EMPTY:
		return "empty";
	case VERDICT_NOT_CHURN:
		return "not churn";
	case VERDICT_SOME:
		return "some churn";
	case VERDICT_CHURN:
		return "churn";
	case VERDICT_UNKNOWN:
		break;
	}
	return "unknown";
}

static void print_cpu(struct json_out *j, const struct report *r)
{
	const struct report_cpu *c = &r->cpu;

	json__open(j, "cpu", '{');
	json__string(j, "verdict", verdict_name(r->verdict));
	json__u64(j, "samples", c->nr_samples);
	json__u64(j, "allocator_samples", c->nr_allocator);
	json__estimate(j, "allocator_share", &c->share);
	json__number(j, "allocator_share_low", c->share_low);
	json__number(j, "allocator_share_high", c->share_high);
	json__u64(j, "probe_samples", c->nr_probe);
	json__number(j, "probe_share", c->probe_share);
	json__u64(j, "windowed_samples", c->nr_windowed);
	json__u64(j, "chained_samples", c->nr_chained);
	json__u64(j, "kernel_samples", c->nr_kernel);
	json__u64(j, "unnamed_allocator_samples", c->nr_unnamed_libc);
	json__close(j, '}');
}

static void print_function_name(struct json_out *j, const char *key, const struct stack_frame *f)
{
	char address[32];

	if (f->sym) {
		json__string(j, key, f->sym);
		return;
	}
	snprintf(address, sizeof(address), "%#llx", f->rel_ip);
	json__string(j, key, f->rel_ip ? address : "[unknown]");
}

/* In a stack there is no room for "inlined" but the name, marked as in the text. */
static void print_stack_frame(struct json_out *j, const struct stack_frame *f)
{
	char *marked;

	if (!f->inlined || !f->sym) {
		print_function_name(j, NULL, f);
		return;
	}
	if (asprintf(&marked, "%s (inlined)", f->sym) < 0)
		return;
	json__string(j, NULL, marked);
	free(marked);
}

/* The heaviest stack of a site, cut at the site. */
static __u32 hottest_stack(const struct report *r, const struct report_site *site, bool by_bytes)
{
	size_t i, best = site->first_path;

	/* One that only CPU samples have seen. */
	if (!site->nr_paths)
		return site->stack;
	for (i = best + 1; i < site->first_path + site->nr_paths; i++) {
		const struct report_path *a = &r->paths[i], *b = &r->paths[best];

		if (by_bytes ? a->bytes.value > b->bytes.value : a->allocs.value > b->allocs.value)
			best = i;
	}
	return stacks__site(r->stacks, r->paths[best].stack);
}

static void print_stack(struct json_out *j, const struct report *r, const struct report_site *site,
			const struct view_opts *opts)
{
	__u32 stack = hottest_stack(r, site, opts->by == BY_BYTES);
	size_t depth = 0;

	json__open(j, "stack", '[');
	for (; stack != STACK_NONE && depth < opts->max_stack; depth++) {
		print_stack_frame(j, stacks__frame(r->stacks, stack));
		stack = stacks__caller(r->stacks, stack);
	}
	json__close(j, ']');
}

static void print_cost(struct json_out *j, const struct report_cost *c)
{
	bool known = !isnan(c->whole.value);

	json__percent(j, "cpu_percent", c->whole.value);
	json__percent(j, "cpu_error", known ? c->whole.error : NAN);
	json__percent(j, "malloc_percent", c->parts[CLASS_MALLOC]);
	json__percent(j, "free_percent", c->parts[CLASS_FREE]);
	json__percent(j, "realloc_percent", c->parts[CLASS_REALLOC]);
	json__percent(j, "fault_percent", c->parts[CLASS_HEAP_FAULT]);
	json__percent(j, "syscall_percent", c->parts[CLASS_HEAP_SYSCALL]);
	json__percent(j, "zeroing_percent", c->zeroing);
	json__percent(j, "saving_percent", c->saving.value);
	json__percent(j, "saving_error", known ? c->saving.error : NAN);
}

static void print_advice(struct json_out *j, const struct report_site *s)
{
	size_t i;

	json__open(j, "advice", '[');
	for (i = 0; i < s->nr_advice; i++) {
		const struct report_advice *a = &s->advice[i];
		bool known = !isnan(a->saving.value);

		json__open(j, NULL, '{');
		json__string(j, "kind", advice__name(a->kind));
		json__string(j, "text", a->text);
		json__number(j, "cpu_percent", a->saving.value);
		json__number(j, "cpu_error", known ? a->saving.error : NAN);
		json__close(j, '}');
	}
	json__close(j, ']');
}

static void print_site_object(struct json_out *j, const struct site_row *row,
			      const struct view_opts *opts)
{
	const struct report_site *s = row->site;
	const struct stack_frame *f = stacks__frame(row->report->stacks, s->stack);

	json__open(j, NULL, '{');
	json__u64(j, "rank", row->rank);
	print_function_name(j, "function", f);
	json__string(j, "dso", f->dso);
	json__string(j, "srcline", f->srcline);
	json__bool(j, "inlined", f->inlined);
	print_stack(j, row->report, s, opts);
	json__number(j, "share", row->share);
	json__u64(j, "samples", s->nr_samples);
	json__estimate(j, "allocs", &s->allocs);
	json__estimate(j, "bytes", &s->bytes);
	json__number(j, "allocs_per_s", report__rate(row->report, s->allocs.value));
	json__estimate(j, "avg_size", &s->avg_bytes);
	json__number(j, "p50_life_ns", s->p50_life_ns);
	json__bound(j, "p50_life_ns_bound", isnan(s->p50_life_ns) ? BOUND_NONE : s->life_bound);
	json__estimate(j, "frees", &s->frees);
	json__estimate(j, "live_allocs", &s->live_allocs);
	json__estimate(j, "live_bytes", &s->live_bytes);
	json__shape(j, row->report, s->shape);
	print_cost(j, &s->cost);
	print_advice(j, s);
	json__close(j, '}');
}

static int print_sites(struct json_out *j, const struct report *r, const struct view_opts *opts)
{
	struct site_row *rows;
	size_t nr, i;

	if (rows__new(r, opts, &rows, &nr))
		return -ENOMEM;
	json__open(j, "sites", '[');
	for (i = 0; i < nr; i++)
		print_site_object(j, &rows[i], opts);
	json__close(j, ']');
	free(rows);
	return 0;
}

static void print_probes(struct json_out *j, const struct report *r)
{
	size_t i;

	json__open(j, "probes", '[');
	for (i = 0; i < r->nr_probes; i++) {
		const struct report_probe *p = &r->probes[i];

		json__open(j, NULL, '{');
		json__string(j, "symbol", p->symbol);
		json__string(j, "object", p->object);
		json__u64(j, "offset", p->offset);
		json__u64(j, "hits", p->nr_hits);
		json__bool(j, "emulated", p->emulated);
		json__close(j, '}');
	}
	json__close(j, ']');
}

static void print_walks(struct json_out *j, const struct churn_stacks *s)
{
	json__open(j, "walks", '{');
	json__u64(j, "complete", s->nr_complete);
	json__u64(j, "max_stack", s->nr_max);
	json__u64(j, "no_map", s->nr_no_map);
	json__u64(j, "no_table", s->nr_no_table);
	json__u64(j, "no_cfi", s->nr_no_cfi);
	json__u64(j, "fault", s->nr_fault);
	json__u64(j, "stuck", s->nr_stuck);
	json__u64(j, "no_register", s->nr_no_reg);
	json__u64(j, "no_user", s->nr_no_user);
	json__u64(j, "copied", s->nr_copied);
	json__close(j, '}');
}

static void print_spread(struct json_out *j, const struct report_spread *s)
{
	json__open(j, "costs", '{');
	json__bool(j, "known", s->known);
	json__percent(j, "frees_by_line", s->frees_by_line);
	json__percent(j, "frees_by_function", s->frees_by_function);
	json__percent(j, "frees_unknown", s->frees_unknown);
	json__percent(j, "faults_in_allocator", s->faults_inside);
	json__percent(j, "faults_fresh", s->faults_fresh);
	json__percent(j, "faults_likely", s->faults_likely);
	json__percent(j, "faults_unknown", s->faults_unknown);
	json__percent(j, "side_unknown", s->side_unknown);
	json__percent(j, "kernel_unnamed", s->kernel_unnamed);
	json__close(j, '}');
}

static void print_check(struct json_out *j, const struct report *r)
{
	const struct report_check *c = &r->check;

	json__open(j, "self_check", '{');
	json__u64(j, "alloc_samples", c->nr_allocs);
	json__u64(j, "free_samples", c->nr_frees);
	json__u64(j, "undecodable_samples", c->nr_bad);
	json__u64(j, "probe_hits", r->totals.hits);
	print_probes(j, r);
	json__estimate(j, "sampled_allocs", &r->totals.sampled_allocs);
	json__estimate(j, "sampled_bytes", &r->totals.sampled_bytes);
	json__estimate(j, "sampled_frees", &r->totals.sampled_frees);
	json__bool(j, "totals_counted", r->recording.has_windows);
	json__u64(j, "stacks", c->nr_stacks);
	json__u64(j, "stacks_without_caller", c->nr_caller_missing);
	json__u64(j, "stacks_caller_twice", c->nr_caller_twice);
	json__u64(j, "stacks_repaired", c->nr_repaired);
	json__u64(j, "stacks_cut", c->nr_cut);
	json__u64(j, "stacks_empty", c->nr_no_stack);
	print_walks(j, &r->walks);
	json__u64(j, "frames", c->nr_frames);
	json__u64(j, "frames_unmapped", c->nr_unmapped);
	json__u64(j, "frames_unnamed", c->nr_unnamed);
	json__u64(j, "frees_matched", c->nr_freed);
	json__u64(j, "frees_unseen", c->nr_freed_unseen);
	json__u64(j, "frees_inherited", c->nr_freed_inherited);
	json__u64(j, "frees_unmatched", c->nr_freed_unmatched);
	json__u64(j, "allocs_untracked", c->nr_untracked);
	print_spread(j, &r->cpu.spread);
	json__close(j, '}');
}

int view__json(FILE *out, const struct report *r, const struct view_opts *opts)
{
	struct json_out j = { .out = out };
	int err;

	json__open(&j, NULL, '{');
	json__string(&j, "schema", "perf-churn-report/1");
	print_recording(&j, r);
	print_totals(&j, r);
	print_windows(&j, r);
	print_cpu(&j, r);
	json__histogram(&j, "size_histogram", "le", "allocs", r->sizes, r->nr_sizes);
	json__histogram(&j, "lifetime_histogram", "le_ns", "frees", r->lives, r->nr_lives);
	err = print_sites(&j, r, opts);
	print_check(&j, r);
	json__close(&j, '}');
	return err;
}
