// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "read_idmap.h"

void idmap__exit(struct idmap *map)
{
	free(map->slots);
	*map = (struct idmap){};
}

static int grow(struct idmap *map)
{
	size_t nr_slots = map->nr_slots ? map->nr_slots * 2 : 64;
	struct idmap bigger = { .nr_slots = nr_slots, .nr_ids = map->nr_ids };
	size_t i;

	bigger.slots = calloc(nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < map->nr_slots; i++) {
		if (map->slots[i].id)
			*idmap__slot(&bigger, map->slots[i].id) = map->slots[i];
	}
	free(map->slots);
	*map = bigger;
	return 0;
}

int idmap__add(struct idmap *map, __u64 id, __u32 event_idx)
{
	struct idmap_slot *slot;
	int err;

	if (!id)
		return 0;
	if (map->nr_ids * 2 >= map->nr_slots) {
		err = grow(map);
		if (err)
			return err;
	}
	slot = idmap__slot(map, id);
	if (!slot->id)
		map->nr_ids++;
	slot->id = id;
	slot->event_idx = event_idx;
	return 0;
}
