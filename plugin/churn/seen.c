// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "seen.h"

struct seen_slot {
	struct seen_key key;	/* all zero: empty */
	__u32 value;
};

struct seen {
	struct seen_slot *slots;
	size_t nr_slots, nr_used, max;
};

int seen__new(size_t max, struct seen **ret)
{
	struct seen *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->max = max;
	s->nr_slots = 1024;
	s->slots = calloc(s->nr_slots, sizeof(*s->slots));
	if (!s->slots) {
		free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void seen__free(struct seen *s)
{
	if (!s)
		return;
	free(s->slots);
	free(s);
}

/* The slot with this key, or the empty one where it would go. */
static struct seen_slot *find_slot(const struct seen *s, const struct seen_key *key)
{
	size_t pos = key->lo & (s->nr_slots - 1);
	struct seen_slot *slot = &s->slots[pos];

	while ((slot->key.lo || slot->key.hi) &&
	       (slot->key.lo != key->lo || slot->key.hi != key->hi)) {
		pos = (pos + 1) & (s->nr_slots - 1);
		slot = &s->slots[pos];
	}
	return slot;
}

bool seen__find(const struct seen *s, const struct seen_key *key, __u32 *ret)
{
	const struct seen_slot *slot = find_slot(s, key);

	if (!slot->key.lo && !slot->key.hi)
		return false;
	*ret = slot->value;
	return true;
}

static bool grow(struct seen *s)
{
	struct seen bigger = *s;
	size_t i;

	bigger.nr_slots *= 2;
	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (i = 0; i < s->nr_slots; i++) {
		if (s->slots[i].key.lo || s->slots[i].key.hi)
			*find_slot(&bigger, &s->slots[i].key) = s->slots[i];
	}
	free(s->slots);
	*s = bigger;
	return true;
}

void seen__add(struct seen *s, const struct seen_key *key, __u32 value)
{
	struct seen_slot *slot;

	if (!key->lo && !key->hi)
		return;
	if (s->nr_used >= s->max ||
	    (s->nr_used >= s->nr_slots / 2 && !grow(s))) {
		memset(s->slots, 0, s->nr_slots * sizeof(*s->slots));
		s->nr_used = 0;
	}
	slot = find_slot(s, key);
	if (!slot->key.lo && !slot->key.hi)
		s->nr_used++;
	*slot = (struct seen_slot){ *key, value };
}
