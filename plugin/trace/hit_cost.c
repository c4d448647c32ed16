// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>

#include "hit_cost.h"

#include "util/median.h"

/* Real programs went up to 1.2 times what cold code cost here; see Documentation/benchmarks.md. */
#define COLDER_YET	1.15
#define MIN_ERROR	0.10

/* Runs that something else got in the way of do not count. */
static double median_of(const double runs[HIT_RUNS])
{
	double sorted[HIT_RUNS];

	memcpy(sorted, runs, sizeof(sorted));
	return median(sorted, HIT_RUNS);
}

static void judge_one(const struct hit_times *t, double *ns, double *error)
{
	double hot = fmax(median_of(t->probed_hot) - median_of(t->bare_hot), 1);
	double cold = fmax(median_of(t->probed_cold) - median_of(t->bare_cold), hot) * COLDER_YET;

	*ns = (hot + cold) / 2;
	*error = (cold - hot) / 2 / *ns;
}

static double hot_ns(const struct hit_times *t)
{
	return median_of(t->probed_hot) - median_of(t->bare_hot);
}

static double judge_pair(const struct hit_times times[HIT_KINDS][HIT_CLASSES],
			 const struct pair_times *pair)
{
	double hits = hot_ns(&times[HIT_ALLOC][HIT_EMULATED]) + hot_ns(&times[HIT_FREE][HIT_EMULATED]);

	return fmax(median_of(pair->probed) - median_of(pair->bare) - median_of(pair->timed) - hits, 0);
}

void hit_cost__judge(const struct hit_times times[HIT_KINDS][HIT_CLASSES],
		     const struct pair_times *pair, struct hit_cost *ret)
{
	double error;
	int kind, class;

	ret->error = MIN_ERROR;
	for (kind = 0; kind < HIT_KINDS; kind++) {
		for (class = 0; class < HIT_CLASSES; class++) {
			judge_one(&times[kind][class], &ret->ns[kind][class], &error);
			/* Probes are on emulated instructions, if at all possible. */
			if (class == HIT_EMULATED && kind != HIT_WRAPPING)
				ret->error = fmax(ret->error, error);
		}
	}
	ret->sampled_ns = judge_pair(times, pair);
}
