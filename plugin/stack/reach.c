// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "probe/elf_file.h"
#include "probe/site.h"
#include "reach.h"

#define MAX_FN_BYTES	(256U << 10)
#define MAX_REACHED	16384
#define CHUNK_BYTES	(1U << 20)
#define MAX_TEXT_BYTES	(64UL << 20)
#define MAX_EDGES	(4U << 20)
#define REL32_BYTES	4

struct walk {
	const struct elf_file *file;
	struct functions *fns;
	bool (*may_enter)(void *ctx, const struct code_function *fn);
	void *ctx;
	struct code_function **todo;	/* MAX_REACHED */
	size_t nr_todo, nr_reached;
};

static bool visit_target(void *ctx, __u64 target, enum site_reference kind)
{
	struct walk *w = ctx;
	struct code_function *fn = kind == SITE_SLOT ? NULL : functions__find(w->fns, target);

	if (!fn || fn->start != target || fn->is_reached || !w->may_enter(w->ctx, fn))
		return false;
	if (w->nr_reached == MAX_REACHED)
		return true;
	fn->is_reached = true;
	w->nr_reached++;
	w->todo[w->nr_todo++] = fn;
	return false;
}

/* Return: 0, or -E2BIG when there are too many. */
static int walk_function(struct walk *w, const struct code_function *fn, __u8 *buf)
{
	size_t nr_bytes = fn->end - fn->start < MAX_FN_BYTES ? fn->end - fn->start : MAX_FN_BYTES;
	long nr_read = elf_file__read(w->file, fn->start, buf, nr_bytes);
	struct site_code code = {
		.bytes = buf, .nr_bytes = nr_read > 0 ? nr_read : 0, .vaddr = fn->start,
	};

	return site__each_reference(&code, visit_target, w) ? -E2BIG : 0;
}

static int add_starts(struct walk *w)
{
	for (size_t i = 0; i < w->fns->nr; i++) {
		if (!w->fns->fns[i].is_reached)
			continue;
		if (w->nr_reached == MAX_REACHED)
			return -E2BIG;
		w->todo[w->nr_todo++] = &w->fns->fns[i];
		w->nr_reached++;
	}
	return 0;
}

int reach__run(const struct elf_file *file, struct functions *fns,
	       bool (*may_enter)(void *ctx, const struct code_function *fn), void *ctx)
{
	struct walk w = { .file = file, .fns = fns, .may_enter = may_enter, .ctx = ctx };
	__u8 *buf = malloc(MAX_FN_BYTES);
	int err = -ENOMEM;

	w.todo = calloc(MAX_REACHED, sizeof(*w.todo));
	if (buf && w.todo)
		err = add_starts(&w);
	while (!err && w.nr_todo)
		err = walk_function(&w, w.todo[--w.nr_todo], buf);
	free(w.todo);
	free(buf);
	return err;
}

/* Code in @from (an index; -1: in no function) refers to function @to. */
struct edge {
	size_t from, to;
};

struct edges {
	const struct functions *fns;
	struct edge *edges;
	size_t nr, room;
};

static int add_edge(struct edges *e, __u64 place, __u64 target)
{
	const struct code_function *to = functions__find(e->fns, target), *from;
	struct edge *edges;
	size_t room;

	if (!to || to->start != target || !to->is_reached)
		return 0;
	from = functions__find(e->fns, place);
	if (from == to)
		return 0;
	if (e->nr == MAX_EDGES)
		return -E2BIG;
	if (e->nr == e->room) {
		room = e->room ? 2 * e->room : 4096;
		edges = reallocarray(e->edges, room, sizeof(*edges));
		if (!edges)
			return -ENOMEM;
		e->edges = edges;
		e->room = room;
	}
	e->edges[e->nr++] = (struct edge){
		.from = from ? (size_t)(from - e->fns->fns) : (size_t)-1, .to = to - e->fns->fns,
	};
	return 0;
}

/* May these bytes, in front of four more, be a call, a jump, or `lea rel(%rip)`? */
static bool announces_rel32(const __u8 *at)
{
	return at[1] == 0xe8 || at[1] == 0xe9 || (at[0] == 0x0f && (at[1] & 0xf0) == 0x80) ||
	       (at[0] == 0x8d && (at[1] & 0xc7) == 0x05);
}

/* Any byte may begin an instruction: what only looks like a reference makes us keep less. */
static int search_chunk(struct edges *e, const __u8 *buf, size_t nr_bytes, __u64 vaddr)
{
	int err = 0;

	for (size_t i = 0; !err && i + 2 + REL32_BYTES <= nr_bytes; i++) {
		__s32 rel;

		if (!announces_rel32(buf + i))
			continue;
		memcpy(&rel, buf + i + 2, sizeof(rel));
		err = add_edge(e, vaddr + i, vaddr + i + 2 + REL32_BYTES + (__s64)rel);
	}
	return err;
}

static int search_segment(struct edges *e, const struct elf_file *file, __u8 *buf, __u64 vaddr,
			  __u64 nr_bytes)
{
	__u64 end = vaddr + nr_bytes;
	int err = 0;

	while (!err && vaddr < end) {
		long nr_read = elf_file__read(file, vaddr, buf, CHUNK_BYTES);

		if (nr_read < 2 + REL32_BYTES)
			return nr_read < 0 ? nr_read : 0;
		err = search_chunk(e, buf, nr_read, vaddr);
		vaddr += nr_read - (2 + REL32_BYTES - 1);
	}
	return err;
}

static int find_edges(struct edges *e, const struct elf_file *file)
{
	__u64 vaddr, nr_bytes, nr_left = MAX_TEXT_BYTES;
	__u8 *buf = malloc(CHUNK_BYTES);
	int err = buf ? 0 : -ENOMEM;

	for (size_t i = 0; !err && elf_file__segment(file, i, &vaddr, &nr_bytes); i++) {
		if (nr_bytes > nr_left)
			err = -E2BIG;
		else
			err = search_segment(e, file, buf, vaddr, nr_bytes);
		nr_left -= nr_bytes;
	}
	free(buf);
	return err;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *ea = a, *eb = b;

	return ea->from < eb->from ? -1 : ea->from > eb->from;
}

static size_t first_edge(const struct edges *e, size_t from)
{
	size_t lo = 0, hi = e->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->edges[mid].from < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct removal {
	struct functions *fns;
	size_t *todo;			/* each function once */
	size_t nr_todo;
};

static void unmark(struct removal *r, size_t idx)
{
	struct code_function *fn = &r->fns->fns[idx];

	if (fn->is_known || !fn->is_reached)
		return;
	fn->is_reached = false;
	r->todo[r->nr_todo++] = idx;
}

/* What a function that does not belong refers to does not belong either. */
static void unmark_callees(struct removal *r, const struct edges *e)
{
	while (r->nr_todo) {
		size_t from = r->todo[--r->nr_todo];

		for (size_t i = first_edge(e, from); i < e->nr && e->edges[i].from == from; i++)
			unmark(r, e->edges[i].to);
	}
}

int reach__keep_exclusive(const struct elf_file *file, struct functions *fns)
{
	struct edges e = { .fns = fns };
	struct removal r = { .fns = fns, .todo = calloc(MAX_REACHED, sizeof(*r.todo)) };
	int err = r.todo ? find_edges(&e, file) : -ENOMEM;

	if (!err && e.nr)
		qsort(e.edges, e.nr, sizeof(*e.edges), compare_edges);
	for (size_t i = 0; !err && i < e.nr; i++) {
		size_t from = e.edges[i].from;

		if (from != (size_t)-1 && fns->fns[from].is_reached)
			continue;
		unmark(&r, e.edges[i].to);
		unmark_callees(&r, &e);
	}
	free(r.todo);
	free(e.edges);
	return err;
}
