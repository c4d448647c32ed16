// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks go on while a file is added. So all of it is written where nothing points to yet: rules
 * behind those in use, rows into the chunks' free room, pages behind those in use. The caller then
 * makes it visible with a mapping. What does not fit is taken back by resetting the counts.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/hashtab.h>

#include "cfi.h"
#include "tables.h"

#define FULL_ROWS	(WALK_CHUNK_ROWS - 16)	/* not worth a look any more */
#define PAGE_BYTES	(1ULL << WALK_PAGE_SHIFT)

struct walk_tables {
	const struct walk_memory *mem;
	htab_t by_content;		/* rules in mem->rules */
	__u16 *used;			/* rows of each chunk */
	__u32 room_used;		/* elements of @used */
	__u32 first_open;		/* the chunks before it are as good as full */
	struct walk_tables_size size;
};

/* A file on its way in. */
struct addition {
	struct walk_tables *t;
	const struct cfi_table *cfi;
	struct walk_tables_size before;
	__u16 *rules;			/* ours for each of the file's */
	size_t next_row;
};

static hashval_t hash_rule(const void *item)
{
	return iterative_hash(item, sizeof(struct walk_rule), 0);
}

static int equal_rule(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct walk_rule));
}

/* Rule @t->size.nr_rules, which is written already, counts from now on. */
static int take_rule(struct walk_tables *t)
{
	struct walk_rule *rule = &t->mem->rules[t->size.nr_rules];
	void **slot = htab_find_slot(t->by_content, rule, INSERT);

	if (!slot)
		return -ENOMEM;
	*slot = rule;
	t->size.nr_rules++;
	return 0;
}

int walk_tables__new(const struct walk_memory *mem, struct walk_tables **ret)
{
	struct walk_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->mem = mem;
	t->by_content = htab_create_alloc(1021, hash_rule, equal_rule, NULL, calloc, free);
	if (!t->by_content || take_rule(t)) {
		walk_tables__free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void walk_tables__free(struct walk_tables *t)
{
	if (!t)
		return;
	if (t->by_content)
		htab_delete(t->by_content);
	free(t->used);
	free(t);
}

static int add_rule(struct walk_tables *t, const struct walk_rule *rule, __u16 *ret)
{
	const struct walk_rule *found = htab_find(t->by_content, rule);

	if (found) {
		*ret = found - t->mem->rules;
		return 0;
	}
	if (t->size.nr_rules >= WALK_MAX_RULES)
		return -ENOSPC;
	*ret = t->size.nr_rules;
	t->mem->rules[*ret] = *rule;
	return take_rule(t);
}

static int add_rules(struct addition *a)
{
	int err = 0;

	a->rules = calloc(a->cfi->nr_rules + 1, sizeof(*a->rules));
	if (!a->rules)
		return -ENOMEM;
	for (size_t i = 0; i < a->cfi->nr_rules && !err; i++)
		err = add_rule(a->t, &a->cfi->rules[i], &a->rules[i]);
	return err;
}

static int open_chunk(struct walk_tables *t)
{
	__u32 idx = t->size.nr_chunks;

	if (idx == t->room_used) {
		__u32 room = idx ? 2 * idx : 16;
		__u16 *used = reallocarray(t->used, room, sizeof(*used));

		if (!used)
			return -ENOMEM;
		t->used = used;
		t->room_used = room;
	}
	if (!t->mem->chunk(t->mem->ctx, idx))
		return -ENOSPC;
	t->used[idx] = 0;
	t->size.nr_chunks++;
	return 0;
}

/* The first chunk with room for @count rows. */
static int find_chunk(struct walk_tables *t, __u32 count, __u32 *ret)
{
	__u32 idx;

	while (t->first_open < t->size.nr_chunks && t->used[t->first_open] > FULL_ROWS)
		t->first_open++;
	for (idx = t->first_open; idx < t->size.nr_chunks; idx++)
		if (t->used[idx] + count <= WALK_CHUNK_ROWS)
			break;
	*ret = idx;
	return idx < t->size.nr_chunks ? 0 : open_chunk(t);
}

/* What a page consists of: rows [@first, @first + @nr), where needed behind one at its start. */
struct page_rows {
	__u64 start;
	size_t first, nr;
	__u16 in_force;			/* the rule at @start */
	bool lead;			/* there is no row at @start */
};

static struct page_rows next_rows(struct addition *a, __u64 start)
{
	struct page_rows p = { .start = start, .first = a->next_row };
	const struct cfi_row *rows = a->cfi->rows;

	while (a->next_row < a->cfi->nr_rows && rows[a->next_row].vaddr - start < PAGE_BYTES)
		a->next_row++;
	p.nr = a->next_row - p.first;
	p.lead = !p.nr || rows[p.first].vaddr != start;
	if (p.lead && p.first)
		p.in_force = a->rules[rows[p.first - 1].rule];
	return p;
}

static void write_rows(const struct addition *a, const struct page_rows *p, __u32 *to)
{
	const struct cfi_row *row = &a->cfi->rows[p->first];

	if (p->lead)
		*to++ = WALK_ROW(0, p->in_force);
	for (size_t i = 0; i < p->nr; i++, row++)
		*to++ = WALK_ROW(row->vaddr - p->start, a->rules[row->rule]);
}

static int add_page(struct addition *a, __u64 start)
{
	struct page_rows p = next_rows(a, start);
	struct walk_tables *t = a->t;
	struct walk_page page = {};
	size_t count = p.lead + p.nr;
	int err;

	if (count <= WALK_MAX_PAGE_ROWS && (p.nr || p.in_force)) {
		err = find_chunk(t, count, &page.chunk);
		if (err)
			return err;
		page.start = t->used[page.chunk];
		page.count = count;
		write_rows(a, &p, t->mem->chunk(t->mem->ctx, page.chunk) + page.start);
		t->used[page.chunk] += count;
		t->size.nr_rows += count;
	}
	t->mem->pages[t->size.nr_pages++] = page;
	return 0;
}

static int add_pages(struct addition *a, struct walk_file *ret)
{
	const struct cfi_row *rows = a->cfi->rows;
	size_t nr = a->cfi->nr_rows;
	__u64 first = rows[0].vaddr >> WALK_PAGE_SHIFT, last = rows[nr - 1].vaddr >> WALK_PAGE_SHIFT;
	int err = 0;

	if (last > 0xffffffff || last - first >= WALK_MAX_PAGES - a->t->size.nr_pages)
		return -ENOSPC;
	ret->first_page = first;
	ret->page_base = a->t->size.nr_pages;
	ret->nr_pages = last - first + 1;
	for (__u64 page = first; page <= last && !err; page++)
		err = add_page(a, page << WALK_PAGE_SHIFT);
	return err;
}

/* In reverse order, so that everything was last in its place. */
static void take_back(struct addition *a)
{
	struct walk_tables *t = a->t;
	const struct walk_memory *mem = t->mem;

	while (t->size.nr_pages > a->before.nr_pages) {
		const struct walk_page *page = &mem->pages[--t->size.nr_pages];

		if (page->count)
			t->used[page->chunk] -= page->count;
	}
	while (t->size.nr_rules > a->before.nr_rules)
		htab_remove_elt(t->by_content, &mem->rules[--t->size.nr_rules]);
	t->size = a->before;
	t->first_open = 0;
}

int walk_tables__add(struct walk_tables *t, const struct cfi_table *cfi, struct walk_file *ret)
{
	struct addition a = { .t = t, .cfi = cfi, .before = t->size };
	struct walk_file file = {};
	int err = 0;

	if (cfi->nr_rows)
		err = add_rules(&a) ?: add_pages(&a, &file);
	free(a.rules);
	if (err) {
		take_back(&a);
		return err;
	}
	t->size.nr_files++;
	/* Before the caller writes what points to it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*ret = file;
	return 0;
}

void walk_tables__size(const struct walk_tables *t, struct walk_tables_size *ret)
{
	*ret = t->size;
}
