// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "model_priv.h"
#include "verdict.h"

/* Below this share of the CPU, allocation is not worth anybody's time; above the other, it is. */
#define SHARE_NOT_CHURN		0.02
#define SHARE_CHURN		0.10
/* Without a CPU share only a rate that cannot matter is judged: some 50 ns an allocation. */
#define RATE_NOT_CHURN		10000.0

/* With fewer on either side a share's error is not the same up and down. */
#define MIN_FOR_ERROR		5
#define Z95			1.96

/* Wilson's interval for a proportion, which is honest for none of few, too. */
static void wilson(double share, double nr, double *low, double *high)
{
	double z2 = Z95 * Z95, center = (share + z2 / (2 * nr)) / (1 + z2 / nr);
	double half = Z95 / (1 + z2 / nr) *
		      sqrt(share * (1 - share) / nr + z2 / (4 * nr * nr));

	*low = share > 0 ? fmax(center - half, 0) : 0;
	*high = share < 1 ? fmin(center + half, 1) : 1;
}

static void finish_share(struct model *m, struct report_cpu *cpu, double all)
{
	const struct period_sum *in = &m->cpu_allocator, *out = &m->cpu_rest;
	double share = in->sum / all;
	double var = in->squares * (1 - share) * (1 - share) + out->squares * share * share;

	wilson(share, all * all / (in->squares + out->squares), &cpu->share_low, &cpu->share_high);
	cpu->few = cpu->nr_allocator < MIN_FOR_ERROR ||
		   cpu->nr_samples - cpu->nr_allocator < MIN_FOR_ERROR;
	cpu->share.value = share;
	cpu->share.error = cpu->few ? (cpu->share_high - cpu->share_low) / (2 * Z95) :
				      sqrt(var) / all;
}

/* What the allocator calls is not in the share, and much of the probes' cost is in the whole. */
static void make_lower_bound(struct report_cpu *cpu)
{
	cpu->share.bound = BOUND_LOWER;
	if (cpu->nr_samples)
		cpu->share_high = fmin(cpu->share_high + (double)cpu->nr_kernel / cpu->nr_samples, 1);
}

void finish_cpu(struct model *m)
{
	struct report_cpu *cpu = &m->report.cpu;
	double all = m->cpu_allocator.sum + m->cpu_rest.sum;
	double with_probes = all + m->cpu_probe.sum;

	cpu->share.value = cpu->share_low = cpu->share_high = NAN;
	if (!m->report.recording.share_unknown && all > 0)
		finish_share(m, cpu, all);
	if (m->report.recording.cpu_call_graph == CALL_GRAPH_NONE)
		make_lower_bound(cpu);
	cpu->probe_share = with_probes > 0 ? m->cpu_probe.sum / with_probes : 0;
}

enum report_verdict judge(const struct report *r)
{
	const struct report_cpu *cpu = &r->cpu;
	double least = cpu->few ? cpu->share_low : cpu->share.value - cpu->share.error, most;

	/* Without a refill there may be any number of allocations. */
	if (r->totals.allocs.value <= 0 && (!r->recording.slow_path || isnan(cpu->share.value)))
		return VERDICT_EMPTY;
	if (isnan(cpu->share.value))
		return report__rate(r, r->totals.allocs.value) < RATE_NOT_CHURN &&
		       !r->recording.slow_path ? VERDICT_NOT_CHURN : VERDICT_UNKNOWN;
	if (least >= SHARE_CHURN)
		return VERDICT_CHURN;
	if (least >= SHARE_NOT_CHURN)
		return cpu->share.bound == BOUND_LOWER ? VERDICT_UNKNOWN : VERDICT_SOME;
	most = cpu->share_high + (double)cpu->nr_unnamed_libc / cpu->nr_samples;
	return most < SHARE_NOT_CHURN ? VERDICT_NOT_CHURN : VERDICT_UNKNOWN;
}
