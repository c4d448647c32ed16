// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"

void index__exit(struct index *ix)
{
	free(ix->slots);
	memset(ix, 0, sizeof(*ix));
}

static __u32 scan(const struct index *ix, __u64 hash, size_t *pos)
{
	while (ix->slots[*pos].id != INDEX_NONE) {
		if (ix->slots[*pos].hash == hash)
			return ix->slots[*pos].id;
		*pos = (*pos + 1) & (ix->nr_slots - 1);
	}
	return INDEX_NONE;
}

__u32 index__first(const struct index *ix, __u64 hash, size_t *pos)
{
	if (!ix->nr_slots)
		return INDEX_NONE;
	*pos = hash & (ix->nr_slots - 1);
	return scan(ix, hash, pos);
}

__u32 index__next(const struct index *ix, __u64 hash, size_t *pos)
{
	*pos = (*pos + 1) & (ix->nr_slots - 1);
	return scan(ix, hash, pos);
}

static void put(struct index *ix, __u64 hash, __u32 id)
{
	size_t pos = hash & (ix->nr_slots - 1);

	while (ix->slots[pos].id != INDEX_NONE)
		pos = (pos + 1) & (ix->nr_slots - 1);
	ix->slots[pos].hash = hash;
	ix->slots[pos].id = id;
	ix->nr_used++;
}

static int grow(struct index *ix)
{
	struct index bigger = { .nr_slots = ix->nr_slots ? ix->nr_slots * 2 : 64 };
	size_t i;

	bigger.slots = malloc(bigger.nr_slots * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	memset(bigger.slots, 0xff, bigger.nr_slots * sizeof(*bigger.slots));
	for (i = 0; i < ix->nr_slots; i++) {
		if (ix->slots[i].id != INDEX_NONE)
			put(&bigger, ix->slots[i].hash, ix->slots[i].id);
	}
	free(ix->slots);
	*ix = bigger;
	return 0;
}

int index__add(struct index *ix, __u64 hash, __u32 id)
{
	if (ix->nr_used >= ix->nr_slots / 2) {
		int err = grow(ix);

		if (err)
			return err;
	}
	put(ix, hash, id);
	return 0;
}

__u64 hash_str(const char *str)
{
	__u64 hash = 0xcbf29ce484222325ull;

	if (!str)
		return 1;
	for (; *str; str++)
		hash = (hash ^ (unsigned char)*str) * 0x100000001b3ull;
	return hash_mix(hash, 0);
}

int grow_array(void *array, size_t *nr_room, size_t nr, size_t element_bytes)
{
	size_t room = *nr_room ? *nr_room * 2 : 16;
	void *old, *bigger;

	if (nr < *nr_room)
		return 0;
	if (nr >= INDEX_NONE - 1 || room <= nr)
		return -ENOMEM;
	memcpy(&old, array, sizeof(old));
	bigger = reallocarray(old, room, element_bytes);
	if (!bigger)
		return -ENOMEM;
	memset((char *)bigger + *nr_room * element_bytes, 0, (room - *nr_room) * element_bytes);
	memcpy(array, &bigger, sizeof(bigger));
	*nr_room = room;
	return 0;
}
