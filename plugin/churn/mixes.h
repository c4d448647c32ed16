/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixes.h - whose blocks are freed, or touched, at a place: a weight for each site.
 *
 * A sampled free tells which site its block is from. CPU time in a free is shared out by the frees
 * that were sampled on the same stack; where these are few, at the same call, or in the same
 * function. Where there are too few even so, nobody knows.
 */
#ifndef PERF_CHURN_CHURN_MIXES_H
#define PERF_CHURN_CHURN_MIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "costs.h"
#include "places.h"

/** struct mix_part - Blocks of one site at one place. */
struct mix_part {
	__u32 place, site;
	__u64 nr;
	double weight, squares, bytes;
};

/** struct mix - Parts of one place, and their sums. */
struct mix {
	const struct mix_part *parts;
	size_t nr;
	struct mix_part sum;
};

enum mix_level { MIX_STACK, MIX_LINE, MIX_FUNCTION, NR_MIX_LEVELS, MIX_NONE = NR_MIX_LEVELS };

/** struct mixes - Zero it to begin with. */
struct mixes {
	struct mix_table {
		struct places places;
		struct mix_part *parts;
		size_t nr, room;
	} tables[NR_MIX_LEVELS];
};

/** mixes__init() - From all deaths. Return: 0 or -ENOMEM. */
int mixes__init(struct mixes *m, const struct stacks *stacks, const struct costs *costs);
void mixes__exit(struct mixes *m);

/** mixes__find() - The mix for a CPU sample's stack, by the finest level that has enough. */
enum mix_level mixes__find(const struct mixes *m, const struct stacks *stacks, __u32 stack,
			   struct mix *ret);

/* For tables of other kinds. */
int mix_table__add(struct mix_table *t, const struct mix_part *part);
/** mix_table__sort() - When all is added: equal parts become one. */
void mix_table__sort(struct mix_table *t);
/** mix_table__find() - Return: false when there is none. */
bool mix_table__find(const struct mix_table *t, __u32 place, struct mix *ret);
void mix_table__exit(struct mix_table *t);

#endif /* PERF_CHURN_CHURN_MIXES_H */
