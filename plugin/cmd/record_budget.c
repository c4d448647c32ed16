// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record_budget.h"

#include "record_opts.h"
#include "trace/finish.h"
#include "trace/hit_cost.h"
#include "trace/window_gate.h"
#include "util/msg.h"
#include "util/window_estimate.h"

#define SAMPLES_PER_S_AND_CPU	1000
#define MAX_KNOWN		256	/* windows whose samples may still be in the rings */

/* Samples from @start_ns on, up to the process's next window, count so many times. */
struct known_window {
	pid_t pid;			/* -1: any */
	__u64 start_ns;
	double factor;
};

struct record_budget {
	struct hit_child *child;
	pid_t *tids;
	struct window_gate *gate;
	struct window_estimate *estimate;
	struct known_window known[MAX_KNOWN];
	size_t nr_known;		/* in all; the oldest give way */
};

static int copy_tids(struct record_budget *b, const pid_t *tids, size_t nr)
{
	if (!nr)
		return 0;
	b->tids = calloc(nr, sizeof(*tids));
	if (!b->tids)
		return -ENOMEM;
	memcpy(b->tids, tids, nr * sizeof(*tids));
	return 0;
}

int record_budget__new(const struct record_opts *opts, struct probes *probes, struct hit_child *child,
		       const pid_t *tids, size_t nr_tids, int nr_cpus, struct record_budget **ret)
{
	struct record_budget *b = calloc(1, sizeof(*b));
	struct window_gate_opts gate = {
		.budget = opts->windows ? opts->budget : 1, .period = opts->period,
		.samples_per_s = (__u64)SAMPLES_PER_S_AND_CPU * nr_cpus,
		.system_wide = opts->system_wide, .nr_tids = nr_tids, .cpus = opts->cpus,
		.nr_cpus = opts->nr_cpus, .child = child,
	};
	int err;

	if (!b) {
		hit_child__free(child);
		return -ENOMEM;
	}
	b->child = child;
	err = copy_tids(b, tids, nr_tids) ?: window_estimate__new(&b->estimate);
	gate.tids = b->tids;
	err = err ?: window_gate__new(&gate, probes, &b->gate);
	if (err)
		record_budget__free(b);
	else
		*ret = b;
	return err;
}

void record_budget__free(struct record_budget *b)
{
	if (!b)
		return;
	window_gate__free(b->gate);
	hit_child__free(b->child);
	window_estimate__free(b->estimate);
	free(b->tids);
	free(b);
}

int record_budget__look(struct record_budget *b)
{
	struct churn_window w;
	double own_ns, times;
	int err = window_gate__glance(b->gate, &w);

	if (err)
		return err;
	own_ns = (double)w.cpu_ns - w.cost_ns;
	if (!w.nr_hits || !w.cpu_ns) {
		pr_info("Exact: all probes are on all the time. No call was seen in a short look.\n");
		return 0;
	}
	times = w.cpu_ns / fmax(own_ns, w.cpu_ns / 20.0);
	pr_info("Exact: all probes are on all the time. By a short look, each call of the allocator costs %.1f us more, and the target takes %s%.1f times its CPU time.\n",
		w.cost_ns / 1e3 / w.nr_hits, 2 * w.cost_ns > w.cpu_ns ? "at least " : "", times);
	return 0;
}

struct window_gate *record_budget__gate(struct record_budget *b)
{
	return b->gate;
}

static void know(struct record_budget *b, pid_t pid, __u64 start_ns, double factor)
{
	b->known[b->nr_known++ % MAX_KNOWN] = (struct known_window){
		.pid = pid, .start_ns = start_ns, .factor = factor,
	};
}

int record_budget__take(struct record_budget *b, struct gate_window *ret)
{
	const struct churn_window *w = &ret->window;
	pid_t pid;
	int err;

	if (!window_gate__next(b->gate, ret))
		return 0;
	pid = w->flags & CHURN_W_ALL ? -1 : ret->pid;
	know(b, pid, w->start_ns, window_factor(w));
	if (ret->stays_on)
		know(b, pid, w->end_ns, 1);
	err = window_estimate__add(b->estimate, ret->pid, w);
	return err ?: 1;
}

static double factor_at(const struct record_budget *b, pid_t pid, __u64 time_ns)
{
	const struct known_window *k;
	size_t i;

	for (i = b->nr_known; i > 0 && i + MAX_KNOWN > b->nr_known; i--) {
		k = &b->known[(i - 1) % MAX_KNOWN];
		if ((k->pid == pid || k->pid == -1) && k->start_ns <= time_ns)
			return k->factor;
	}
	return 1;
}

void record_budget__scale(const struct record_budget *b, __u64 sample_type, void *sample)
{
	double factor;
	__u64 time_ns;
	__u32 pid;

	memcpy(&pid, (char *)sample + 24, sizeof(pid));
	memcpy(&time_ns, (char *)sample + 32, sizeof(time_ns));
	factor = factor_at(b, pid, time_ns);
	if (factor > 1)
		finish_scale(sample_type, sample, factor, drand48());
}

void record_budget__result(const struct record_budget *b, struct window_result *ret)
{
	window_estimate__finish(b->estimate, ret);
}
