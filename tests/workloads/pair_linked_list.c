// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_linked_list.c - a linked list that is built, walked and torn down for each batch of
 * orders.
 *
 *	pair_linked_list [BATCHES]	default 100000
 *
 * Site: add_order, 500 nodes of 40 bytes a batch, freed together. FREELIST: in front of malloc()
 * and free(). FIXED: an array of orders, kept from batch to batch.
 */
#include <inttypes.h>
#include <stdio.h>

#include "freelist.h"
#include "workload.h"

#define NR_ORDERS	500

struct order {
#ifndef FIXED
	struct order *next;
#endif
	uint64_t id, price, amount, total;
};

#ifdef FIXED
static struct order orders[NR_ORDERS];

#define for_each_order(o)	for (o = orders; o < orders + NR_ORDERS; o++)
#else
static struct order *first;

#define for_each_order(o)	for (o = first; o; o = o->next)
#endif

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL + 1;
	return (x ^ x >> 29) * 0xc4ceb9fe1a85ec53ULL;
}

NOINLINE static void add_order(int i, uint64_t x)
{
#ifdef FIXED
	struct order *o = &orders[NR_ORDERS - 1 - i];
#else
	struct order *o = site_alloc(sizeof(*o));

	o->next = first;
	first = o;
#endif
	o->id = i;
	o->price = x >> 48;
	o->amount = x >> 40 & 255;
}

NOINLINE static uint64_t settle(void)
{
	struct order *o;
	uint64_t sum = 0, rate = 1;

	for_each_order(o) {
		o->total = o->price * o->amount * 1000 / (o->amount + rate);
		rate += o->total & 7;
	}
	for_each_order(o) {
		sum = mix(sum ^ o->total) + o->id;
		sum = mix(sum ^ o->price);
	}
	return sum;
}

NOINLINE static void drop_orders(void)
{
#ifndef FIXED
	struct order *o;

	while ((o = first)) {
		first = o->next;
		site_free(o, sizeof(*o));
	}
#endif
}

NOINLINE static uint64_t run_batch(uint64_t nr)
{
	uint64_t sum;
	int i;

	/* Not a chain of its own, which the time in malloc() would hide. */
	for (i = 0; i < NR_ORDERS; i++)
		add_order(i, mix(mix(mix(mix(nr * NR_ORDERS + i)))));
	sum = settle();
	drop_orders();
	return sum;
}

int main(int argc, char **argv)
{
	long i, nr_batches = arg_long(argc, argv, 1, 100000);
	uint64_t sum = 0;

	for (i = 0; i < nr_batches; i++)
		sum += run_batch(i);
	printf("%ld batches, checksum %016" PRIx64 "\n", nr_batches, sum);
	return 0;
}
