/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_cost.h - what a hit of a probe costs on this machine, measured.
 */
#ifndef PERF_CHURN_TRACE_PROBE_COST_H
#define PERF_CHURN_TRACE_PROBE_COST_H

#include <linux/types.h>

#include "probes.h"

struct probe_image;
struct probe_site;

/** enum probe_class - How the kernel goes on from the probed instruction. */
enum probe_class {
	COST_EMULATED,	/* one trap */
	COST_STEPPED,	/* two: it runs out of line, single-stepped */
	COST_NR_CLASSES,
};

/** enum probe_call - What our BPF programs do at a call of the probed function. */
enum probe_call {
	COST_ALLOC,	/* count it; see its return only if it is sampled, with uprobe sessions */
	COST_FREE,	/* count it and look its block up */
	COST_WRAPPING,	/* realloc and others that may call probed functions: entry and return */
	COST_NR_CALLS,
};

/**
 * struct probe_cost - CPU time that a call pays for its probe, when it is not sampled.
 * @ns: Median over batches of calls in a loop, without the call itself; NAN when the probe was never
 *	hit. Code and data are in the caches: real programs pay more. So do all while the other thread
 *	of the core is busy (a third was seen), which is in here only if it was.
 * @mad_ns: Median absolute deviation of the batches.
 */
struct probe_cost {
	double ns;
	double mad_ns;
};

/**
 * struct probe_costs - All of it.
 * @method: How probes were attached; never PROBE_AUTO.
 */
struct probe_costs {
	enum probe_method method;
	struct probe_cost costs[COST_NR_CLASSES][COST_NR_CALLS];
};

/**
 * probe_cost__measure() - Plant probes in a child of ours and let it run into them.
 * @method: As for the probes whose cost is asked for.
 * @ret: Set on success only.
 *
 * The probed code is our own executable's, and no other process gets the probes. Takes some 0.2 s, half
 * of it CPU time.
 *
 * Context: Needs CAP_BPF and CAP_PERFMON.
 * Return: 0 or a negative errno, printed.
 */
int probe_cost__measure(enum probe_method method, struct probe_costs *ret);

/** probe_cost__class() - The class of a probe. */
enum probe_class probe_cost__class(const struct probe_site *site);
const char *probe_class__name(enum probe_class class);

/** probe_cost__call() - What happens at a probe of this image. */
enum probe_call probe_cost__call(const struct probe_image *image, const struct probe_site *site);

#endif /* PERF_CHURN_TRACE_PROBE_COST_H */
