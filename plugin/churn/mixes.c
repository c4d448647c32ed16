// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "mixes.h"
#include "stacks.h"

/* Sampled frees that a mix must be from; with fewer a coarser one is more to the point. */
static const __u64 min_samples[NR_MIX_LEVELS] = {
	[MIX_STACK] = 30, [MIX_LINE] = 5, [MIX_FUNCTION] = 5,
};

int mix_table__add(struct mix_table *t, const struct mix_part *part)
{
	int err = grow_array(&t->parts, &t->room, t->nr, sizeof(*t->parts));

	if (!err)
		t->parts[t->nr++] = *part;
	return err;
}

void mix_table__exit(struct mix_table *t)
{
	places__exit(&t->places);
	free(t->parts);
	memset(t, 0, sizeof(*t));
}

static int cmp_parts(const void *a, const void *b)
{
	const struct mix_part *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

static void add_part(struct mix_part *to, const struct mix_part *from)
{
	to->nr += from->nr;
	to->weight += from->weight;
	to->squares += from->squares;
	to->bytes += from->bytes;
}

void mix_table__sort(struct mix_table *t)
{
	size_t nr = 0, i;

	if (t->nr)
		qsort(t->parts, t->nr, sizeof(*t->parts), cmp_parts);
	for (i = 0; i < t->nr; i++) {
		if (nr && !cmp_parts(&t->parts[nr - 1], &t->parts[i]))
			add_part(&t->parts[nr - 1], &t->parts[i]);
		else
			t->parts[nr++] = t->parts[i];
	}
	t->nr = nr;
}

bool mix_table__find(const struct mix_table *t, __u32 place, struct mix *ret)
{
	size_t low = 0, high = t->nr, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (t->parts[mid].place < place)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = (struct mix){ .parts = t->parts + low };
	while (low + ret->nr < t->nr && ret->parts[ret->nr].place == place)
		add_part(&ret->sum, &ret->parts[ret->nr++]);
	return ret->nr;
}

static int add_death(struct mixes *m, const struct stacks *stacks, const struct death *d)
{
	struct mix_part part = {
		.site = d->site, .nr = d->nr, .weight = d->weight, .squares = d->squares,
		.bytes = d->bytes,
	};
	int level, err = 0;

	for (level = 0; level < NR_MIX_LEVELS && !err; level++) {
		struct mix_table *t = &m->tables[level];

		err = level == MIX_FUNCTION ?
		      places__add_function(&t->places, stacks, stacks__site(stacks, d->stack),
					   &part.place) :
		      places__add(&t->places, stacks, d->stack, &part.place);
		err = err ?: mix_table__add(t, &part);
	}
	return err;
}

int mixes__init(struct mixes *m, const struct stacks *stacks, const struct costs *costs)
{
	int level, err = 0;
	size_t i;

	memset(m, 0, sizeof(*m));
	m->tables[MIX_STACK].places.depth = PLACE_ALL_FRAMES;
	for (i = 0; i < costs->nr_deaths && !err; i++)
		err = add_death(m, stacks, &costs->deaths[i]);
	for (level = 0; level < NR_MIX_LEVELS; level++)
		mix_table__sort(&m->tables[level]);
	return err;
}

void mixes__exit(struct mixes *m)
{
	int level;

	for (level = 0; level < NR_MIX_LEVELS; level++)
		mix_table__exit(&m->tables[level]);
}

enum mix_level mixes__find(const struct mixes *m, const struct stacks *stacks, __u32 stack,
			   struct mix *ret)
{
	enum mix_level level;

	for (level = 0; level < NR_MIX_LEVELS; level++) {
		const struct mix_table *t = &m->tables[level];
		__u32 place = level == MIX_FUNCTION ?
			      places__find_function(&t->places, stacks, stacks__site(stacks, stack)) :
			      places__find(&t->places, stacks, stack);

		if (mix_table__find(t, place, ret) && ret->sum.nr >= min_samples[level])
			return level;
	}
	return MIX_NONE;
}
