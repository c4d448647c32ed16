/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * costs.h - what is needed to tell each site's cost: CPU samples by stack and class, and for each
 * stack that frees the sites whose blocks die there.
 *
 * Memory grows with the number of distinct stacks, not of samples.
 */
#ifndef PERF_CHURN_CHURN_COSTS_H
#define PERF_CHURN_CHURN_COSTS_H

#include <stddef.h>
#include <linux/types.h>

#include "index.h"
#include "report.h"

#define SITE_NONE	((__u32)-1)

/** struct period_sum - Sum of periods, and of their squares. */
struct period_sum {
	double sum, squares;
};

/**
 * struct cpu_path - CPU samples of one stack.
 * @stack: STACK_NONE where it does not matter.
 * @flags: enum model_cpu_flags.
 * @comm: From stacks__string().
 * @fresh: Of class CLASS_COMPUTE, the part that is likely a heap fault; set when all is read.
 */
struct cpu_path {
	__u32 stack, flags;
	enum cpu_class class;
	const char *comm;
	__u64 nr;
	struct period_sum sum;
	double fresh;
};

/** struct death - Sampled blocks of @site (SITE_NONE: not known) that were freed at @stack. */
struct death {
	__u32 stack, site;
	__u64 nr;
	double weight, squares, bytes;
};

/** struct costs - Zero it to begin with. */
struct costs {
	struct cpu_path *paths;
	size_t nr_paths, room_paths;
	struct index path_index;
	struct death *deaths;
	size_t nr_deaths, room_deaths;
	struct index death_index;
};

void costs__exit(struct costs *c);

/** costs__path() - Number of the path with this stack, flags, class and comm. 0 or -ENOMEM. */
int costs__path(struct costs *c, const struct cpu_path *like, __u32 *ret);

/** costs__add_death() - A sampled block was freed. Return: 0 or -ENOMEM. */
int costs__add_death(struct costs *c, __u32 stack, __u32 site, __u64 weight, __u64 size_bytes);

void period_sum__add(struct period_sum *sum, double period);

#endif /* PERF_CHURN_CHURN_COSTS_H */
