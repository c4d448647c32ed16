// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pure parts of recording under a budget: the account that opens windows, what a hit costs, and
 * what windows tell of the whole.
 */
#include <linux/types.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/churn.h"
#include "trace/budget.h"
#include "trace/hit_cost.h"
#include "util/window_estimate.h"

#include <kselftest_harness.h>

#define MS	1000000ULL
#define SECOND	1000000000ULL
#define STALL	200000
#define SHARE	0.03

/* A program: hits per ns of its own CPU time, CPUs it keeps busy; and what probes did to it. */
struct program {
	double hits_per_ns, hit_ns, cpus;
	double cpu, cost, windows_ns;
	__u64 now, last_end, longest_gap, nr_windows;
	bool on;
};

static void run_bare(struct program *p, struct budget *b, __u64 ns)
{
	budget__pass(b, ns, ns * p->cpus);
	p->cpu += ns * p->cpus;
	p->now += ns;
}

/* With probes on, cost takes its part of the CPU time. */
static double run_probed(struct program *p, struct budget *b, __u64 ns)
{
	double density = p->hits_per_ns * p->hit_ns;
	double cost = ns * p->cpus * density / (1 + density);

	run_bare(p, b, ns);
	budget__spend(b, cost);
	p->cost += cost;
	p->windows_ns += ns;
	return cost;
}

static void open_window(struct program *p, struct budget *b, __u64 ns)
{
	double cost = run_probed(p, b, ns);

	if (p->last_end && p->now - p->last_end > p->longest_gap)
		p->longest_gap = p->now - p->last_end;
	p->on = budget__keeps_on(b, ns * p->cpus, cost);
	budget__learn(b, ns * p->cpus, cost);
	if (!p->on) {
		budget__spend(b, STALL);
		p->cost += STALL;
	}
	p->nr_windows++;
	p->last_end = p->now;
}

static void step(struct program *p, struct budget *b)
{
	struct budget_plan plan;

	if (p->on) {
		run_probed(p, b, 10 * MS);
		p->last_end = p->now;
		p->on = !budget__is_overdrawn(b);
		if (!p->on) {
			budget__spend(b, STALL);
			p->cost += STALL;
		}
		return;
	}
	budget__plan(b, p->now - p->last_end, drand48(), &plan);
	if (plan.window_ns && plan.wait_ns < MS)
		open_window(p, b, plan.window_ns);
	else
		run_bare(p, b, plan.wait_ns > MS ? plan.wait_ns : MS);
}

static void run(struct program *p, struct budget *b, double hits_per_s, __u64 ns)
{
	__u64 end = p->now + ns;

	p->hits_per_ns = hits_per_s / 1e9;
	while (p->now < end)
		step(p, b);
}

FIXTURE(budget) {
	struct budget b;
	struct program p;
};

FIXTURE_VARIANT(budget) {
	double cpus, hit_ns;
};

FIXTURE_VARIANT_ADD(budget, one_cpu) { .cpus = 1, .hit_ns = 1100 };
FIXTURE_VARIANT_ADD(budget, four_cpus) { .cpus = 4, .hit_ns = 1100 };
FIXTURE_VARIANT_ADD(budget, mostly_asleep) { .cpus = 0.05, .hit_ns = 1100 };
FIXTURE_VARIANT_ADD(budget, slow_machine) { .cpus = 1, .hit_ns = 7000 };

static void begin(struct program *p, struct budget *b, double cpus, double hit_ns)
{
	srand48(1);
	budget__init(b, SHARE, STALL, true);
	*p = (struct program){ .cpus = cpus, .hit_ns = hit_ns };
}

FIXTURE_SETUP(budget)
{
	begin(&self->p, &self->b, variant->cpus, variant->hit_ns);
}

FIXTURE_TEARDOWN(budget)
{
}

TEST_F(budget, holds_whatever_the_rate)
{
	static const double rates[] = { 0, 100, 1e4, 3e4, 1e5, 1e6, 1e7, 1e8 };
	size_t i;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		begin(&self->p, &self->b, variant->cpus, variant->hit_ns);
		run(&self->p, &self->b, rates[i], 60 * SECOND);
		EXPECT_LT(self->p.cost, SHARE * self->p.cpu) {
			TH_LOG("%g hits/s: %g", rates[i], self->p.cost / self->p.cpu);
		}
		EXPECT_GT(self->p.windows_ns, 0);
	}
}

TEST_F(budget, low_rate_keeps_probes_on)
{
	run(&self->p, &self->b, 100, 20 * SECOND);
	EXPECT_GT(self->p.windows_ns, 19.8 * SECOND);
}

TEST_F(budget, jumps_a_thousandfold_and_back)
{
	int i;

	for (i = 0; i < 10; i++) {
		run(&self->p, &self->b, 1000, 3 * SECOND);
		run(&self->p, &self->b, 1e6, 3 * SECOND);
	}
	EXPECT_LT(self->p.cost, SHARE * self->p.cpu);
	/* Back at the low rate, probes are on again soon. */
	run(&self->p, &self->b, 1000, 3 * SECOND);
	EXPECT_TRUE(self->p.on || variant->cpus < 1);
}

TEST(windows_of_a_busy_program_come_ten_times_a_second)
{
	struct program p = { .cpus = 1, .hit_ns = 1100 };
	struct budget b;

	budget__init(&b, SHARE, STALL, true);
	run(&p, &b, 1e7, 10 * SECOND);
	EXPECT_GT(p.nr_windows, 80);
	EXPECT_LT(p.longest_gap, 300 * MS);
}

TEST(a_child_has_to_earn_its_first_window)
{
	struct budget_plan plan;
	struct budget b;

	budget__init(&b, SHARE, STALL, false);
	budget__plan(&b, 0, 0.5, &plan);
	EXPECT_EQ(0, plan.window_ns);
	EXPECT_GT(plan.wait_ns, 10 * MS);
	budget__pass(&b, 100 * MS, 100 * MS);
	budget__plan(&b, 100 * MS, 0.5, &plan);
	EXPECT_EQ(MS, plan.window_ns);
	EXPECT_EQ(0, plan.wait_ns);
}

TEST(hit_cost_is_between_hot_and_colder_than_cold)
{
	struct hit_times times[HIT_KINDS][HIT_CLASSES];
	struct pair_times pair;
	struct hit_cost cost;
	int kind, class, i;

	for (i = 0; i < HIT_RUNS; i++) {
		for (kind = 0; kind < HIT_KINDS; kind++) {
			for (class = 0; class < HIT_CLASSES; class++) {
				times[kind][class].bare_hot[i] = 2;
				times[kind][class].bare_cold[i] = 10;
				times[kind][class].probed_hot[i] = 1002;
				times[kind][class].probed_cold[i] = 1110;
			}
		}
		pair.bare[i] = 4;
		pair.probed[i] = 4004;
		pair.timed[i] = 1500;
	}
	/* One run that something got in the way of. */
	times[HIT_ALLOC][HIT_EMULATED].probed_hot[0] = 50000;
	hit_cost__judge(times, &pair, &cost);
	EXPECT_GT(cost.ns[HIT_ALLOC][HIT_EMULATED], 1000);
	EXPECT_LT(cost.ns[HIT_ALLOC][HIT_EMULATED], 1265);
	EXPECT_GE(cost.error, 0.1);
	EXPECT_LT(cost.error, 0.2);
	/* 4000 more than bare, less 2000 for two hits, less what was timed. */
	EXPECT_LT(fabs(cost.sampled_ns - 500), 1);
}

FIXTURE(estimate) {
	struct window_estimate *e;
	struct window_result r;
};

FIXTURE_SETUP(estimate)
{
	ASSERT_EQ(0, window_estimate__new(&self->e));
}

FIXTURE_TEARDOWN(estimate)
{
	window_estimate__free(self->e);
}

/*
 * A window of @ms, after @between_ms, in a program of @rate calls per ms of its own CPU time, each of
 * which costs @call_ns.
 */
static struct churn_window window_of(double rate, double call_ns, double ms, double between_ms,
				     double error)
{
	double density = rate * call_ns / 1e6, own_ms = ms / (1 + density);
	struct churn_window w = {
		.start_ns = 1000 * MS, .end_ns = 1000 * MS + ms * MS, .sample_period = 1,
		.cpu_ns = ms * MS, .between_ns = between_ms * MS, .cpu_between_ns = between_ms * MS,
		.flags = CHURN_W_SAMPLED | CHURN_W_COST, .budget_ppm = 30000,
	};

	w.nr_allocs = w.nr_frees = own_ms * rate + 0.5;
	w.alloc_bytes = w.nr_allocs * 32;
	w.cost_ns = w.nr_allocs * call_ns;
	w.cost_err_ns = w.cost_ns * error;
	return w;
}

TEST_F(estimate, steady_program)
{
	struct churn_window w = window_of(100, 2000, 3, 97, 0.1);
	int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	window_estimate__finish(self->e, &self->r);
	EXPECT_TRUE(self->r.is_sampled);
	EXPECT_FALSE(self->r.at_least);
	/* 50 times 100 ms, less cost: 50 x 0.5 ms of it */
	EXPECT_LT(fabs(self->r.ranges[WINDOW_ALLOCS].value - 497500), 2000);
	EXPECT_LT(self->r.ranges[WINDOW_ALLOCS].low, 497500 * 0.99);
	EXPECT_GT(self->r.ranges[WINDOW_ALLOCS].high, 497500 * 1.01);
	EXPECT_LT(fabs(self->r.ranges[WINDOW_BYTES].value - 32 * 497500), 32 * 2000);
	EXPECT_EQ(50, self->r.nr_windows);
}

/* Counts over CPU time would come out low: a window sees less of the program where it allocates more. */
TEST_F(estimate, phases_do_not_bias)
{
	double truth = 0;
	int i;

	for (i = 0; i < 200; i++) {
		double rate = i % 2 ? 400 : 10;
		struct churn_window w = window_of(rate, 2000, 3, 97, 0.1);

		truth += rate * (97 + 3 - w.cost_ns / 1e6);
		ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	}
	window_estimate__finish(self->e, &self->r);
	EXPECT_LT(fabs(self->r.ranges[WINDOW_ALLOCS].value / truth - 1), 0.02);
	EXPECT_LT(self->r.ranges[WINDOW_ALLOCS].low, truth);
	EXPECT_GT(self->r.ranges[WINDOW_ALLOCS].high, truth);
}

FIXTURE(wrong_cost) {
	struct window_estimate *e;
};

FIXTURE_VARIANT(wrong_cost) {
	double factor;
};

FIXTURE_VARIANT_ADD(wrong_cost, too_much) { .factor = 1.14 };
FIXTURE_VARIANT_ADD(wrong_cost, too_little) { .factor = 0.86 };

FIXTURE_SETUP(wrong_cost)
{
	ASSERT_EQ(0, window_estimate__new(&self->e));
}

FIXTURE_TEARDOWN(wrong_cost)
{
	window_estimate__free(self->e);
}

TEST_F(wrong_cost, is_covered_by_the_interval)
{
	struct churn_window w = window_of(200, 2000, 3, 97, 0.17);
	struct window_result r;
	int i;

	w.cost_ns *= variant->factor;
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	window_estimate__finish(self->e, &r);
	EXPECT_FALSE(r.at_least);
	EXPECT_LT(r.ranges[WINDOW_ALLOCS].low, 200 * 100 * 99.0);
	EXPECT_GT(r.ranges[WINDOW_ALLOCS].high, 200 * 100 * 99.0);
}

TEST_F(estimate, dense_windows_give_a_lower_bound)
{
	struct churn_window w = window_of(100000, 2000, 3, 97, 0.15);
	int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	window_estimate__finish(self->e, &self->r);
	EXPECT_TRUE(self->r.at_least);
	EXPECT_GT(self->r.ranges[WINDOW_ALLOCS].low, 50 * w.nr_allocs);
	EXPECT_LT(self->r.ranges[WINDOW_ALLOCS].low, 100000.0 * 50 * 100);
}

/* A clock that stands still during traps tells the rate where cost does not. */
TEST_F(estimate, user_clock_needs_no_cost)
{
	struct churn_window w = window_of(100000, 2000, 3, 97, 0.15);
	int i;

	w.user_clock = 1000000 * w.nr_allocs / 100000;
	w.user_clock_between = 97 * 1000000ULL;
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	window_estimate__finish(self->e, &self->r);
	EXPECT_FALSE(self->r.at_least);
	EXPECT_LT(fabs(self->r.ranges[WINDOW_ALLOCS].value / (100000.0 * 50 * 97) - 1), 0.01);
}

TEST_F(estimate, probes_that_stay_on_are_exact)
{
	struct churn_window w = {
		.end_ns = SECOND, .nr_allocs = 23, .alloc_bytes = 230, .nr_frees = 22,
		.cpu_ns = SECOND, .cost_ns = 1000, .flags = CHURN_W_COST,
	};

	ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	window_estimate__finish(self->e, &self->r);
	EXPECT_FALSE(self->r.is_sampled);
	EXPECT_FALSE(self->r.at_least);
	EXPECT_EQ(46, self->r.ranges[WINDOW_ALLOCS].value);
	EXPECT_EQ(46, self->r.ranges[WINDOW_ALLOCS].low);
	EXPECT_EQ(46, self->r.ranges[WINDOW_ALLOCS].high);
}

TEST_F(estimate, process_without_a_window_makes_a_lower_bound)
{
	struct churn_window w = window_of(100, 2000, 3, 97, 0.1);
	struct churn_window gap = {
		.gap_ns = 5 * MS, .flags = CHURN_W_SAMPLED | CHURN_W_COST, .cpu_between_ns = 5 * MS,
	};
	int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, window_estimate__add(self->e, 1, &w));
	ASSERT_EQ(0, window_estimate__add(self->e, 2, &gap));
	window_estimate__finish(self->e, &self->r);
	EXPECT_TRUE(self->r.at_least);
}

TEST(factor_is_coverage_times_dilation)
{
	struct churn_window w = window_of(500, 1000, 2, 98, 0.1);

	/* 100 ms over 2, and half of the CPU time more than the program's own */
	EXPECT_LT(fabs(window_factor(&w) - 50 * 1.5), 0.2);
	w.flags = CHURN_W_COST;
	EXPECT_EQ(1, window_factor(&w));
}

TEST_HARNESS_MAIN
