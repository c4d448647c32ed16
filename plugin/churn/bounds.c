// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "bounds.h"
#include "model_priv.h"

static bool has_losses(const struct report *r)
{
	return report__nr_lost(r) || r->check.nr_bad || report__why_cut(r);
}

static enum bound bound_of_totals(const struct report *r)
{
	bool low = r->recording.has_windows ? r->losses.gap_ns || report__why_cut(r) :
					      report__is_lower_bound(r);

	return low ? BOUND_LOWER : BOUND_NONE;
}

static void mark_totals(struct report_totals *t, enum bound counted, enum bound sampled)
{
	t->allocs.bound = t->bytes.bound = t->frees.bound = t->failed.bound = counted;
	t->sampled_allocs.bound = t->sampled_bytes.bound = t->sampled_frees.bound = sampled;
}

/* All losses were of calls that were counted. */
static bool can_add_lost(const struct report *r)
{
	return r->recording.has_windows && !r->losses.gap_ns && !r->losses.inflight &&
	       !r->check.nr_bad && !report__why_cut(r);
}

/* As if every lost allocation lived, but those whose free was seen. */
static void add_lost_to_live(struct model *m)
{
	struct report_totals *t = &m->report.totals;
	double allocs = t->allocs.value - m->sampled.count - m->freed_unmatched;

	t->live_allocs.value += fmax(allocs, 0);
	t->live_bytes.value += fmax(t->bytes.value - m->sampled.bytes, 0);
	t->live_allocs.bound = t->live_bytes.bound = BOUND_UPPER;
	t->live_most = NAN;
}

static void mark_live(struct model *m)
{
	struct report_totals *t = &m->report.totals;

	if (!has_losses(&m->report)) {
		t->live_allocs.bound = t->live_bytes.bound =
			m->report.losses.gap_ns ? BOUND_LOWER : BOUND_NONE;
	} else if (can_add_lost(&m->report)) {
		add_lost_to_live(m);
	} else {
		t->live_allocs.bound = t->live_bytes.bound = BOUND_UNKNOWN;
		t->live_most = NAN;
	}
}

static void mark_site(struct report_site *s, enum bound live)
{
	s->allocs.bound = s->bytes.bound = s->frees.bound = BOUND_LOWER;
	s->live_allocs.bound = s->live_bytes.bound = live;
	s->avg_bytes.bound = s->life_bound = BOUND_UNKNOWN;
}

static void mark_classes(struct report_class *classes, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		classes[i].count.bound = BOUND_LOWER;
}

void mark_bounds(struct model *m)
{
	struct report *r = &m->report;
	size_t i;

	if (!report__is_lower_bound(r))
		return;
	mark_totals(&r->totals, bound_of_totals(r), BOUND_LOWER);
	mark_live(m);
	for (i = 0; i < m->nr_sites; i++)
		mark_site(&m->report_sites[i], has_losses(r) ? BOUND_UNKNOWN : BOUND_LOWER);
	for (i = 0; i < m->nr_paths; i++)
		m->report_paths[i].allocs.bound = m->report_paths[i].bytes.bound = BOUND_LOWER;
	mark_classes(r->sizes, r->nr_sizes);
	mark_classes(r->lives, r->nr_lives);
}
