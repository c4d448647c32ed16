// SPDX-License-Identifier: GPL-2.0-only
/*
 * calm_startup.c - no churn: builds a tree of 100,000 nodes at the start, keeps it, and then
 * only looks things up in it.
 *
 *	calm_startup [LOOKUPS]	default 3000000
 */
#include <inttypes.h>
#include <stdio.h>

#include "workload.h"

#define NR_NODES	100000

struct node {
	uint64_t key, value;
	struct node *child[2];
};

static struct node *root;

static uint64_t next_key(uint64_t *x)
{
	*x = *x * 6364136223846793005ULL + 1442695040888963407ULL;
	return *x >> 20;
}

NOINLINE static void add_node(uint64_t key)
{
	struct node **at = &root, *n = calloc(1, sizeof(*n));

	while (*at)
		at = &(*at)->child[key > (*at)->key];
	n->key = key;
	n->value = key * 31;
	*at = n;
}

NOINLINE static uint64_t look_up(uint64_t key)
{
	const struct node *n = root;

	while (n && n->key != key)
		n = n->child[key > n->key];
	return n ? n->value : 0;
}

int main(int argc, char **argv)
{
	long i, nr_lookups = arg_long(argc, argv, 1, 3000000);
	uint64_t x = 1, sum = 0;

	for (i = 0; i < NR_NODES; i++)
		add_node(next_key(&x));
	for (i = 0; i < nr_lookups; i++) {
		if (i % NR_NODES == 0)
			x = 1;
		sum += look_up(next_key(&x));
	}
	printf("%ld lookups, checksum %016" PRIx64 "\n", nr_lookups, sum);
	return 0;
}
