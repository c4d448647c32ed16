// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "window_estimate.h"

#define DENSE_PART	0.02	/* dense windows up to this part leave the estimate bounded */
#define UNSEEN_PART	0.01	/* so do processes without a window, up to this part of CPU time */
#define MIN_OWN_PART	0.02	/* of a window's CPU time, however much its hits are said to cost */
#define MAX_DILATION	8.0	/* of weights: beyond, noise in the cost is all there is */
#define FEW_CALLS	30
#define FEW_MORE	3.0	/* none seen in a sample: up to three at 95 % (the rule of three) */
#define MIN_WINDOWS	3

/* Cost as calibrated, and as much less and more as it may be. */
enum cost_case { COST_AS_IS, COST_LESS, COST_MORE, COST_CASES };

/* Sums over the sampled windows of a process; q: window's weight, r: rate in it. */
struct rate_sums {
	double qr[COST_CASES], qqr[COST_CASES], qqrr[COST_CASES];
	double counted, exact;
};

struct process_sums {
	__u32 pid;
	struct rate_sums rates[WINDOW_COUNTS];
	double q, qq, dense_q, calls_q;	/* calls_q: sum of what one call stands for */
	double own_ns;			/* CPU time that sampled windows stand for, without cost */
	double user, own_user;
	bool has_user, has_gap;
	__u64 nr;
};

struct window_estimate {
	struct process_sums *processes;
	size_t nr_processes;
	struct window_result sums;
};

int window_estimate__new(struct window_estimate **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void window_estimate__free(struct window_estimate *e)
{
	if (!e)
		return;
	free(e->processes);
	free(e);
}

/* The latest is the likeliest. */
static struct process_sums *find_process(struct window_estimate *e, __u32 pid)
{
	struct process_sums *grown;
	size_t i;

	for (i = e->nr_processes; i-- > 0;) {
		if (e->processes[i].pid == pid)
			return &e->processes[i];
	}
	grown = realloc(e->processes, (e->nr_processes + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	e->processes = grown;
	grown += e->nr_processes++;
	*grown = (struct process_sums){ .pid = pid, .has_user = true };
	return grown;
}

static double count_of(const struct churn_window *w, enum window_count which)
{
	return which == WINDOW_ALLOCS ? w->nr_allocs :
	       which == WINDOW_BYTES ? w->alloc_bytes : w->nr_frees;
}

static double length_ns(const struct churn_window *w)
{
	return w->end_ns > w->start_ns ? w->end_ns - w->start_ns : 0;
}

/* CPU time of the program itself. */
static double own_ns(const struct churn_window *w, enum cost_case which)
{
	double error = which == COST_AS_IS ? 0 : which == COST_LESS ? -1.0 : 1.0;
	double own = w->cpu_ns - (w->cost_ns + error * w->cost_err_ns);

	return fmax(own, w->cpu_ns * MIN_OWN_PART);
}

static double times_seen(const struct churn_window *w)
{
	return (w->between_ns + length_ns(w)) / length_ns(w);
}

bool window_is_dense(const struct churn_window *w)
{
	return w->cpu_ns && w->cost_ns > w->cpu_ns / 2;
}

double window_factor(const struct churn_window *w)
{
	if (!(w->flags & CHURN_W_SAMPLED) || !length_ns(w) || !w->cpu_ns)
		return 1;
	return times_seen(w) * fmin(w->cpu_ns / own_ns(w, COST_AS_IS), MAX_DILATION);
}

static void add_rates(struct process_sums *p, const struct churn_window *w)
{
	double q = times_seen(w) * w->cpu_ns, own[COST_CASES], count, rate;
	int which, c;

	for (c = 0; c < COST_CASES; c++)
		own[c] = p->has_user ? w->user_clock : own_ns(w, c);
	for (which = 0; which < WINDOW_COUNTS; which++) {
		struct rate_sums *s = &p->rates[which];

		count = count_of(w, which);
		for (c = 0; c < COST_CASES; c++) {
			rate = count / own[c];
			s->qr[c] += q * rate;
			s->qqr[c] += q * q * rate;
			s->qqrr[c] += q * q * rate * rate;
		}
		s->counted += count;
	}
	p->q += q;
	p->qq += q * q;
	p->calls_q += q / own[COST_AS_IS];
	p->dense_q += window_is_dense(w) ? q : 0;
	p->nr++;
}

static void add_sampled(struct process_sums *p, const struct churn_window *w)
{
	bool is_window = length_ns(w) && w->cpu_ns;

	/* All or none: the first window decides whether there is such a counter. */
	if (is_window && !w->user_clock)
		p->has_user = false;
	p->own_ns += w->cpu_between_ns + fmax((double)w->cpu_ns - w->cost_ns, 0) -
		     w->stray_cost_ns - w->stall_ns;
	p->own_user += w->user_clock_between + w->user_clock;
	p->has_gap |= w->gap_ns > 0;
	if (is_window)
		add_rates(p, w);
}

static void add_sums(struct window_result *s, const struct churn_window *w)
{
	bool is_sampled = w->flags & CHURN_W_SAMPLED;

	s->is_sampled |= is_sampled && (w->cpu_ns || w->cpu_between_ns || w->gap_ns);
	s->has_cost |= !!(w->flags & CHURN_W_COST);
	s->is_off |= !!(w->flags & CHURN_W_OFF);
	s->cpu_ns += w->cpu_ns + w->cpu_between_ns;
	s->seen_ns += w->cpu_ns;
	s->cost_ns += w->cost_ns + w->stray_cost_ns + w->stall_ns;
	s->cost_err_ns += w->cost_err_ns;
	if (w->budget_ppm)
		s->budget = w->budget_ppm / 1e6;
	if (is_sampled && length_ns(w)) {
		s->nr_windows++;
		s->longest_ns = fmax(s->longest_ns, length_ns(w));
	}
}

int window_estimate__add(struct window_estimate *e, __u32 pid, const struct churn_window *w)
{
	struct process_sums *p = find_process(e, w->flags & CHURN_W_ALL ? 0 : pid);
	int which;

	if (!p)
		return -ENOMEM;
	add_sums(&e->sums, w);
	if (w->flags & CHURN_W_SAMPLED) {
		add_sampled(p, w);
		return 0;
	}
	for (which = 0; which < WINDOW_COUNTS; which++)
		p->rates[which].exact += count_of(w, which);
	return 0;
}

/* Student's t at 95 %, both sides. */
static double t95(double df)
{
	static const double few[] = { 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23 };

	return df <= 10 ? few[(int)fmax(df, 1) - 1] : 1.96 + 2.5 / df;
}

struct process_result {
	double value, low, high, more;
	double variance[COST_CASES];
};

/* Of the mean rate, by how it scatters over windows. */
static double variance_of_mean(const struct process_sums *p, const struct rate_sums *s,
			       enum cost_case which)
{
	double rate = s->qr[which] / p->q;
	double squares = s->qqrr[which] - 2 * rate * s->qqr[which] + rate * rate * p->qq;

	return p->nr > 1 ? fmax(squares, 0) * p->nr / (p->nr - 1) / (p->q * p->q) : 0;
}

static void estimate_process(const struct process_sums *p, enum window_count which,
			     struct process_result *ret)
{
	const struct rate_sums *s = &p->rates[which];
	double whole = p->has_user ? p->own_user : fmax(p->own_ns, 0), scale, per_call;
	int c;

	*ret = (struct process_result){ .value = s->exact, .low = s->exact, .high = s->exact };
	if (!p->nr || p->q <= 0) {
		ret->value += s->counted;
		ret->low += s->counted;
		ret->high += s->counted;
		return;
	}
	scale = whole / p->q;
	ret->value += scale * s->qr[COST_AS_IS];
	ret->low += scale * s->qr[COST_LESS];
	ret->high += scale * s->qr[COST_MORE];
	for (c = 0; c < COST_CASES; c++)
		ret->variance[c] = whole * whole * variance_of_mean(p, s, c);
	per_call = scale * p->calls_q / p->nr;
	if (p->rates[WINDOW_ALLOCS].counted < FEW_CALLS)
		ret->more = FEW_MORE * per_call *
			    (which == WINDOW_BYTES && p->rates[WINDOW_ALLOCS].counted ?
			     s->counted / p->rates[WINDOW_ALLOCS].counted : 1);
}

static void estimate_all(const struct window_estimate *e, enum window_count which, double t,
			 struct window_range *ret)
{
	double variance[COST_CASES] = {0}, counted = 0;
	struct process_result one;
	size_t i;
	int c;

	*ret = (struct window_range){0};
	for (i = 0; i < e->nr_processes; i++) {
		estimate_process(&e->processes[i], which, &one);
		ret->value += one.value;
		ret->low += one.low;
		ret->high += one.high + one.more;
		for (c = 0; c < COST_CASES; c++)
			variance[c] += one.variance[c];
		counted += e->processes[i].rates[which].exact + e->processes[i].rates[which].counted;
	}
	ret->error = hypot(sqrt(variance[COST_AS_IS]), (ret->high - ret->low) / 2 / 1.96);
	ret->low = fmax(ret->low - t * sqrt(variance[COST_LESS]), counted);
	ret->high += t * sqrt(variance[COST_MORE]);
}

static bool is_unbounded(const struct window_estimate *e, const struct process_sums *p)
{
	double all = e->sums.cpu_ns;

	if (p->has_gap && !p->nr)
		return true;
	if (p->own_ns <= all * UNSEEN_PART)
		return false;
	return p->nr < MIN_WINDOWS || (!p->has_user && p->dense_q > p->q * DENSE_PART);
}

void window_estimate__finish(const struct window_estimate *e, struct window_result *ret)
{
	double df = 0;
	size_t i;
	int which;

	*ret = e->sums;
	for (i = 0; i < e->nr_processes; i++) {
		ret->at_least |= is_unbounded(e, &e->processes[i]);
		if (e->processes[i].nr > 1)
			df += e->processes[i].nr - 1;
	}
	for (which = 0; which < WINDOW_COUNTS; which++)
		estimate_all(e, which, t95(df), &ret->ranges[which]);
}
