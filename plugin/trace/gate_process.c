// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gate_process.h"

#include "gate.h"
#include "probes.h"
#include "util/clock.h"

#define GLANCE_NS	1000000

int gate_process__init(struct gate_process *p, const struct gate_tools *t, pid_t pid, bool loan)
{
	const struct window_gate_opts *o = t->opts;
	int err;

	*p = (struct gate_process){ .pid = pid, .random = drand48(), .born_ns = clock__now_ns() };
	err = pid == -1 ? cpu_clock__new_all(t->probes, &p->clock) :
	      cpu_clock__new(pid, o->tids, o->nr_tids, o->cpus, o->nr_cpus, &p->clock);
	if (err)
		return err;
	budget__init(&p->budget, o->budget, t->stall_ns, loan);
	gate_process__read(p, t, &p->end);
	p->paid = p->end;
	p->from_before = loan;
	return 0;
}

void gate_process__exit(struct gate_process *p)
{
	cpu_clock__free(p->clock);
	free(p->images);
}

static void add_all_totals(const struct gate_tools *t, struct churn_totals *sum)
{
	struct churn_totals one;
	pid_t pid = 0;

	memset(sum, 0, sizeof(*sum));
	while (!probes__next_totals(t->probes, &pid, &one))
		churn_totals__add(sum, &one);
}

void gate_process__read(const struct gate_process *p, const struct gate_tools *t,
			struct gate_reading *ret)
{
	ret->time_ns = clock__now_ns();
	cpu_clock__read(p->clock, &ret->cpu);
	if (p->pid == -1)
		add_all_totals(t, &ret->totals);
	else
		probes__read_totals(t->probes, p->pid, &ret->totals);
}

/* Counters only grow; read a moment apart, they may seem not to. */
static __u64 since(__u64 now, __u64 before)
{
	return now > before ? now - before : 0;
}

static __u64 cost_since(const struct gate_tools *t, const struct churn_totals *now,
			const struct churn_totals *before)
{
	return since(now->cost_ns, before->cost_ns) * t->cost_factor;
}

static __u64 stray_since(const struct gate_tools *t, const struct churn_totals *now,
			 const struct churn_totals *before)
{
	return since(now->stray_cost_ns, before->stray_cost_ns) * t->cost_factor;
}

void gate_process__pay(struct gate_process *p, const struct gate_tools *t,
		       const struct gate_reading *now)
{
	budget__pass(&p->budget, since(now->time_ns, p->paid.time_ns),
		     since(now->cpu.cpu_ns, p->paid.cpu.cpu_ns));
	budget__spend(&p->budget, cost_since(t, &now->totals, &p->paid.totals) +
				  stray_since(t, &now->totals, &p->paid.totals));
	p->paid = *now;
}

static int attach(struct gate_process *p, const struct gate_tools *t)
{
	size_t i;
	int err = 0;

	for (i = 0; i < p->nr_images && !err; i++)
		err = probes__attach(t->probes, p->images[i], p->pid);
	if (err)
		probes__forget(t->probes, p->pid);
	return err;
}

static void sleep_until(__u64 time_ns)
{
	struct timespec ts = {
		.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void fill_counts(struct churn_window *w, const struct churn_totals *now,
			const struct churn_totals *before)
{
	w->nr_allocs = since(now->nr_allocs, before->nr_allocs);
	w->alloc_bytes = since(now->alloc_bytes, before->alloc_bytes);
	w->nr_frees = since(now->nr_frees, before->nr_frees);
	w->nr_failed = since(now->nr_failed, before->nr_failed);
	w->nr_free_null = since(now->nr_free_null, before->nr_free_null);
	w->nr_free_unseen = since(now->nr_free_unseen, before->nr_free_unseen);
	w->nr_free_internal = since(now->nr_free_internal, before->nr_free_internal);
	w->nr_reallocs = since(now->nr_reallocs, before->nr_reallocs);
	w->nr_lost_output = since(now->nr_lost_output, before->nr_lost_output);
	w->nr_lost_map = since(now->nr_lost_map, before->nr_lost_map);
	w->nr_lost_inflight = since(now->nr_lost_inflight, before->nr_lost_inflight);
	w->nr_hits = since(now->nr_hits, before->nr_hits);
}

/* From @from to @to; before that nothing was counted since the last window's end. */
static void fill(const struct gate_process *p, const struct gate_tools *t, __u64 period,
		 const struct gate_reading *from, const struct gate_reading *to,
		 struct churn_window *w)
{
	memset(w, 0, sizeof(*w));
	w->common.type = CHURN_WINDOW_ID;
	w->common.pid = p->pid;
	w->start_ns = w->probed_start_ns = from->time_ns;
	w->end_ns = w->probed_end_ns = to->time_ns;
	w->sample_period = period;
	w->between_ns = since(from->time_ns, p->end.time_ns);
	w->cpu_ns = since(to->cpu.cpu_ns, from->cpu.cpu_ns);
	w->cpu_between_ns = since(from->cpu.cpu_ns, p->end.cpu.cpu_ns);
	w->user_clock = since(to->cpu.user, from->cpu.user);
	w->user_clock_between = since(from->cpu.user, p->end.cpu.user);
	w->cost_ns = cost_since(t, &to->totals, &from->totals);
	w->cost_err_ns = w->cost_ns * t->cost_error + (p->on ? 0 : t->edge_error_ns);
	w->nr_stray = since(to->totals.nr_stray, from->totals.nr_stray);
	w->stray_cost_ns = stray_since(t, &to->totals, &from->totals);
	w->budget_ppm = t->opts->budget * 1e6 + 0.5;
	w->flags = CHURN_W_COST | (p->pid == -1 ? CHURN_W_ALL : 0);
	fill_counts(w, &to->totals, &from->totals);
}

static void learn(struct gate_process *p, const struct churn_window *w)
{
	budget__learn(&p->budget, w->cpu_ns, w->cost_ns);
	/* As many as are counted, over all the time that the window stands for. */
	if (w->end_ns > w->start_ns)
		p->hits_per_s = w->nr_hits * 1e9 / (w->end_ns - w->start_ns + w->between_ns);
	p->random = drand48();
	p->had_window = true;
}

/* The gate is shut; so late returns of calls that were under way are in the counts, too. */
static void detach(struct gate_process *p, const struct gate_tools *t, __u64 *last_ns)
{
	__u64 stray_ns;

	probes__forget(t->probes, p->pid);
	if (p->pid != -1)
		probes__drop_blocks(t->probes, p->pid, clock__now_ns());
	else
		probes__drop_all_blocks(t->probes);
	stray_ns = gate__take_strays(t->probes, p->pid);
	if (stray_ns > *last_ns)
		*last_ns = stray_ns;
	budget__spend(&p->budget, t->stall_ns);
}

static void shut(struct gate_process *p, const struct gate_tools *t, struct gate_reading *now,
		 __u64 *probed_end_ns)
{
	struct gate_reading after;

	/* Threads in the same order as at the opening: what reading takes is in both. */
	gate_process__read(p, t, now);
	gate__shut(t->probes, p->pid);
	*probed_end_ns = clock__now_ns();
	detach(p, t, probed_end_ns);
	gate_process__read(p, t, &after);
	now->totals = after.totals;
}

static void finish_look(struct gate_process *p, const struct gate_tools *t, __u64 period,
			const struct gate_reading *before, struct churn_window *ret)
{
	struct gate_reading now;
	__u64 probed_end_ns;

	gate_process__read(p, t, &now);
	probed_end_ns = now.time_ns;
	p->on = budget__keeps_on(&p->budget, since(now.cpu.cpu_ns, p->open.cpu.cpu_ns),
				 cost_since(t, &now.totals, &p->open.totals));
	if (!p->on)
		shut(p, t, &now, &probed_end_ns);
	fill(p, t, period, &p->open, &now, ret);
	ret->probed_end_ns = probed_end_ns;
	ret->nr_stray = since(now.totals.nr_stray, before->totals.nr_stray);
	ret->stray_cost_ns = stray_since(t, &now.totals, &before->totals);
	ret->stall_ns = p->on ? 0 : t->stall_ns;
	if (!p->on || ret->between_ns)
		ret->flags |= CHURN_W_SAMPLED;
	learn(p, ret);
	p->end = now;
}

int gate_process__look(struct gate_process *p, const struct gate_tools *t,
		       const struct budget_plan *plan, __u64 period, struct churn_window *ret)
{
	struct gate_reading before;
	__u64 first_ns = 0;
	int err;

	gate_process__read(p, t, &before);
	err = attach(p, t);
	if (err)
		return err;
	gate_process__read(p, t, &p->open);
	gate_process__pay(p, t, &p->open);
	/* What runs already is recorded from here on. */
	if (!p->had_window && p->from_before)
		p->end = p->open;
	err = gate__open(t->probes, p->pid, CHURN_CALIBRATE_NOT, &first_ns);
	if (err) {
		probes__forget(t->probes, p->pid);
		return err;
	}
	/* No look in between: waking up takes CPU time from the target, which nobody accounts for. */
	sleep_until(p->open.time_ns + plan->window_ns);
	finish_look(p, t, period, &before, ret);
	if (first_ns && first_ns < ret->probed_start_ns)
		ret->probed_start_ns = first_ns;
	return 0;
}

int gate_process__glance(struct gate_process *p, const struct gate_tools *t, __u64 period,
			 struct churn_window *sum)
{
	const struct budget_plan plan = { .window_ns = GLANCE_NS };
	struct churn_window w, rest = {0};
	int err = gate_process__look(p, t, &plan, period, &w);

	if (err)
		return err == -ESRCH ? 0 : err;
	if (p->on)
		gate_process__switch_off(p, t, period, &rest);
	sum->nr_allocs += w.nr_allocs + rest.nr_allocs;
	sum->nr_hits += w.nr_hits + rest.nr_hits;
	sum->cpu_ns += w.cpu_ns + rest.cpu_ns;
	sum->cost_ns += w.cost_ns + rest.cost_ns;
	return 0;
}

void gate_process__report_on(struct gate_process *p, const struct gate_tools *t, __u64 period,
			     struct churn_window *ret)
{
	struct gate_reading now;

	gate_process__read(p, t, &now);
	fill(p, t, period, &p->end, &now, ret);
	learn(p, ret);
	p->end = now;
}

void gate_process__switch_off(struct gate_process *p, const struct gate_tools *t, __u64 period,
			      struct churn_window *ret)
{
	struct gate_reading now;
	__u64 probed_end_ns;

	shut(p, t, &now, &probed_end_ns);
	fill(p, t, period, &p->end, &now, ret);
	ret->probed_end_ns = probed_end_ns;
	ret->stall_ns = t->stall_ns;
	learn(p, ret);
	p->end = now;
	p->on = false;
}

void gate_process__report_rest(struct gate_process *p, const struct gate_tools *t,
			       struct churn_window *ret)
{
	struct gate_reading now;

	gate_process__read(p, t, &now);
	fill(p, t, 1, &now, &now, ret);
	ret->flags |= CHURN_W_SAMPLED;
	if (!p->had_window)
		ret->gap_ns = since(now.time_ns, p->born_ns);
}
