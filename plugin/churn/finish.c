// SPDX-License-Identifier: GPL-2.0-only
/*
 * From sums to the report's figures.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "bounds.h"
#include "cost_sites.h"
#include "model_priv.h"
#include "shapes.h"
#include "verdict.h"

static struct estimate estimate_of(double value, double variance)
{
	return (struct estimate){ .value = value, .error = sqrt(variance) };
}

static struct estimate counted(double value)
{
	return (struct estimate){ .value = value };
}

static struct estimate tally_count(const struct tally *t)
{
	return estimate_of(t->count, t->var);
}

static struct estimate tally_bytes(const struct tally *t)
{
	return estimate_of(t->bytes, t->var_bytes);
}

/* The first of @ends from @time_ns on; @end_ns when there is none before that. */
static __u64 first_end(const struct heap_ends *ends, __u64 time_ns, __u64 end_ns)
{
	size_t low = 0, high = ends->nr, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (ends->times_ns[mid] < time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low < ends->nr && ends->times_ns[low] < end_ns ? ends->times_ns[low] : end_ns;
}

/* When the block's process ended or exec'ed, its window closed, or the recording ended. */
static __u64 end_of_block(const struct model *m, const struct live_block *b, __u64 end_ns)
{
	__u64 hash = hash_mix(0, b->pid);
	size_t pos;
	__u32 id;

	end_ns = first_end(&m->all_ends, b->time_ns, end_ns);
	for (id = index__first(&m->proc_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&m->proc_index, hash, &pos)) {
		if (m->procs[id].pid == b->pid)
			return first_end(&m->procs[id].ends, b->time_ns, end_ns);
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
		__u64 age_ns = end > b->time_ns ? end - b->time_ns : 0;
		int err = lives__add_censored(&site->lives, age_ns, b->weight);

		if (err)
			return err;
		shape__add_live(&site->shape, age_ns, b->weight);
		tally__add(&site->live, b->weight, b->size_bytes);
		tally__add(all, b->weight, b->size_bytes);
	}
	return 0;
}

static bool samples_bytes(const struct report_recording *rec)
{
	return !rec->sample_period && rec->method && !strcmp(rec->method, "preload");
}

/*
 * A free of a block that was not seen gives an event, and a count, only when every allocation is
 * seen. In a sample there are none; then a process that began in the recording has none at all.
 */
static bool knows_freed_before(const struct model *m)
{
	size_t i;

	if (m->result.is_sampled)
		return false;
	if (m->report.recording.sample_period <= 1 && !samples_bytes(&m->report.recording))
		return true;
	for (i = 0; i < m->nr_procs; i++) {
		if (m->procs[i].has_calls && !m->procs[i].from_start)
			return false;
	}
	return true;
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
	t->freed_before = knows_freed_before(m) ?
			  fmax(w->nr_free_unseen - m->nr_freed_inherited, 0) : NAN;
	t->free_null = w->nr_free_null;
	t->free_internal = w->nr_free_internal;
	t->reallocs = w->nr_reallocs;
	t->hits = w->nr_hits;
}

static struct estimate windowed_total(const struct window_result *r, enum window_count which)
{
	const struct window_range *range = &r->ranges[which];

	if (r->at_least)
		return (struct estimate){ .value = range->low, .bound = BOUND_LOWER };
	return (struct estimate){ .value = range->value, .error = range->error };
}

/* Estimated: what happened while no window was open, nobody has seen. */
static void finish_windowed_totals(struct model *m, struct report_totals *t)
{
	t->allocs = windowed_total(&m->result, WINDOW_ALLOCS);
	t->bytes = windowed_total(&m->result, WINDOW_BYTES);
	t->frees = windowed_total(&m->result, WINDOW_FREES);
	t->failed = counted(NAN);
	t->freed_before = NAN;
}

/* How sums of samples scatter over windows. */
static double window_variance(const struct model *m, double sum, double squares)
{
	double nr = m->nr_window_sums - 1;

	return nr > 1 ? fmax(squares - sum * sum / nr, 0) * nr / (nr - 1) : squares;
}

static void add_window_errors(const struct model *m, struct report_totals *t)
{
	const struct tally *s = &m->sampled;
	enum bound bound = m->result.at_least ? BOUND_LOWER : BOUND_NONE;

	t->sampled_allocs.error = sqrt(s->var + window_variance(m, s->count, s->yy));
	t->sampled_bytes.error = sqrt(s->var_bytes + window_variance(m, s->bytes, s->bb));
	t->sampled_allocs.bound = t->sampled_bytes.bound = t->sampled_frees.bound = bound;
}

static void end_tallies(struct model *m)
{
	size_t i;

	tally__end(&m->sampled, m->window_sums);
	for (i = 0; i < m->nr_paths; i++)
		tally__end(&m->paths[i].sum, m->window_sums);
	for (i = 0; i < m->nr_sites; i++) {
		tally__end(&m->sites[i].sum, m->window_sums);
		tally__end(&m->sites[i].freed, m->window_sums);
	}
	for (i = 0; i < LOG2_CLASSES; i++) {
		tally__end(&m->sizes[i], m->window_sums);
		tally__end(&m->lives[i], m->window_sums);
	}
}

static void finish_totals(struct model *m, bool use_windows)
{
	struct report_totals *t = &m->report.totals;

	t->sampled_allocs = tally_count(&m->sampled);
	t->sampled_bytes = tally_bytes(&m->sampled);
	t->sampled_frees = tally_count(&m->freed);
	if (use_windows && m->nr_windows) {
		finish_counted_totals(m, t);
		if (m->result.is_sampled)
			finish_windowed_totals(m, t);
		if (m->result.is_off)
			t->allocs = t->bytes = t->frees = counted(NAN);
		return;
	}
	if (m->result.is_sampled)
		add_window_errors(m, t);
	t->allocs = t->sampled_allocs;
	t->bytes = t->sampled_bytes;
	t->frees = t->sampled_frees;
	t->failed = counted(NAN);
	t->freed_before = knows_freed_before(m) ? m->nr_freed_before : NAN;
}

/* Only where samples and counts are about the same calls. */
static void init_calibration(struct model *m)
{
	const struct report *r = &m->report;
	size_t i;

	if (m->result.is_sampled && m->nr_window_sums > 1) {
		calibration__init_windows(&m->calibration, &m->sampled, m->nr_window_sums - 1,
					  &r->totals.allocs, &r->totals.bytes);
		return;
	}
	if (!r->recording.has_windows || report__nr_lost(r) || r->check.nr_bad ||
	    report__why_cut(r))
		return;
	for (i = 0; i < m->nr_procs; i++) {
		if (m->procs[i].tail.nr)
			return;
	}
	calibration__init(&m->calibration, &m->sampled, r->totals.allocs.value,
			  r->totals.bytes.value);
}

static size_t finish_classes(const struct model *m, const struct tally *from,
			     struct report_class *to)
{
	size_t first = 0, end = LOG2_CLASSES, i;

	while (first < end && !from[first].count)
		first++;
	while (end > first && !from[end - 1].count)
		end--;
	for (i = first; i < end; i++) {
		to[i - first].le = log2_class_bound(i);
		to[i - first].count = calibration__count(&m->calibration, &from[i]);
	}
	return end - first;
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
	const struct calibration *c = &m->calibration;
	size_t i;

	m->report_paths = calloc(m->nr_paths + 1, sizeof(*m->report_paths));
	if (!m->report_paths)
		return -ENOMEM;
	for (i = 0; i < m->nr_paths; i++) {
		const struct path *p = &m->paths[i];

		m->report_paths[i] = (struct report_path){
			.stack = p->stack, .site = p->site, .fn = p->fn, .comm = p->comm,
			.allocs = calibration__count(c, &p->sum),
			.bytes = calibration__bytes(c, &p->sum),
		};
	}
	qsort(m->report_paths, m->nr_paths, sizeof(*m->report_paths), cmp_paths);
	m->report.paths = m->report_paths;
	m->report.nr_paths = m->nr_paths;
	return 0;
}

static int finish_sites(struct model *m)
{
	const struct calibration *c = &m->calibration;
	const struct report_recording *rec = &m->report.recording;
	bool seen_to_end = !m->result.is_sampled && !rec->slow_path;
	const struct estimate unknown = counted(NAN);
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
			.stack = s->stack, .nr_samples = s->sum.nr, .first_path = first, .nr_paths = path - first,
			.allocs = calibration__count(c, &s->sum),
			.bytes = calibration__bytes(c, &s->sum),
			.avg_bytes = calibration__mean(c, &s->sum),
			.frees = seen_to_end ? calibration__count(c, &s->freed) : unknown,
			.live_allocs = seen_to_end ? calibration__count(c, &s->live) : unknown,
			.live_bytes = seen_to_end ? calibration__bytes(c, &s->live) : unknown,
			.p50_life_ns = rec->has_frees ? lives__median(&s->lives) : NAN,
			.cost = cost_of_site(m, i),
		};
	}
	m->report.sites = m->report_sites;
	m->report.nr_sites = m->nr_sites;
	return 0;
}

/* A probe that is on no entry point is on the preload library's hook. */
static const char *method_of(const struct model *m, const char *otherwise)
{
	for (size_t i = 0; i < m->nr_probes; i++) {
		if (m->probes[i].fn == CHURN_FN_NONE)
			return "preload";
	}
	return otherwise;
}

/* A file whose recorder was killed has no probes. */
static bool is_slow_path(const struct model *m)
{
	for (size_t i = 0; i < m->nr_probes; i++) {
		if (m->probes[i].fn == CHURN_FN_REFILL)
			return true;
	}
	for (size_t i = 0; i < m->nr_paths; i++) {
		if (m->paths[i].fn == CHURN_FN_REFILL)
			return true;
	}
	return false;
}

static void finish_slow_path(struct model *m)
{
	struct report_totals *t = &m->report.totals;

	m->report.recording.slow_path = is_slow_path(m);
	if (!m->report.recording.slow_path) {
		t->os_allocs = t->os_frees = NAN;
		return;
	}
	m->report.recording.has_frees = false;
	t->frees = t->sampled_frees = counted(NAN);
	t->freed_before = NAN;
	for (size_t i = 0; i < m->nr_probes; i++) {
		const struct report_probe *p = &m->probes[i];

		t->os_allocs += p->fn == CHURN_FN_OS_ALLOC ? p->nr_hits : 0;
		t->os_frees += p->fn == CHURN_FN_OS_FREE ? p->nr_hits : 0;
	}
}

static void finish_recording(struct model *m, const struct report_recording *rec, bool use_windows)
{
	struct report_recording *to = &m->report.recording;

	*to = *rec;
	to->method = method_of(m, rec->method);
	to->has_windows = use_windows && m->nr_windows;
	to->sample_period = m->nr_windows ? m->max_period : m->max_weight;
}

static void finish_live(struct model *m, const struct tally *live)
{
	struct report_totals *t = &m->report.totals;
	bool known = m->report.recording.has_frees && !m->result.is_sampled;

	t->live_allocs = known ? calibration__count(&m->calibration, live) : counted(NAN);
	t->live_bytes = known ? calibration__bytes(&m->calibration, live) : counted(NAN);
	t->live_most = NAN;
	/* None in a sample of one in n: (1 - 1/n)^most = 5 %. */
	if (known && !live->nr && m->sampled.var > 0)
		t->live_most = log(0.05) / log1p(-1.0 * m->sampled.nr / m->sampled.count);
}

int model__finish(struct model *m, const struct report_recording *rec, __u64 end_ns,
		  bool use_windows, const struct report **ret)
{
	struct report *r = &m->report;
	struct tally live = {0};
	int err;

	window_estimate__finish(m->estimate, &m->result);
	r->windows = m->result;
	end_tallies(m);
	finish_recording(m, rec, use_windows);
	finish_totals(m, use_windows);
	finish_slow_path(m);
	init_calibration(m);
	err = censor_live(m, end_ns, &live) ?: spread_costs(m) ?: finish_paths(m) ?:
	      finish_sites(m) ?: finish_shapes(m);
	if (err)
		return err;
	finish_live(m, &live);
	r->nr_sizes = finish_classes(m, m->sizes, r->sizes);
	r->nr_lives = finish_classes(m, m->lives, r->lives);
	finish_cpu(m);
	r->probes = m->probes;
	r->nr_probes = m->nr_probes;
	r->stacks = m->stacks;
	mark_bounds(m);
	r->verdict = judge(r);
	*ret = r;
	return finish_advice(m);
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
	return nr && !hits && !r->windows.is_off;
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
