// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>

#include "format.h"
#include "stdio_priv.h"

static void print_probes(FILE *out, const struct report *r)
{
	size_t nr_hit = 0, nr_stepped = 0, i;
	char hits[FORMAT_BYTES];
	double sum = 0;

	if (!r->nr_probes)
		return;
	for (i = 0; i < r->nr_probes; i++) {
		nr_hit += r->probes[i].nr_hits > 0;
		nr_stepped += !r->probes[i].emulated;
		sum += r->probes[i].nr_hits;
	}
	fprintf(out, "#   probes   : %zu of %zu fired, %s hits", nr_hit, r->nr_probes,
		format_count(hits, sum));
	if (nr_stepped)
		fprintf(out, "; %zu single-stepped, which is slow", nr_stepped);
	fputc('\n', out);
}

static void print_each_probe(FILE *out, const struct report *r)
{
	char hits[FORMAT_BYTES];
	size_t i;

	for (i = 0; i < r->nr_probes; i++) {
		fprintf(out, "#              %12s hits  ", format_count(hits, r->probes[i].nr_hits));
		print_text(out, r->probes[i].symbol);
		fputs(" in ", out);
		print_text(out, r->probes[i].object);
		fputc('\n', out);
	}
}

static void print_events(FILE *out, const struct report *r)
{
	const struct report_losses *l = &r->losses;
	const struct report_check *c = &r->check;

	fprintf(out, "#   events   : %llu allocation and %llu free samples read, %llu lost"
		" (ring full %llu, map full %llu, no return %llu), %llu not decodable\n",
		c->nr_allocs, c->nr_frees, report__nr_lost(r),
		l->output > l->perf_churn ? l->output : l->perf_churn, l->map, l->inflight,
		c->nr_bad);
}

static void print_stacks(FILE *out, const struct report *r)
{
	const struct report_check *c = &r->check;

	fputs("#   stacks   : ", out);
	if (c->nr_stacks)
		fprintf(out, "caller present in %llu of %llu, %llu of them repaired by the recorder, ",
			c->nr_stacks - c->nr_caller_missing, c->nr_stacks, c->nr_repaired);
	if (c->nr_caller_twice)
		fprintf(out, "caller doubled in %llu, ", c->nr_caller_twice);
	fprintf(out, "%llu of allocations end before their thread's start, %llu without any frame\n",
		c->nr_cut, c->nr_no_stack);
}

static void print_end(FILE *out, const char **before, __u64 nr, const char *what)
{
	if (!nr)
		return;
	fprintf(out, "%s%llu %s", *before, nr, what);
	*before = ", ";
}

/* Of all stacks in the file, those of CPU samples, too. */
static void print_walks(FILE *out, const struct report *r)
{
	const struct churn_stacks *s = &r->walks;
	__u64 cut = s->nr_max + s->nr_no_map + s->nr_no_table + s->nr_no_cfi + s->nr_fault +
		    s->nr_stuck + s->nr_no_reg;
	const char *before = " (";

	if (!s->nr_complete && !cut)
		return;
	fprintf(out, "#   walks    : %llu of %llu stacks by call frame information reach their thread's start, %llu cut",
		s->nr_complete, s->nr_complete + cut, cut);
	print_end(out, &before, s->nr_max, "at --max-stack");
	print_end(out, &before, s->nr_no_map, "at an unknown address");
	print_end(out, &before, s->nr_no_table, "at a file not read in time");
	print_end(out, &before, s->nr_no_cfi, "at code without CFI");
	print_end(out, &before, s->nr_fault, "at unreadable memory");
	print_end(out, &before, s->nr_stuck, "at frames out of order");
	print_end(out, &before, s->nr_no_reg, "at an unknown register");
	fprintf(out, "%s; %llu walked from copies\n", cut ? ")" : "", s->nr_copied);
}

static void print_frees(FILE *out, const struct report *r)
{
	const struct report_check *c = &r->check;

	if (!r->recording.has_frees)
		return;
	fprintf(out, "#   frees    : %llu matched to their allocation, %llu unmatched:"
		" %llu allocated before, %llu by a forked child, %llu whose allocation %s\n",
		c->nr_freed, c->nr_freed_unseen + c->nr_freed_inherited + c->nr_freed_unmatched,
		c->nr_freed_unseen, c->nr_freed_inherited, c->nr_freed_unmatched,
		r->recording.filtered ? "is left out" : "is not in the file");
	if (c->nr_untracked)
		fprintf(out, "#              %llu allocations not followed: too many live at a time\n",
			c->nr_untracked);
}

static void print_scaled(FILE *out, const struct report *r)
{
	const struct report_totals *t = &r->totals;
	const struct estimate *e = &t->sampled_allocs;
	char estimate[FORMAT_BYTES], counted[FORMAT_BYTES], error[FORMAT_BYTES];
	double off = e->value - t->allocs.value;

	if (!r->recording.has_windows || r->windows.is_sampled)
		return;
	fprintf(out, "#   scaled   : samples stand for %s %s%s%s, counted were %s",
		format_count(estimate, e->value), calls_word(r), e->error > 0 ? " " : "", format_error(error, e),
		format_count(counted, t->allocs.value));
	if (t->allocs.value > 0)
		fprintf(out, " (%+.2f %%", 100 * off / t->allocs.value);
	if (t->allocs.value > 0 && e->error > 0)
		fprintf(out, ", %.1f standard errors", fabs(off) / e->error);
	fprintf(out, "%s\n", t->allocs.value > 0 ? ")" : "");
}

static void print_names(FILE *out, const struct report *r)
{
	const struct report_check *c = &r->check;

	if (c->nr_frames)
		fprintf(out, "#   names    : %llu of %llu frames without a symbol, %llu of them in no object\n",
			c->nr_unnamed + c->nr_unmapped, c->nr_frames, c->nr_unmapped);
}

static void print_part(FILE *out, const char **before, double part, const char *what)
{
	if (part < 0.00005)
		return;
	fprintf(out, "%s%.2f %% of the CPU %s", *before, 100 * part, what);
	*before = ", ";
}

/* How CPU time came to its sites: all are parts of the program's. */
static void print_costs(FILE *out, const struct report *r)
{
	const struct report_spread *s = &r->cpu.spread;
	const char *before = "#   free CPU : ";

	if (!s->known)
		return;
	print_part(out, &before, s->frees_by_line, "spread by frees sampled at the same call");
	print_part(out, &before, s->frees_by_function, "by those in the same function");
	print_part(out, &before, s->frees_unknown, "by none: too few samples");
	fputs(*before == ',' ? "\n" : "", out);
	before = "#   faults   : ";
	print_part(out, &before, s->faults_inside, "below an allocator function");
	print_part(out, &before, s->faults_fresh, "in the kernel's functions for fresh memory");
	print_part(out, &before, s->faults_likely, "likely so, as others of the same function");
	print_part(out, &before, s->faults_unknown, "of these on nobody's known blocks");
	fputs(*before == ',' ? "\n" : "", out);
	before = "#   costs    : ";
	print_part(out, &before, r->cpu.unattributed.whole.value, "of no known site");
	print_part(out, &before, s->side_unknown, "in nameless allocator functions: by the calls sampled there");
	print_part(out, &before, s->kernel_unnamed, "in nameless kernel functions: faults and syscalls are not told apart");
	fputs(*before == ',' ? "\n" : "", out);
}

void print_self_check(FILE *out, const struct report *r, const struct view_opts *opts)
{
	fputs("#\n# Self-check\n", out);
	print_probes(out, r);
	if (opts->verbose > 0)
		print_each_probe(out, r);
	print_events(out, r);
	if (report__why_cut(r))
		fprintf(out, "#   file     : not the whole recording: %s\n", report__why_cut(r));
	print_stacks(out, r);
	print_walks(out, r);
	print_frees(out, r);
	print_costs(out, r);
	print_scaled(out, r);
	print_names(out, r);
	if (r->recording.has_frees)
		fputs("#\n# Median life: by Kaplan-Meier, blocks still live count as cut off at the end; \"-\": not known.\n",
		      out);
}
