/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * order.h - in which order a site's blocks are freed, from a sample of them.
 *
 * LIFO or FIFO is asked of pairs of blocks of one thread that lived at the same time: was the
 * younger freed first, or the older? A pair is as it is whichever others are sampled, so a sample
 * tells as well as the whole does, where it has pairs. Blocks that live on and on are in no pair.
 *
 * Batches are runs of frees, by the thread that allocated, without an allocation of the site
 * between them. In a sample of one in N only batches of several times N blocks are seen as such.
 */
#ifndef PERF_CHURN_CHURN_ORDER_H
#define PERF_CHURN_CHURN_ORDER_H

#include "share.h"

#define ORDER_ENDED	8
#define ORDER_THREADS	4

/** enum free_order - Of blocks of one site. */
enum free_order {
	FREE_ORDER_UNKNOWN,	/* no two lived at a time, or too few were seen */
	FREE_ORDER_LIFO,
	FREE_ORDER_FIFO,
	FREE_ORDER_BATCH,	/* all at once, in whatever order */
	FREE_ORDER_MIXED,
};

/** struct order_ended - A block that was freed lately. */
struct order_ended {
	__u64 start_ns, end_ns;
	__u32 tid;		/* that allocated it */
};

struct order_thread {
	__u32 tid;
	bool was_free;		/* what it did last at the site */
};

/** struct order - Zero it. Of fixed size, however many samples come. */
struct order {
	struct order_ended ended[ORDER_ENDED];
	struct order_thread threads[ORDER_THREADS];
	unsigned int next_ended, next_thread;
	struct share_sum lifo;		/* of pairs: the younger goes first */
	struct share_sum follows;	/* of frees: a free came before it */
	double nr_batches;		/* weight of frees over it is the length of a batch */
};

void order__add_alloc(struct order *o, __u32 tid);

/**
 * order__add_free() - A block that began at @start_ns, allocated by @alloc_tid, freed by @tid at
 * @end_ns, in order of time.
 */
void order__add_free(struct order *o, __u32 alloc_tid, __u32 tid, __u64 start_ns, __u64 end_ns,
		     __u64 weight);

enum free_order order__judge(const struct order *o);

/** order__batch_blocks() - Blocks freed at a time; NAN without frees. */
double order__batch_blocks(const struct order *o);

#endif /* PERF_CHURN_CHURN_ORDER_H */
