// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "space.h"

#define MAX_MAPPINGS		(1U << 17)	/* vm.max_map_count is 65530 */
#define MAX_POOL_MAPPINGS	(8U << 20)	/* 320 MB */

struct space {
	struct space_pool *pool;
	struct mapping *maps;
	size_t nr, cap;
	size_t last;		/* index of the last hit */
	unsigned int nr_refs;
	__u64 id;
};

struct space *space__new(struct space_pool *pool)
{
	struct space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->pool = pool;
	space->nr_refs = 1;
	space->id = ++pool->next_id;
	return space;
}

struct space *space__get(struct space *space)
{
	space->nr_refs++;
	return space;
}

void space__put(struct space *space)
{
	if (!space || --space->nr_refs)
		return;
	space->pool->nr_mappings -= space->nr;
	free(space->maps);
	free(space);
}

/* Make room for @nr more mappings, before anything is changed. */
static int reserve(struct space *space, size_t nr)
{
	size_t cap = space->cap ?: 32;
	struct mapping *maps;

	if (space->nr + nr > MAX_MAPPINGS || space->pool->nr_mappings + nr > MAX_POOL_MAPPINGS)
		return -E2BIG;
	while (cap < space->nr + nr)
		cap *= 2;
	if (cap == space->cap)
		return 0;
	maps = reallocarray(space->maps, cap, sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	space->maps = maps;
	space->cap = cap;
	return 0;
}

static int own_copy(struct space **ret)
{
	struct space *old = *ret, *copy;
	int err;

	if (old->nr_refs == 1)
		return 0;
	copy = space__new(old->pool);
	if (!copy)
		return -ENOMEM;
	err = reserve(copy, old->nr);
	if (err) {
		space__put(copy);
		return err;
	}
	if (old->nr)
		memcpy(copy->maps, old->maps, old->nr * sizeof(*old->maps));
	copy->nr = old->nr;
	copy->pool->nr_mappings += copy->nr;
	space__put(old);
	*ret = copy;
	return 0;
}

/* Index of the first mapping that ends after @addr. */
static size_t first_ending_after(const struct space *space, __u64 addr)
{
	size_t lo = 0, hi = space->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (space->maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool shows_the_same(const struct mapping *a, const struct mapping *b)
{
	return a->dso == b->dso && a->start - a->pgoff == b->start - b->pgoff;
}

/* Put @nr_new mappings in place of [from, to); room is reserved. */
static void replace(struct space *space, size_t from, size_t to, const struct mapping *maps,
		    size_t nr_new)
{
	struct mapping *at = space->maps + from;

	memmove(at + nr_new, space->maps + to, (space->nr - to) * sizeof(*at));
	memcpy(at, maps, nr_new * sizeof(*at));
	space->pool->nr_mappings += nr_new - (to - from);
	space->nr += nr_new - (to - from);
	space->last = 0;
}

int space__map(struct space **ret, const struct mapping *map)
{
	struct mapping pieces[3];
	struct space *space;
	size_t from, to, nr = 0;
	bool changed = false;
	int err;

	if (map->end <= map->start)
		return -EINVAL;
	err = own_copy(ret) ?: reserve(*ret, 2);
	if (err)
		return err;
	space = *ret;
	from = first_ending_after(space, map->start);
	for (to = from; to < space->nr && space->maps[to].start < map->end; to++)
		changed |= (map->exec || space->maps[to].exec) &&
			   !shows_the_same(&space->maps[to], map);
	if (changed)
		space->id = ++space->pool->next_id;

	if (to > from && space->maps[from].start < map->start) {
		pieces[nr] = space->maps[from];
		pieces[nr++].end = map->start;
	}
	pieces[nr++] = *map;
	if (to > from && space->maps[to - 1].end > map->end) {
		pieces[nr] = space->maps[to - 1];
		pieces[nr].pgoff += map->end - pieces[nr].start;
		pieces[nr++].start = map->end;
	}
	replace(space, from, to, pieces, nr);
	return 0;
}

const struct mapping *space__find(struct space *space, __u64 addr)
{
	size_t idx = space->last;

	if (idx < space->nr && addr >= space->maps[idx].start && addr < space->maps[idx].end)
		return &space->maps[idx];
	idx = first_ending_after(space, addr);
	if (idx >= space->nr || space->maps[idx].start > addr)
		return NULL;
	space->last = idx;
	return &space->maps[idx];
}

const struct mapping *space__at(const struct space *space, size_t idx)
{
	return &space->maps[idx];
}

size_t space__nr(const struct space *space)
{
	return space->nr;
}

__u64 space__id(const struct space *space)
{
	return space->id;
}
