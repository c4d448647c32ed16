// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "costs.h"

void costs__exit(struct costs *c)
{
	free(c->paths);
	free(c->deaths);
	index__exit(&c->path_index);
	index__exit(&c->death_index);
	memset(c, 0, sizeof(*c));
}

void period_sum__add(struct period_sum *sum, double period)
{
	sum->sum += period;
	sum->squares += period * period;
}

int costs__path(struct costs *c, const struct cpu_path *like, __u32 *ret)
{
	__u64 hash = hash_mix(hash_mix(hash_mix(like->class, like->stack), like->flags),
			      (__u64)(unsigned long)like->comm);
	size_t pos;
	__u32 id;
	int err;

	for (id = index__first(&c->path_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&c->path_index, hash, &pos)) {
		const struct cpu_path *p = &c->paths[id];

		if (p->stack == like->stack && p->flags == like->flags &&
		    p->class == like->class && p->comm == like->comm)
			goto found;
	}
	id = c->nr_paths;
	err = grow_array(&c->paths, &c->room_paths, id, sizeof(*c->paths));
	if (!err)
		err = index__add(&c->path_index, hash, id);
	if (err)
		return err;
	c->paths[c->nr_paths++] = (struct cpu_path){
		.stack = like->stack, .flags = like->flags, .class = like->class,
		.comm = like->comm,
	};
found:
	*ret = id;
	return 0;
}

static int find_death(struct costs *c, __u32 stack, __u32 site, struct death **ret)
{
	__u64 hash = hash_mix(hash_mix(0, stack), site);
	size_t pos;
	__u32 id;
	int err;

	for (id = index__first(&c->death_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&c->death_index, hash, &pos)) {
		if (c->deaths[id].stack == stack && c->deaths[id].site == site)
			goto found;
	}
	id = c->nr_deaths;
	err = grow_array(&c->deaths, &c->room_deaths, id, sizeof(*c->deaths));
	if (!err)
		err = index__add(&c->death_index, hash, id);
	if (err)
		return err;
	c->deaths[c->nr_deaths++] = (struct death){ .stack = stack, .site = site };
found:
	*ret = &c->deaths[id];
	return 0;
}

int costs__add_death(struct costs *c, __u32 stack, __u32 site, __u64 weight, __u64 size_bytes)
{
	struct death *d;
	int err = find_death(c, stack, site, &d);

	if (err)
		return err;
	d->nr++;
	d->weight += weight;
	d->squares += (double)weight * weight;
	d->bytes += (double)weight * size_bytes;
	return 0;
}
