// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hit costs is measured, with each way to attach.
 *
 * needs: record
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "probe/probe.h"
#include "trace/probe_cost.h"

FIXTURE(costs) { struct probe_costs costs; };
FIXTURE_VARIANT(costs) { enum probe_method method; };
FIXTURE_SETUP(costs) { memset(&self->costs, 0, sizeof(self->costs)); }
FIXTURE_TEARDOWN(costs) { }

FIXTURE_VARIANT_ADD(costs, automatic) { .method = PROBE_AUTO };
FIXTURE_VARIANT_ADD(costs, multi) { .method = PROBE_MULTI };
FIXTURE_VARIANT_ADD(costs, event) { .method = PROBE_EVENT };

TEST_F(costs, are_measured)
{
	const struct probe_cost *cost;

	if (variant->method == PROBE_EVENT && access("/sys/kernel/tracing/uprobe_events", W_OK))
		SKIP(return, "tracefs cannot be written to");
	ASSERT_EQ(0, probe_cost__measure(variant->method, &self->costs));
	if (variant->method != PROBE_AUTO)
		EXPECT_EQ(variant->method, self->costs.method);
	for (int class = 0; class < COST_NR_CLASSES; class++) {
		for (int call = 0; call < COST_NR_CALLS; call++) {
			cost = &self->costs.costs[class][call];
			/* NAN is never greater. */
			EXPECT_TRUE(cost->ns > 10);
			EXPECT_TRUE(cost->mad_ns >= 0 && cost->mad_ns < cost->ns);
		}
	}
	cost = self->costs.costs[COST_EMULATED];
	/* One trap, and two. */
	EXPECT_LT(cost[COST_FREE].ns, self->costs.costs[COST_STEPPED][COST_FREE].ns);
	/* A return costs something on top. */
	EXPECT_LT(cost[COST_FREE].ns, cost[COST_WRAPPING].ns);

	EXPECT_EQ(-1, waitpid(-1, NULL, WNOHANG));
	EXPECT_EQ(ECHILD, errno);
}

struct kind_row {
	struct probe_site site;
	bool may_forward;
	enum probe_class class;
	enum probe_call call;
};

FIXTURE(kind) { };
FIXTURE_VARIANT(kind) { struct kind_row row; };
FIXTURE_SETUP(kind) { }
FIXTURE_TEARDOWN(kind) { }

#define KIND(name, ...)	FIXTURE_VARIANT_ADD(kind, name) { .row = { __VA_ARGS__ } }

KIND(malloc, { .fn = CHURN_FN_MALLOC, .emulated = true }, false, COST_EMULATED, COST_ALLOC);
KIND(calloc, { .fn = CHURN_FN_CALLOC }, false, COST_STEPPED, COST_ALLOC);
KIND(free, { .fn = CHURN_FN_FREE, .emulated = true }, false, COST_EMULATED, COST_FREE);
KIND(realloc, { .fn = CHURN_FN_REALLOC }, false, COST_STEPPED, COST_WRAPPING);
KIND(memalign, { .fn = CHURN_FN_MEMALIGN }, false, COST_STEPPED, COST_WRAPPING);
KIND(free_of_a_wrapper, { .fn = CHURN_FN_FREE }, true, COST_STEPPED, COST_WRAPPING);

TEST_F(kind, of_a_probe)
{
	const struct probe_image image = { .may_forward = variant->row.may_forward };

	EXPECT_EQ(variant->row.class, probe_cost__class(&variant->row.site));
	EXPECT_EQ(variant->row.call, probe_cost__call(&image, &variant->row.site));
}

TEST_HARNESS_MAIN
