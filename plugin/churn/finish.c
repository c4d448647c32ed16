// SPDX-License-Identifier: GPL-2.0-only
/*
 * From sums to the report's figures.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model_priv.h"

/* Below this share of the CPU, allocation is not worth anybody's time; above the other, it is. */
#define SHARE_NOT_CHURN		0.02
#define SHARE_CHURN		0.10
/* Without CPU samples only a rate that cannot matter is judged: some 50 ns an allocation. */
#define RATE_NOT_CHURN		10000.0

static struct estimate estimate_of(double value, double variance)
{
	return (struct estimate){ value, sqrt(variance) };
}

static struct estimate counted(double value)
{
	return (struct estimate){ value, 0 };
}

static struct estimate tally_count(const struct tally *t)
{
	return estimate_of(t->count, t->var);
}

static struct estimate tally_bytes(const struct tally *t)
{
	return estimate_of(t->bytes, t->var_bytes);
}

/* The ratio of two estimates from the same samples, by linearisation. */
static struct estimate tally_mean(const struct tally *t)
{
	double mean, var;

	if (t->count <= 0)
		return counted(0);
	mean = t->bytes / t->count;
	var = t->var_bytes - 2 * mean * t->cov + mean * mean * t->var;
	return estimate_of(mean, var > 0 ? var / (t->count * t->count) : 0);
}

/* When the block's process ended or exec'ed, or the recording did. */
static __u64 end_of_block(const struct model *m, const struct live_block *b, __u64 end_ns)
{
	__u64 hash = hash_mix(0, b->pid);
	const struct process *p;
	size_t pos, i;
	__u32 id;

	for (id = index__first(&m->proc_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&m->proc_index, hash, &pos)) {
		p = &m->procs[id];
		for (i = 0; p->pid == b->pid && i < p->nr_ends; i++) {
			if (p->ends_ns[i] >= b->time_ns)
				return p->ends_ns[i] < end_ns ? p->ends_ns[i] : end_ns;
		}
	}
	return end_ns;
}

static int censor_live(struct model *m, __u64 end_ns, struct tally *all)
{
	const struct live_block *b;
	size_t pos = 0;

	while ((b = live__next(m->live, &pos))) {
		struct site *site = &m->sites[m->paths[b->path].site];
		__u64 end = end_of_block(m, b, end_ns);
		int err = lives__add_censored(&site->lives,
					      end > b->time_ns ? end - b->time_ns : 0, b->weight);

		if (err)
			return err;
		tally__add(&site->live, b->weight, b->size_bytes);
		tally__add(all, b->weight, b->size_bytes);
	}
	return 0;
}

/* Counted up to each process's last window, estimated from samples after it. */
static void finish_counted_totals(struct model *m, struct report_totals *t)
{
	const struct churn_window *w = &m->windows;
	struct tally tail = {0}, freed = {0};
	size_t i;

	for (i = 0; i < m->nr_procs; i++) {
		tally__merge(&tail, &m->procs[i].tail);
		tally__merge(&freed, &m->procs[i].tail_freed);
	}
	t->allocs = estimate_of(w->nr_allocs + tail.count, tail.var);
	t->bytes = estimate_of(w->alloc_bytes + tail.bytes, tail.var_bytes);
	t->frees = estimate_of(w->nr_frees + freed.count, freed.var);
	t->failed = estimate_of(w->nr_failed, m->failed_var);
	t->freed_before = w->nr_free_unseen > m->nr_freed_inherited ?
			  w->nr_free_unseen - m->nr_freed_inherited : 0;
	t->free_null = w->nr_free_null;
	t->free_internal = w->nr_free_internal;
	t->reallocs = w->nr_reallocs;
	t->hits = w->nr_hits;
}

static void finish_totals(struct model *m, bool use_windows)
{
	struct report_totals *t = &m->report.totals;

	t->sampled_allocs = tally_count(&m->sampled);
	t->sampled_bytes = tally_bytes(&m->sampled);
	t->sampled_frees = tally_count(&m->freed);
	if (use_windows && m->nr_windows) {
		finish_counted_totals(m, t);
		return;
	}
	t->allocs = t->sampled_allocs;
	t->bytes = t->sampled_bytes;
	t->frees = t->sampled_frees;
	t->failed = counted(NAN);
	t->freed_before = m->nr_freed_before;
}

static size_t finish_classes(const struct tally *from, struct report_class *to)
{
	size_t first = 0, end = LOG2_CLASSES, i;

	while (first < end && !from[first].count)
		first++;
	while (end > first && !from[end - 1].count)
		end--;
	for (i = first; i < end; i++) {
		to[i - first].le = log2_class_bound(i);
		to[i - first].count = tally_count(&from[i]);
	}
	return end - first;
}

static void finish_cpu(struct model *m)
{
	struct report_cpu *cpu = &m->report.cpu;
	double all = m->cpu_allocator.sum + m->cpu_rest.sum;
	double with_probes = all + m->cpu_probe.sum;
	double share = all > 0 ? m->cpu_allocator.sum / all : 0;
	double var = m->cpu_allocator.squares * (1 - share) * (1 - share) +
		     m->cpu_rest.squares * share * share;

	cpu->share = estimate_of(share, all > 0 ? var / (all * all) : 0);
	cpu->probe_share = with_probes > 0 ? m->cpu_probe.sum / with_probes : 0;
}

static enum report_verdict judge(const struct report *r)
{
	const struct report_cpu *cpu = &r->cpu;
	double share = cpu->share.value, most;

	if (r->totals.allocs.value <= 0)
		return VERDICT_EMPTY;
	if (!cpu->nr_samples)
		return report__rate(r, r->totals.allocs.value) < RATE_NOT_CHURN ?
		       VERDICT_NOT_CHURN : VERDICT_UNKNOWN;
	/* Nothing seen in n samples: 3/n is the 95 % bound. */
	most = fmax(share + 2 * cpu->share.error, 3.0 / cpu->nr_samples) +
	       (double)cpu->nr_unnamed_libc / cpu->nr_samples;
	if (share - cpu->share.error >= SHARE_CHURN)
		return VERDICT_CHURN;
	if (share - cpu->share.error >= SHARE_NOT_CHURN)
		return VERDICT_SOME;
	return most < SHARE_NOT_CHURN ? VERDICT_NOT_CHURN : VERDICT_UNKNOWN;
}

static int cmp_paths(const void *a, const void *b)
{
	const struct report_path *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int finish_paths(struct model *m)
{
	size_t i;

	m->report_paths = calloc(m->nr_paths + 1, sizeof(*m->report_paths));
	if (!m->report_paths)
		return -ENOMEM;
	for (i = 0; i < m->nr_paths; i++) {
		const struct path *p = &m->paths[i];

		tally__merge(&m->sites[p->site].sum, &p->sum);
		m->report_paths[i] = (struct report_path){
			.stack = p->stack, .site = p->site, .fn = p->fn, .comm = p->comm,
			.allocs = tally_count(&p->sum), .bytes = tally_bytes(&p->sum),
		};
	}
	qsort(m->report_paths, m->nr_paths, sizeof(*m->report_paths), cmp_paths);
	m->report.paths = m->report_paths;
	m->report.nr_paths = m->nr_paths;
	return 0;
}

static int finish_sites(struct model *m)
{
	bool has_frees = m->report.recording.has_frees;
	size_t i, path = 0;

	m->report_sites = calloc(m->nr_sites + 1, sizeof(*m->report_sites));
	if (!m->report_sites)
		return -ENOMEM;
	for (i = 0; i < m->nr_sites; i++) {
		const struct site *s = &m->sites[i];

		size_t first = path;

		while (path < m->nr_paths && m->report_paths[path].site == i)
			path++;
		m->report_sites[i] = (struct report_site){
			.stack = s->stack, .first_path = first, .nr_paths = path - first,
			.allocs = tally_count(&s->sum),
			.bytes = tally_bytes(&s->sum), .avg_bytes = tally_mean(&s->sum),
			.frees = tally_count(&s->freed), .live_allocs = tally_count(&s->live),
			.live_bytes = tally_bytes(&s->live),
			.p50_life_ns = has_frees ? lives__median(&s->lives) : NAN,
		};
	}
	m->report.sites = m->report_sites;
	m->report.nr_sites = m->nr_sites;
	return 0;
}

static void finish_recording(struct model *m, const struct report_recording *rec, bool use_windows)
{
	struct report_recording *to = &m->report.recording;

	*to = *rec;
	to->has_windows = use_windows && m->nr_windows;
	to->sample_period = m->nr_windows ? m->max_period : m->max_weight;
}

int model__finish(struct model *m, const struct report_recording *rec, __u64 end_ns,
		  bool use_windows, const struct report **ret)
{
	struct report *r = &m->report;
	struct tally live = {0};
	int err;

	finish_recording(m, rec, use_windows);
	err = censor_live(m, end_ns, &live);
	if (!err)
		err = finish_paths(m);
	if (!err)
		err = finish_sites(m);
	if (err)
		return err;
	finish_totals(m, use_windows);
	r->totals.live_allocs = rec->has_frees ? tally_count(&live) : counted(NAN);
	r->totals.live_bytes = rec->has_frees ? tally_bytes(&live) : counted(NAN);
	r->nr_sizes = finish_classes(m->sizes, r->sizes);
	r->nr_lives = finish_classes(m->lives, r->lives);
	finish_cpu(m);
	r->probes = m->probes;
	r->nr_probes = m->nr_probes;
	r->stacks = m->stacks;
	r->verdict = judge(r);
	*ret = r;
	return 0;
}

/* The kernel's own records and our counter mostly see the same full ring. */
__u64 report__nr_lost(const struct report *r)
{
	const struct report_losses *l = &r->losses;

	return (l->output > l->perf_churn ? l->output : l->perf_churn) + l->map + l->inflight;
}

const char *report__why_cut(const struct report *r)
{
	if (r->recording.unfinished)
		return "the recorder was killed, or could not write (disk full)";
	return r->recording.truncated ? "the file ends early, or is damaged" : NULL;
}

bool report__is_lower_bound(const struct report *r)
{
	return report__nr_lost(r) || r->losses.gap_ns || r->check.nr_bad || report__why_cut(r);
}

bool report__has_gaps(const struct report *r)
{
	return report__is_lower_bound(r) || r->losses.perf_other;
}

double report__rate(const struct report *r, double count)
{
	double seconds = r->recording.duration_s;

	return seconds > 0 ? count / seconds : 0;
}

static bool is_silent(const struct report *r, const char *object)
{
	__u64 hits = 0;
	size_t i, nr = 0;

	for (i = 0; i < r->nr_probes; i++) {
		if (r->probes[i].object != object || r->probes[i].fn == CHURN_FN_FREE)
			continue;
		hits += r->probes[i].nr_hits;
		nr++;
	}
	return nr && !hits;
}

const struct report_probe *report__silent_object(const struct report *r, size_t idx)
{
	size_t i, j;

	for (i = 0; i < r->nr_probes; i++) {
		const char *object = r->probes[i].object;

		for (j = 0; j < i && r->probes[j].object != object; j++)
			;
		if (j == i && is_silent(r, object) && !idx--)
			return &r->probes[i];
	}
	return NULL;
}
