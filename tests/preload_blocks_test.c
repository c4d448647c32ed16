// SPDX-License-Identifier: GPL-2.0-only
/*
 * The preload library's table of followed blocks, and its filter.
 */
#include <pthread.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "preload/filter.h"
#include "preload/blocks.h"

#define NR_THREADS	4
#define NR_ROUNDS	200000
#define NR_SHARED	512

FIXTURE(blocks) { struct block_table table; struct block_record rec; __u32 nr_levels; };

FIXTURE_SETUP(blocks)
{
	self->table.nr_buckets = 64;
	self->nr_levels = 0;
	self->table.nr_levels = &self->nr_levels;
	self->table.buckets = calloc(self->table.nr_buckets, sizeof(*self->table.buckets));
	ASSERT_NE(NULL, self->table.buckets);
	ASSERT_TRUE(filter__map());
	filter__clear(false);
	memset(&self->rec, 0, sizeof(self->rec));
}

FIXTURE_TEARDOWN(blocks)
{
	free(self->table.buckets);
}

static struct block_record record_of(__u64 seq, __u32 recording)
{
	return (struct block_record){ .size = seq * 3, .weight = 7, .seq = seq, .alloc_ns = seq + 1,
				     .tid = 5, .recording = recording };
}

static bool put(const struct block_table *table, __u64 ptr, __u64 seq, __u32 recording)
{
	struct block_record rec = record_of(seq, recording);

	return blocks__put(table, ptr, &rec);
}

TEST_F(blocks, hands_out_what_was_put_in_once)
{
	struct block_record want = record_of(9, 1);

	ASSERT_TRUE(blocks__put(&self->table, 0x1000, &want));
	EXPECT_FALSE(blocks__take(&self->table, 0x1010, &self->rec));
	ASSERT_TRUE(blocks__take(&self->table, 0x1000, &self->rec));
	EXPECT_EQ(0, memcmp(&want, &self->rec, sizeof(want)));
	EXPECT_FALSE(blocks__take(&self->table, 0x1000, &self->rec));
}

/* The allocator has given out the address again: the block of before is gone. */
TEST_F(blocks, keeps_one_record_of_an_address)
{
	ASSERT_TRUE(put(&self->table, 0x1000, 1, 1));
	ASSERT_TRUE(put(&self->table, 0x1000, 2, 1));
	ASSERT_TRUE(blocks__take(&self->table, 0x1000, &self->rec));
	EXPECT_EQ(2, self->rec.seq);
	EXPECT_FALSE(blocks__take(&self->table, 0x1000, &self->rec));
	EXPECT_FALSE(filter__has((void *)0x1000));
}

TEST_F(blocks, says_when_it_is_full)
{
	size_t nr = 0, taken = 0, i;

	self->table.nr_buckets = 1;
	for (i = 1; i <= 100; i++)
		nr += put(&self->table, i * 16, i, 1);
	EXPECT_EQ(BLOCKS_A_BUCKET, nr);
	for (i = 1; i <= 100; i++)
		taken += blocks__take(&self->table, i * 16, &self->rec) && self->rec.seq == i;
	EXPECT_EQ(BLOCKS_A_BUCKET, taken);
}

TEST_F(blocks, has_room_for_half_of_its_places)
{
	size_t nr = self->table.nr_buckets * BLOCKS_A_BUCKET / 2, i, got = 0;

	for (i = 1; i <= nr; i++)
		got += put(&self->table, 0x55550000 + i * 32, i, 1);
	EXPECT_EQ(nr, got);
}

/* Few blocks are close together; many find room in further levels, and are found there. */
TEST_F(blocks, grows_by_levels)
{
	size_t nr = 3000, i, got = 0, taken = 0;

	free(self->table.buckets);
	self->table.nr_buckets = 1024;
	self->table.buckets = calloc(self->table.nr_buckets, sizeof(*self->table.buckets));
	for (i = 1; i <= 100; i++)
		got += put(&self->table, 0x55550000 + i * 32, i, 1);
	EXPECT_EQ(100, got);
	EXPECT_EQ(1, self->nr_levels);
	for (; i <= nr; i++)
		got += put(&self->table, 0x55550000 + i * 32, i, 1);
	EXPECT_EQ(nr, got);
	EXPECT_GT(self->nr_levels, 2);
	EXPECT_GE(4, self->nr_levels);
	for (i = 1; i <= nr; i++)
		taken += blocks__take(&self->table, 0x55550000 + i * 32, &self->rec) &&
			 self->rec.seq == i;
	EXPECT_EQ(nr, taken);
}

TEST_F(blocks, gives_places_of_old_recordings_away)
{
	size_t i;

	self->table.nr_buckets = 1;
	for (i = 1; i <= BLOCKS_A_BUCKET; i++)
		ASSERT_TRUE(put(&self->table, i * 16, i, 1));
	EXPECT_TRUE(put(&self->table, 0x9990, 99, 2));
	EXPECT_TRUE(blocks__take(&self->table, 0x9990, &self->rec));
	EXPECT_FALSE(blocks__take(&self->table, 16, &self->rec));
	EXPECT_FALSE(filter__has((void *)16));
}

TEST_F(blocks, is_in_the_filter_as_long_as_it_is_there)
{
	EXPECT_FALSE(filter__has((void *)0x2000));
	ASSERT_TRUE(put(&self->table, 0x2000, 1, 1));
	EXPECT_TRUE(filter__has((void *)0x2000));
	EXPECT_TRUE(filter__has((void *)(0x2000 + (16UL << 20))));
	EXPECT_FALSE(filter__has((void *)0x2010));
	ASSERT_TRUE(blocks__take(&self->table, 0x2000, &self->rec));
	EXPECT_FALSE(filter__has((void *)0x2000));
}

TEST_F(blocks, filter_counts_until_it_sticks)
{
	int i;

	for (i = 0; i < FILTER_STUCK - 1; i++)
		filter__add(0x3000);
	for (i = 0; i < FILTER_STUCK - 1; i++)
		filter__remove(0x3000);
	EXPECT_FALSE(filter__has((void *)0x3000));
	filter__remove(0x3000);
	EXPECT_FALSE(filter__has((void *)0x3000));
	for (i = 0; i < FILTER_STUCK + 10; i++)
		filter__add(0x3000);
	for (i = 0; i < 2 * FILTER_STUCK; i++)
		filter__remove(0x3000);
	EXPECT_TRUE(filter__has((void *)0x3000));
	filter__clear(false);
	EXPECT_FALSE(filter__has((void *)0x3000));
}

TEST_F(blocks, filter_sticks_where_it_is_told_to)
{
	filter__stick((void *)0x4000, 40);
	filter__remove(0x4000);
	EXPECT_TRUE(filter__has((void *)0x4000));
	EXPECT_TRUE(filter__has((void *)0x4020));
	EXPECT_FALSE(filter__has((void *)0x4030));
}

struct worker {
	const struct block_table *table;
	__u64 nr_put, nr_taken, nr_wrong;
	unsigned int seed;
};

/* Each address is given to one thread at a time, as an allocator does; any thread gives it back. */
static char held[NR_SHARED];

static void *work(void *arg)
{
	struct worker *w = arg;
	struct block_record rec;
	__u64 ptr;
	int i, at;

	for (i = 0; i < NR_ROUNDS; i++) {
		at = rand_r(&w->seed) % NR_SHARED;
		ptr = 0x10000 + at * 16;
		if (rand_r(&w->seed) % 2) {
			if (__atomic_exchange_n(&held[at], 2, __ATOMIC_ACQUIRE) == 0) {
				w->nr_put += put(w->table, ptr, ptr, 1);
				__atomic_store_n(&held[at], 1, __ATOMIC_RELEASE);
			} else if (__atomic_load_n(&held[at], __ATOMIC_RELAXED) == 2) {
				continue;
			}
		}
		if (blocks__take(w->table, ptr, &rec)) {
			w->nr_taken++;
			w->nr_wrong += rec.seq != ptr || rec.size != ptr * 3;
			__atomic_store_n(&held[at], 0, __ATOMIC_RELEASE);
		}
	}
	return NULL;
}

TEST_F(blocks, threads_take_each_record_once)
{
	struct worker w[NR_THREADS] = {};
	pthread_t threads[NR_THREADS];
	__u64 nr_put = 0, nr_taken = 0, nr_left = 0, i;

	memset(held, 0, sizeof(held));
	for (i = 0; i < NR_THREADS; i++) {
		w[i] = (struct worker){ .table = &self->table, .seed = i + 1 };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, work, &w[i]));
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		nr_put += w[i].nr_put;
		nr_taken += w[i].nr_taken;
		EXPECT_EQ(0, w[i].nr_wrong);
	}
	for (i = 0; i < NR_SHARED; i++)
		nr_left += blocks__take(&self->table, 0x10000 + i * 16, &self->rec);
	EXPECT_GT(nr_taken, 1000);
	EXPECT_EQ(nr_put, nr_taken + nr_left);
	for (i = 0; i < NR_SHARED; i++)
		EXPECT_FALSE(filter__has((void *)(0x10000 + i * 16)));
}

TEST_HARNESS_MAIN
