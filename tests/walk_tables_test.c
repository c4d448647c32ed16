// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files' rows in the walker's arrays: what is shared, where pages stand, what happens when they are
 * full.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "stack/cfi.h"
#include "stack/tables.h"

#define MAX_ROWS	70000

/* Plain memory, with as many chunks as a test allows. */
FIXTURE(tables) {
	struct walk_memory *mem, limited;
	struct walk_tables *t;
	__u32 nr_chunks_allowed;
	struct cfi_row rows[MAX_ROWS];
	struct walk_rule rules[300];
	struct cfi_table cfi;
	struct walk_file file;
	struct walk_tables_size size;
};

static __u32 *limited_chunk(void *ctx, __u32 idx)
{
	FIXTURE_DATA(tables) *self = ctx;

	return idx < self->nr_chunks_allowed ? self->mem->chunk(self->mem->ctx, idx) : NULL;
}

FIXTURE_SETUP(tables)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, walk_memory__new_plain(&self->mem));
	self->limited = *self->mem;
	self->limited.chunk = limited_chunk;
	self->limited.ctx = self;
	self->nr_chunks_allowed = ~0U;
	ASSERT_EQ(0, walk_tables__new(&self->limited, &self->t));
	for (size_t i = 1; i < 300; i++)
		self->rules[i] = (struct walk_rule) { .cfa = WALK_CFA_SP, .cfa_off = 8 * i };
	self->cfi = (struct cfi_table) {
		.rows = self->rows, .rules = self->rules, .nr_rules = 3,
	};
}

FIXTURE_TEARDOWN(tables)
{
	walk_tables__free(self->t);
	walk_memory__free_plain(self->mem);
}

static void add_row(FIXTURE_DATA(tables) *self, __u64 vaddr, __u32 rule)
{
	self->rows[self->cfi.nr_rows++] = (struct cfi_row) { vaddr, rule };
}

static int add_file(FIXTURE_DATA(tables) *self)
{
	int err = walk_tables__add(self->t, &self->cfi, &self->file);

	walk_tables__size(self->t, &self->size);
	return err;
}

static const struct walk_page *page(FIXTURE_DATA(tables) *self, __u32 nth)
{
	return &self->mem->pages[self->file.page_base + nth];
}

/* Row @nth of a page; ~0 behind its end. */
static __u32 row(FIXTURE_DATA(tables) *self, __u32 nth_page, __u32 nth)
{
	const struct walk_page *p = page(self, nth_page);

	if (nth >= p->count)
		return ~0U;
	return self->mem->chunk(self->mem->ctx, p->chunk)[p->start + nth];
}

TEST_F(tables, start_with_the_rule_of_no_cfi)
{
	walk_tables__size(self->t, &self->size);
	EXPECT_EQ(1, self->size.nr_rules);
	EXPECT_EQ(0, self->size.nr_files);
	EXPECT_EQ(0, self->size.nr_chunks);
}

TEST_F(tables, file_without_rows_has_no_pages)
{
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(0, self->file.nr_pages);
	EXPECT_EQ(1, self->size.nr_files);
}

TEST_F(tables, page_begins_at_zero_without_cfi)
{
	add_row(self, 0x51010, 1);
	add_row(self, 0x51020, 2);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(5, self->file.first_page);
	EXPECT_EQ(1, self->file.nr_pages);
	EXPECT_EQ(WALK_ROW(0, 0), row(self, 0, 0));
	EXPECT_EQ(WALK_ROW(0x1010, 1), row(self, 0, 1));
	EXPECT_EQ(WALK_ROW(0x1020, 2), row(self, 0, 2));
	EXPECT_EQ(~0U, row(self, 0, 3));
}

TEST_F(tables, page_begins_with_the_rule_in_force)
{
	add_row(self, 0x10000, 1);
	add_row(self, 0x1ffff, 2);
	add_row(self, 0x20001, 0);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(2, self->file.nr_pages);
	EXPECT_EQ(WALK_ROW(0, 1), row(self, 0, 0));
	EXPECT_EQ(WALK_ROW(0xffff, 2), row(self, 0, 1));
	EXPECT_EQ(~0U, row(self, 0, 2));
	EXPECT_EQ(WALK_ROW(0, 2), row(self, 1, 0));
	EXPECT_EQ(WALK_ROW(1, 0), row(self, 1, 1));
	EXPECT_EQ(~0U, row(self, 1, 2));
}

TEST_F(tables, row_at_a_page_start_takes_the_first_place)
{
	add_row(self, 0x1fff0, 1);
	add_row(self, 0x20000, 2);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(WALK_ROW(0, 2), row(self, 1, 0));
	EXPECT_EQ(~0U, row(self, 1, 1));
}

TEST_F(tables, pages_between_two_rows)
{
	add_row(self, 0x10, 1);
	add_row(self, 0x30010, 0);
	add_row(self, 0x60010, 2);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(7, self->file.nr_pages);
	for (__u32 i = 1; i < 3; i++) {
		EXPECT_EQ(WALK_ROW(0, 1), row(self, i, 0));
		EXPECT_EQ(1, page(self, i)->count);
	}
	EXPECT_EQ(2, page(self, 3)->count);
	EXPECT_EQ(0, page(self, 4)->count);
	EXPECT_EQ(0, page(self, 5)->count);
	EXPECT_EQ(WALK_ROW(0x10, 2), row(self, 6, 1));
}

TEST_F(tables, rules_are_shared_by_files)
{
	struct walk_rule other[3] = { {}, self->rules[2], { .cfa = WALK_CFA_END } };

	add_row(self, 0x10, 1);
	add_row(self, 0x20, 2);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(3, self->size.nr_rules);
	self->cfi.rules = other;
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(4, self->size.nr_rules);
	EXPECT_EQ(2, self->size.nr_files);
	EXPECT_EQ(1, self->file.page_base);
	EXPECT_EQ(WALK_ROW(0x10, 2), row(self, 0, 1));
	EXPECT_EQ(WALK_ROW(0x20, 3), row(self, 0, 2));
	EXPECT_EQ(0, memcmp(&other[2], &self->mem->rules[3], sizeof(other[2])));
}

/* A page of @nr rows, at @start. */
static void add_rows(FIXTURE_DATA(tables) *self, __u64 start, __u32 nr)
{
	for (__u32 i = 0; i < nr; i++)
		add_row(self, start + i, 1 + i % 2);
}

TEST_F(tables, pages_never_straddle_chunks)
{
	add_rows(self, 0, 10000);
	add_rows(self, 0x10000, 10000);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(2, self->size.nr_chunks);
	EXPECT_EQ(20000, self->size.nr_rows);
	EXPECT_EQ(0, page(self, 0)->chunk);
	EXPECT_EQ(1, page(self, 1)->chunk);
	EXPECT_EQ(0, page(self, 1)->start);
}

TEST_F(tables, room_that_is_left_is_used)
{
	add_rows(self, 0, 10000);
	add_rows(self, 0x10000, 10000);
	add_rows(self, 0x20000, 6384);
	add_rows(self, 0x30000, 6000);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(2, self->size.nr_chunks);
	EXPECT_EQ(0, page(self, 2)->chunk);
	EXPECT_EQ(10000, page(self, 2)->start);
	EXPECT_EQ(WALK_ROW(6383, 2), row(self, 2, 6383));
	EXPECT_EQ(1, page(self, 3)->chunk);
}

TEST_F(tables, page_as_large_as_a_chunk)
{
	add_rows(self, 0, WALK_MAX_PAGE_ROWS);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(WALK_MAX_PAGE_ROWS, page(self, 0)->count);
}

TEST_F(tables, page_with_too_many_rows_has_none)
{
	add_rows(self, 0, WALK_MAX_PAGE_ROWS + 1);
	add_row(self, 0x10005, 0);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(0, page(self, 0)->count);
	EXPECT_EQ(2, page(self, 1)->count);
	EXPECT_EQ(WALK_ROW(0, 1), row(self, 1, 0));
}

TEST_F(tables, row_that_stands_for_the_page_start_counts)
{
	add_rows(self, 1, WALK_MAX_PAGE_ROWS);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(0, page(self, 0)->count);
}

/* Fill up; what is there stays, and a smaller file still goes in. */
TEST_F(tables, no_chunk_left_changes_nothing)
{
	struct walk_tables_size before;

	self->nr_chunks_allowed = 1;
	add_rows(self, 0, 10000);
	ASSERT_EQ(0, add_file(self));
	before = self->size;

	self->cfi.nr_rows = 0;
	self->cfi.nr_rules = 10;
	add_rows(self, 0, 3000);
	add_rows(self, 0x10000, 3000);
	add_rows(self, 0x20000, 3000);
	EXPECT_EQ(-ENOSPC, add_file(self));
	EXPECT_EQ(0, memcmp(&before, &self->size, sizeof(before)));

	self->cfi.nr_rows = 2 * 3000;
	self->cfi.nr_rules = 4;
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(16000, self->size.nr_rows);
	EXPECT_EQ(4, self->size.nr_rules);
	EXPECT_EQ(10000, page(self, 0)->start);
	EXPECT_EQ(WALK_ROW(2999, 2), row(self, 1, 2999));
}

TEST_F(tables, chunks_that_come_late_are_used)
{
	self->nr_chunks_allowed = 0;
	add_rows(self, 0, 10);
	EXPECT_EQ(-ENOSPC, add_file(self));
	self->nr_chunks_allowed = 1;
	EXPECT_EQ(0, add_file(self));
	EXPECT_EQ(10, self->size.nr_rows);
}

TEST_F(tables, no_page_left_changes_nothing)
{
	add_row(self, 0, 1);
	add_row(self, (__u64)WALK_MAX_PAGES << WALK_PAGE_SHIFT, 0);
	EXPECT_EQ(-ENOSPC, add_file(self));
	EXPECT_EQ(0, self->size.nr_pages);
	EXPECT_EQ(1, self->size.nr_rules);
	self->rows[1].vaddr -= 0x10000;
	EXPECT_EQ(0, add_file(self));
	EXPECT_EQ(WALK_MAX_PAGES, self->size.nr_pages);
	self->cfi.nr_rows = 1;
	EXPECT_EQ(-ENOSPC, add_file(self));
}

TEST_F(tables, addresses_beyond_48_bits_do_not_fit)
{
	add_row(self, 0x1000000000000, 1);
	EXPECT_EQ(-ENOSPC, add_file(self));
	self->rows[0].vaddr = 0xffffffffffff;
	EXPECT_EQ(0, add_file(self));
	EXPECT_EQ(0xffffffff, self->file.first_page);
	EXPECT_EQ(WALK_ROW(0xffff, 1), row(self, 0, 1));
}

TEST_F(tables, no_rule_left_changes_nothing)
{
	struct walk_rule *rules = calloc(40000, sizeof(*rules));

	for (int i = 1; i < 40000; i++)
		rules[i] = (struct walk_rule) { .cfa = WALK_CFA_BP, .cfa_off = i };
	self->cfi.rules = rules;
	self->cfi.nr_rules = 40000;
	add_row(self, 0x10, 39999);
	ASSERT_EQ(0, add_file(self));
	EXPECT_EQ(40000, self->size.nr_rules);
	for (int i = 1; i < 40000; i++)
		rules[i].cfa = WALK_CFA_SP;
	EXPECT_EQ(-ENOSPC, add_file(self));
	EXPECT_EQ(40000, self->size.nr_rules);
	EXPECT_EQ(1, self->size.nr_files);
	/* rules that were taken back are new again: the last ones fit just so */
	self->cfi.nr_rules = WALK_MAX_RULES - 40000 + 1;
	self->rows[0].rule = self->cfi.nr_rules - 1;
	EXPECT_EQ(0, add_file(self));
	EXPECT_EQ(WALK_MAX_RULES, self->size.nr_rules);
	EXPECT_EQ(WALK_ROW(0x10, 0xffff), row(self, 0, 1));
	EXPECT_EQ(WALK_CFA_SP, self->mem->rules[0xffff].cfa);
	free(rules);
}

TEST_HARNESS_MAIN
