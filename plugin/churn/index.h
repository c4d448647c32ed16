/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * index.h - finds the number of an array element by the hash of its key.
 *
 * The elements live in the caller's array; the index holds (hash, number) pairs, and the caller
 * compares keys itself:
 *
 *	for (id = index__first(ix, hash, &pos); id != INDEX_NONE;
 *	     id = index__next(ix, hash, &pos))
 *		if (same(&array[id], key))
 *			return id;
 */
#ifndef PERF_CHURN_CHURN_INDEX_H
#define PERF_CHURN_CHURN_INDEX_H

#include <stddef.h>
#include <linux/types.h>

#define INDEX_NONE	((__u32)-1)

struct index_slot {
	__u64 hash;
	__u32 id;		/* INDEX_NONE: empty */
};

/** struct index - Zero it to begin with; index__exit() frees what it holds. */
struct index {
	struct index_slot *slots;
	size_t nr_slots;	/* a power of two, or 0 */
	size_t nr_used;
};

void index__exit(struct index *ix);

/** index__first() - First element with this hash, or INDEX_NONE; @pos is for index__next(). */
__u32 index__first(const struct index *ix, __u64 hash, size_t *pos);
__u32 index__next(const struct index *ix, __u64 hash, size_t *pos);

/** index__add() - Enter element @id under @hash. Return: 0 or -ENOMEM. */
int index__add(struct index *ix, __u64 hash, __u32 id);

/** hash_mix() - Take one more word into a hash. */
static inline __u64 hash_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 29);
}

/** hash_str() - Hash of a string; NULL is a value of its own. */
__u64 hash_str(const char *str);

/**
 * grow_array() - Make room for element number @nr of a zero-filled, doubling array.
 * @array: Address of the array's pointer.
 * @nr_room: Its capacity so far, updated.
 *
 * Return: 0 or -ENOMEM, the array unchanged.
 */
int grow_array(void *array, size_t *nr_room, size_t nr, size_t element_bytes);

#endif /* PERF_CHURN_CHURN_INDEX_H */
