/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_PERFDATA_READ_IDMAP_H
#define PERF_CHURN_PERFDATA_READ_IDMAP_H

#include <stddef.h>
#include <linux/types.h>

struct idmap_slot {
	__u64 id;
	__u32 event_idx;
};

/**
 * struct idmap - Sample id to event index; open addressing, id 0 marks a free slot.
 */
struct idmap {
	struct idmap_slot *slots;
	size_t nr_slots;		/* a power of two, or 0 before the first id */
	size_t nr_ids;
};

void idmap__exit(struct idmap *map);

/**
 * idmap__add() - Remember which event an id belongs to; a later one wins, as in perf.
 *
 * Return: 0 or -ENOMEM. Id 0, which names no event, is ignored.
 */
int idmap__add(struct idmap *map, __u64 id, __u32 event_idx);

/**
 * idmap__slot() - Where an id is, or would be put. The map must have slots.
 *
 * The kernel counts ids up from 1: multiply, so that they do not all share their low bits.
 */
static inline struct idmap_slot *idmap__slot(const struct idmap *map, __u64 id)
{
	size_t i = (id * 0x9e3779b97f4a7c15ULL) >> 32;

	for (;; i++) {
		struct idmap_slot *slot = &map->slots[i & (map->nr_slots - 1)];

		if (!slot->id || slot->id == id)
			return slot;
	}
}

/** idmap__find() - Index of the event, or -1. */
static inline int idmap__find(const struct idmap *map, __u64 id)
{
	const struct idmap_slot *slot;

	if (!id || !map->nr_slots)
		return -1;
	slot = idmap__slot(map, id);
	return slot->id ? (int)slot->event_idx : -1;
}

#endif /* PERF_CHURN_PERFDATA_READ_IDMAP_H */
