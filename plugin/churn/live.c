// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open addressing with linear probing and backward-shift deletion: no tombstones, so a long
 * recording's millions of inserts and removals do not wear the table out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "live.h"

struct live {
	struct live_block *slots;	/* seq 0: empty */
	size_t nr_slots;		/* a power of two */
	size_t nr_used;
	size_t max_blocks;
};

int live__new(size_t max_blocks, struct live **ret)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->max_blocks = max_blocks;
	l->nr_slots = 1024;
	l->slots = calloc(l->nr_slots, sizeof(*l->slots));
	if (!l->slots) {
		free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void live__free(struct live *l)
{
	if (!l)
		return;
	free(l->slots);
	free(l);
}

static size_t home_slot(const struct live *l, __u64 seq)
{
	return hash_mix(0, seq) & (l->nr_slots - 1);
}

/* The slot that holds @seq, or the empty one where it would go. */
static size_t find_slot(const struct live *l, __u64 seq)
{
	size_t pos = home_slot(l, seq);

	while (l->slots[pos].seq && l->slots[pos].seq != seq)
		pos = (pos + 1) & (l->nr_slots - 1);
	return pos;
}

static int grow(struct live *l)
{
	struct live bigger = *l;
	size_t i;

	bigger.nr_slots *= 2;
	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < l->nr_slots; i++) {
		if (l->slots[i].seq)
			bigger.slots[find_slot(&bigger, l->slots[i].seq)] = l->slots[i];
	}
	free(l->slots);
	*l = bigger;
	return 0;
}

int live__add(struct live *l, const struct live_block *b)
{
	size_t pos;

	if (!b->seq || l->slots[find_slot(l, b->seq)].seq)
		return -EEXIST;
	if (l->nr_used >= l->max_blocks)
		return -ENOSPC;
	if (l->nr_used >= l->nr_slots / 4 * 3) {
		int err = grow(l);

		if (err)
			return err;
	}
	pos = find_slot(l, b->seq);
	l->slots[pos] = *b;
	l->nr_used++;
	return 0;
}

static void close_gap(struct live *l, size_t gap)
{
	size_t mask = l->nr_slots - 1;
	size_t pos = gap;

	for (;;) {
		pos = (pos + 1) & mask;
		if (!l->slots[pos].seq)
			break;
		/* Move up what would no longer be found behind the gap. */
		if (((pos - home_slot(l, l->slots[pos].seq)) & mask) >= ((pos - gap) & mask)) {
			l->slots[gap] = l->slots[pos];
			gap = pos;
		}
	}
	l->slots[gap].seq = 0;
}

bool live__take(struct live *l, __u64 seq, struct live_block *ret)
{
	size_t pos = find_slot(l, seq);

	if (!seq || !l->slots[pos].seq)
		return false;
	*ret = l->slots[pos];
	close_gap(l, pos);
	l->nr_used--;
	return true;
}

const struct live_block *live__find(const struct live *l, __u64 seq)
{
	size_t pos = find_slot(l, seq);

	return seq && l->slots[pos].seq ? &l->slots[pos] : NULL;
}

const struct live_block *live__next(const struct live *l, size_t *pos)
{
	while (*pos < l->nr_slots) {
		const struct live_block *b = &l->slots[(*pos)++];

		if (b->seq)
			return b;
	}
	return NULL;
}
