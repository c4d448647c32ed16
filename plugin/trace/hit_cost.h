/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hit_cost.h - what a hit of our probes costs on this machine, measured on a child of our own.
 *
 * The child calls functions that do nothing, bare and with the recording's own BPF programs on them:
 * in a tight loop, and with memory touched in between so that the kernel's code is cold.
 */
#ifndef PERF_CHURN_TRACE_HIT_COST_H
#define PERF_CHURN_TRACE_HIT_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct hit_child;
struct probes;

/** enum hit_kind - Programs take different ways. */
enum hit_kind {
	HIT_ALLOC,		/* entry of malloc: not sampled */
	HIT_FREE,
	HIT_WRAPPING,		/* entry and return of realloc */
	HIT_KINDS,
};

/** enum hit_class - Instructions at the probe. */
enum hit_class {
	HIT_EMULATED,
	HIT_STEPPED,
	HIT_CLASSES,
};

#define HIT_RUNS	7

/** struct hit_times - Of one function: ns a call, each run. */
struct hit_times {
	double bare_hot[HIT_RUNS], bare_cold[HIT_RUNS];
	double probed_hot[HIT_RUNS], probed_cold[HIT_RUNS];
};

/**
 * struct hit_cost - What hits cost.
 * @ns: A hit of each kind and class.
 * @sampled_ns: What a sampled allocation costs beyond its two hits, and beyond the making of its
 *	samples, which the BPF programs time themselves: the return, and following the block.
 * @error: All are right within this part, at 95 %.
 */
struct hit_cost {
	double ns[HIT_KINDS][HIT_CLASSES];
	double sampled_ns;
	double error;
};

/**
 * struct pair_times - An allocation and its free, sampled: ns a pair, each run.
 * @timed: Of @probed, what the BPF programs have timed.
 */
struct pair_times {
	double bare[HIT_RUNS], probed[HIT_RUNS], timed[HIT_RUNS];
};

/**
 * hit_cost__judge() - From measurements to costs. Pure.
 *
 * The cost lies between that in the tight loop and, since real programs leave caches colder yet than
 * we do, somewhat more than that with cold code; the middle is taken, and half the distance is the error.
 */
void hit_cost__judge(const struct hit_times times[HIT_KINDS][HIT_CLASSES],
		     const struct pair_times *pair, struct hit_cost *ret);

/**
 * hit_child__new() - Fork the child: before there are threads and events.
 *
 * Return: 0 or a negative errno.
 */
int hit_child__new(struct hit_child **ret);
void hit_child__free(struct hit_child *c);

/**
 * hit_child__calibrate() - Measure everything. The probes must be gated.
 *
 * Context: Takes some 100 ms. Nobody else may attach or detach meanwhile.
 * Return: 0 or a negative errno, printed.
 */
int hit_child__calibrate(struct hit_child *c, struct probes *probes, struct hit_cost *ret);

/**
 * hit_child__recalibrate() - Measure again, only the hot loop.
 * @factor: Set to how many times as much a hit costs now than when calibrated.
 */
int hit_child__recalibrate(struct hit_child *c, struct probes *probes, double *factor);

#endif /* PERF_CHURN_TRACE_HIT_COST_H */
