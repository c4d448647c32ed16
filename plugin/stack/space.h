/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * space.h - an address space: sorted mappings without overlaps, shared between forks until one
 * of them changes its own.
 */
#ifndef PERF_CHURN_STACK_SPACE_H
#define PERF_CHURN_STACK_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct space;

/**
 * struct mapping - [@start, @end) shows @dso from file offset @pgoff on.
 * @dso: The file, as who keeps the space knows files. Only compared here.
 * @exec: Code may be there.
 */
struct mapping {
	__u64 start, end, pgoff;
	void *dso;
	bool exec;
};

/**
 * struct space_pool - What all spaces of a machine share.
 * @next_id: For space__id().
 * @nr_mappings: In all spaces together; bounded, since a hostile file can fork at will.
 */
struct space_pool {
	__u64 next_id;
	size_t nr_mappings;
};

/** space__new() - An empty space with one reference; NULL when out of memory. */
struct space *space__new(struct space_pool *pool);

/** space__get() - Take a reference. */
struct space *space__get(struct space *space);

/** space__put() - Give a reference back; NULL is fine. */
void space__put(struct space *space);

/**
 * space__map() - Put a mapping over whatever was there; what it covers in part is cut or split.
 * @space: Replaced by a private copy when it is shared.
 *
 * Return: 0, -EINVAL for an empty or wrapping range, -E2BIG when there are more mappings than a
 * kernel allows (the mapping is left out), -ENOMEM.
 */
int space__map(struct space **space, const struct mapping *map);

/** space__find() - The mapping that holds @addr, or NULL; valid until the next change. */
const struct mapping *space__find(struct space *space, __u64 addr);

/** space__at() - The @idx-th mapping by address; valid until the next change. */
const struct mapping *space__at(const struct space *space, size_t idx);

/** space__nr() - Number of mappings. */
size_t space__nr(const struct space *space);

/**
 * space__id() - Number of this state of affairs, unique in the pool.
 *
 * It changes when an address that was mapped becomes other code, or code becomes something else;
 * not when mappings are added.
 */
__u64 space__id(const struct space *space);

#endif /* PERF_CHURN_STACK_SPACE_H */
