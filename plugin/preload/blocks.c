// SPDX-License-Identifier: GPL-2.0-only
/*
 * An address stands in one of NR_PROBED buckets. A place is claimed by a compare-and-swap of its
 * address to RESERVED, then its record is read or written, then the address is stored: whoever sees
 * an address and swaps it owns the record. Nothing waits: a signal handler may come in anywhere.
 */
#include "blocks.h"
#include "filter.h"

#define NR_PROBED	2
#define EMPTY		0
#define RESERVED	1	/* no address of a block */

static struct block_bucket *bucket_of(const struct block_table *table, __u64 ptr, int probe)
{
	__u64 hash = (ptr >> 4) * 0x9e3779b97f4a7c15ULL >> 20;

	return &table->buckets[(hash + probe) & (table->nr_buckets - 1)];
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
		settle(&b->ptrs[i], ptr);
		filter__add(ptr);
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

bool blocks__take(const struct block_table *table, __u64 ptr, struct block_record *ret)
{
	int probe;

	for (probe = 0; probe < NR_PROBED; probe++) {
		if (take_from(bucket_of(table, ptr, probe), ptr, ret))
			return true;
	}
	return false;
}

bool blocks__put(const struct block_table *table, __u64 ptr, const struct block_record *rec)
{
	struct block_record old;
	int probe;

	blocks__take(table, ptr, &old);
	for (probe = 0; probe < NR_PROBED; probe++) {
		if (put_into(bucket_of(table, ptr, probe), ptr, rec))
			return true;
	}
	return false;
}
