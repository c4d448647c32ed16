// SPDX-License-Identifier: GPL-2.0-only
#include "budget.h"

#define PLANNED		0.75	/* of the budget: cost per hit is known to some 20 % */
#define PERIOD_NS	1e8	/* from window to window, where the budget allows it */
#define JITTER		0.25
#define MIN_WINDOW_NS	1e6
#define MAX_WINDOW_NS	1e7
#define MIN_CPUS	0.001	/* a process that sleeps is asked again, sometime */
#define CPUS_OVER_NS	2e8	/* its CPU use is a mean over about so long */
#define SAVED_NS	2e8	/* no more is saved than in so long */
#define DEBT_NS		5e7	/* nor owed, by probes that stay */
#define FREE_COST_NS	5e3	/* a few hits say nothing */
#define MIN_EVIDENCE_NS	3e5
#define ASLEEP_CPUS	0.05
#define MAX_WAIT_NS	1e9

static double min(double a, double b)
{
	return a < b ? a : b;
}

static double max(double a, double b)
{
	return a > b ? a : b;
}

void budget__init(struct budget *b, double share, double stall_ns, bool loan)
{
	*b = (struct budget){
		.share = share * PLANNED, .stall_ns = stall_ns, .cpus = 1, .density = -1,
	};
	if (loan)
		b->balance_ns = stall_ns + MIN_WINDOW_NS;
}

void budget__pass(struct budget *b, __u64 wall_ns, __u64 cpu_ns)
{
	double part, limit;

	if (!wall_ns)
		return;
	b->seen_ns = min(b->seen_ns + wall_ns, CPUS_OVER_NS);
	part = min(wall_ns / b->seen_ns, 1);
	b->cpus += part * ((double)cpu_ns / wall_ns - b->cpus);
	limit = max(b->share * b->cpus * SAVED_NS, 2 * (b->stall_ns + MIN_WINDOW_NS * max(b->cpus, 1)));
	if (b->balance_ns < limit)
		b->balance_ns = min(b->balance_ns + b->share * cpu_ns, limit);
}

void budget__spend(struct budget *b, __u64 cost_ns)
{
	b->balance_ns -= cost_ns;
}

void budget__learn(struct budget *b, __u64 cpu_ns, __u64 cost_ns)
{
	double density;

	if (!cpu_ns)
		return;
	/* Almost all of it was cost: no telling how fast the program really is. */
	density = cost_ns / max((double)cpu_ns - cost_ns, cpu_ns / 100.0);
	if (b->density < 0 || density > b->density)
		b->density = density;		/* a rise is believed at once, */
	else
		b->density = (b->density + density) / 2;	/* a fall by halves */
}

/* The part of a window's CPU time that probes are expected to take. */
static double cost_part(const struct budget *b)
{
	return b->density < 0 ? 1 : b->density / (1 + b->density);
}

static double window_length(const struct budget *b, double cpus, double part)
{
	double left = b->share * cpus * PERIOD_NS - b->stall_ns;

	if (b->density < 0)
		return MIN_WINDOW_NS;
	if (left <= MIN_WINDOW_NS * cpus * part)
		return MIN_WINDOW_NS;
	return min(left / max(cpus * part, 1e-6), MAX_WINDOW_NS);
}

void budget__plan(const struct budget *b, __u64 since_ns, double random, struct budget_plan *ret)
{
	double cpus = max(b->cpus, MIN_CPUS), part = cost_part(b);
	double window = window_length(b, cpus, part);
	double cost = b->stall_ns + window * cpus * part;
	double period = max(PERIOD_NS, cost / (b->share * cpus));
	double wait = period * (1 + JITTER * (2 * random - 1)) - window - since_ns;
	double missing = cost - b->balance_ns;

	*ret = (struct budget_plan){0};
	if (missing > 0)
		wait = max(wait, missing / (b->share * cpus));
	if (b->density < 0 && missing <= 0)
		wait = 0;
	ret->wait_ns = min(max(wait, 0), MAX_WAIT_NS);
	if (missing > 0)
		return;
	ret->window_ns = window * (1 + JITTER * (2 * random - 1));
}

bool budget__keeps_on(const struct budget *b, __u64 cpu_ns, __u64 cost_ns)
{
	if (b->balance_ns <= 0)
		return false;
	/* It hardly ran: that says nothing new, but of one that sleeps. */
	if (cpu_ns < MIN_EVIDENCE_NS && cost_ns <= FREE_COST_NS)
		return b->density < 0 ? b->cpus < ASLEEP_CPUS : b->density <= b->share / 2;
	return cost_ns <= b->share * cpu_ns / 2 + FREE_COST_NS;
}

bool budget__is_overdrawn(const struct budget *b)
{
	return b->balance_ns < -b->share * max(b->cpus, 1) * DEBT_NS;
}
