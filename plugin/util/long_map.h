/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * long_map.h - a hash table of libbpf's whose keys are numbers: process ids and the like.
 */
#ifndef PERF_CHURN_UTIL_LONG_MAP_H
#define PERF_CHURN_UTIL_LONG_MAP_H

#include <bpf/hashmap.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>

static inline size_t long_map__hash(long key, void *ctx __attribute__((unused)))
{
	return key;
}

static inline bool long_map__equal(long a, long b, void *ctx __attribute__((unused)))
{
	return a == b;
}

/** long_map__new() - To be freed with hashmap__free(). Return: NULL: no memory. */
static inline struct hashmap *long_map__new(void)
{
	struct hashmap *map = hashmap__new(long_map__hash, long_map__equal, NULL);

	return libbpf_get_error(map) ? NULL : map;
}

#endif /* PERF_CHURN_UTIL_LONG_MAP_H */
