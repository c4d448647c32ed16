// SPDX-License-Identifier: GPL-2.0-only
/*
 * An address stands in one of NR_PROBED buckets of a level. A place is claimed by a compare-and-swap of its
 * address to RESERVED, then its record is read or written, then the address is stored: whoever sees
 * an address and swaps it owns the record. Nothing waits: a signal handler may come in anywhere.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "blocks.h"
#include "confined.h"
#include "filter.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23	/* Linux 5.14 */
#endif

#define NR_PROBED	2
#define FIRST_BUCKETS	64UL	/* of the first level */
#define EMPTY		0
#define RESERVED	1	/* no address of a block */

struct level {
	struct block_bucket *buckets;
	size_t nr;			/* a power of two; 0: there is no such level */
};

static struct level level_of(const struct block_table *table, __u32 nr)
{
	size_t first = FIRST_BUCKETS * ((1UL << nr) - 1), room;

	if (first >= table->nr_buckets)
		return (struct level){};
	room = table->nr_buckets - first;
	return (struct level){
		.buckets = table->buckets + first,
		.nr = FIRST_BUCKETS << nr < room ? FIRST_BUCKETS << nr : room,
	};
}

static __u32 levels_in_use(const struct block_table *table)
{
	return __atomic_load_n(table->nr_levels, __ATOMIC_ACQUIRE);
}

/* Return: false: there is no further one. Who comes second populates in vain, which does no harm. */
static bool open_level(const struct block_table *table, __u32 nr)
{
	struct level level = level_of(table, nr);
	unsigned long page_bytes = sysconf(_SC_PAGESIZE), start, end;

	if (!level.nr)
		return false;
	start = (unsigned long)level.buckets & ~(page_bytes - 1);
	end = (unsigned long)(level.buckets + level.nr);
	if (!is_confined())
		madvise((void *)start, end - start, MADV_POPULATE_WRITE);
	__atomic_compare_exchange_n(table->nr_levels, &nr, nr + 1, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return true;
}

static struct block_bucket *bucket_of(const struct level *level, __u64 ptr, int probe)
{
	__u64 hash = (ptr >> 4) * 0x9e3779b97f4a7c15ULL >> 20;

	return &level->buckets[(hash + probe) & (level->nr - 1)];
}

static bool claim(__u64 *place, __u64 seen)
{
	return __atomic_compare_exchange_n(place, &seen, RESERVED, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static void settle(__u64 *place, __u64 ptr)
{
	__atomic_store_n(place, ptr, __ATOMIC_RELEASE);
}

static bool may_replace(const struct block_bucket *b, int i, __u64 seen, __u32 recording)
{
	return seen == EMPTY ||
	       (seen != RESERVED &&
		__atomic_load_n(&b->records[i].recording, __ATOMIC_RELAXED) != recording);
}

static bool put_into(struct block_bucket *b, __u64 ptr, const struct block_record *rec)
{
	__u64 seen;
	int i;

	for (i = 0; i < BLOCKS_A_BUCKET; i++) {
		seen = __atomic_load_n(&b->ptrs[i], __ATOMIC_ACQUIRE);
		if (!may_replace(b, i, seen, rec->recording) || !claim(&b->ptrs[i], seen))
			continue;
		if (seen != EMPTY)
			filter__remove(seen);
		b->records[i] = *rec;
		filter__add(ptr);	/* before somebody can take it out */
		settle(&b->ptrs[i], ptr);
		return true;
	}
	return false;
}

static bool take_from(struct block_bucket *b, __u64 ptr, struct block_record *ret)
{
	int i;

	for (i = 0; i < BLOCKS_A_BUCKET; i++) {
		if (__atomic_load_n(&b->ptrs[i], __ATOMIC_ACQUIRE) != ptr ||
		    !claim(&b->ptrs[i], ptr))
			continue;
		*ret = b->records[i];
		settle(&b->ptrs[i], EMPTY);
		filter__remove(ptr);
		return true;
	}
	return false;
}

static bool take_from_level(const struct level *level, __u64 ptr, struct block_record *ret)
{
	int probe;

	for (probe = 0; probe < NR_PROBED; probe++) {
		if (take_from(bucket_of(level, ptr, probe), ptr, ret))
			return true;
	}
	return false;
}

bool blocks__take(const struct block_table *table, __u64 ptr, struct block_record *ret)
{
	__u32 nr, nr_levels = levels_in_use(table);

	for (nr = 0; nr < nr_levels; nr++) {
		struct level level = level_of(table, nr);

		if (take_from_level(&level, ptr, ret))
			return true;
	}
	return false;
}

static bool put_into_level(const struct level *level, __u64 ptr, const struct block_record *rec)
{
	int probe;

	for (probe = 0; probe < NR_PROBED; probe++) {
		if (put_into(bucket_of(level, ptr, probe), ptr, rec))
			return true;
	}
	return false;
}

bool blocks__put(const struct block_table *table, __u64 ptr, const struct block_record *rec)
{
	struct block_record old;
	__u32 nr;

	blocks__take(table, ptr, &old);
	for (nr = 0; nr < levels_in_use(table) || open_level(table, nr); nr++) {
		struct level level = level_of(table, nr);

		if (put_into_level(&level, ptr, rec))
			return true;
	}
	return false;
}
