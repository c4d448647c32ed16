// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "order.h"

/* Of pairs; of frees that follow another: four frees a run. */
#define CLEAR_SHARE	0.9
#define BATCH_SHARE	0.75

static struct order_thread *find_thread(struct order *o, __u32 tid)
{
	for (unsigned int i = 0; i < ORDER_THREADS; i++) {
		if (o->threads[i].tid == tid)
			return &o->threads[i];
	}
	return NULL;
}

void order__add_alloc(struct order *o, __u32 tid)
{
	struct order_thread *t = find_thread(o, tid);

	if (!t) {
		t = &o->threads[o->next_thread++ % ORDER_THREADS];
		t->tid = tid;
	}
	t->was_free = false;
}

static void add_pairs(struct order *o, __u32 tid, __u64 start_ns, __u64 weight)
{
	unsigned int nr = 0, nr_younger = 0;

	for (unsigned int i = 0; i < ORDER_ENDED; i++) {
		const struct order_ended *e = &o->ended[i];

		if (!e->end_ns || e->tid != tid || e->end_ns <= start_ns)
			continue;
		nr++;
		nr_younger += e->start_ns > start_ns;
	}
	if (nr)
		share_sum__add(&o->lifo, weight, 1.0 * nr_younger / nr);
}

void order__add_free(struct order *o, __u32 alloc_tid, __u32 tid, __u64 start_ns, __u64 end_ns,
		     __u64 weight)
{
	struct order_thread *t = alloc_tid == tid ? find_thread(o, tid) : NULL;

	add_pairs(o, alloc_tid, start_ns, weight);
	o->ended[o->next_ended++ % ORDER_ENDED] = (struct order_ended){
		.start_ns = start_ns, .end_ns = end_ns, .tid = alloc_tid,
	};
	if (!t)
		return;
	share_sum__add(&o->follows, weight, t->was_free);
	o->nr_batches += !t->was_free;
	t->was_free = true;
}

enum free_order order__judge(const struct order *o)
{
	struct estimate lifo = share_sum__estimate(&o->lifo);
	struct estimate follows = share_sum__estimate(&o->follows);

	if (surely_above(&follows, BATCH_SHARE))
		return FREE_ORDER_BATCH;
	if (surely_above(&lifo, CLEAR_SHARE))
		return FREE_ORDER_LIFO;
	if (surely_below(&lifo, 1 - CLEAR_SHARE))
		return FREE_ORDER_FIFO;
	if (surely_above(&lifo, 1 - CLEAR_SHARE) && surely_below(&lifo, CLEAR_SHARE))
		return FREE_ORDER_MIXED;
	return FREE_ORDER_UNKNOWN;
}

double order__batch_blocks(const struct order *o)
{
	return o->nr_batches ? (o->follows.yes + o->follows.no) / o->nr_batches : NAN;
}
