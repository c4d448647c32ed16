// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "debug_file.h"
#include "functions.h"
#include "probe/elf_file.h"
#include "probe/families.h"
#include "probe/probe.h"
#include "ranges.h"
#include "reach.h"
#include "util/msg.h"

/* Between functions that follow on each other: padding up to a multiple of 64 at most. */
#define MAX_PADDING	64
/* glibc's malloc.o has 24 KB of code. */
#define MAX_UNIT_BYTES	(128U << 10)
#define MAX_RANGES	1024

struct search {
	const struct elf_file *file;
	const struct probe_image *img;
	const struct family *family;
	struct alloc_ranges *out;
};

static int add_range(struct search *s, __u64 start, __u64 end)
{
	struct alloc_range range = { .start = start, .end = end };
	struct alloc_range *ranges;

	/* Code that the file does not hold cannot be mapped. */
	if (end <= start || elf_file__offset(s->file, start, &range.offset))
		return 0;
	if (s->out->nr == MAX_RANGES)
		return -E2BIG;
	ranges = reallocarray(s->out->ranges, s->out->nr + 1, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	s->out->ranges = ranges;
	ranges[s->out->nr++] = range;
	return 0;
}

/* What was found by one way gives way to the next one. */
static void drop_ranges(struct search *s)
{
	free(s->out->ranges);
	s->out->ranges = NULL;
	s->out->nr = 0;
}

static int add_whole_object(struct search *s)
{
	__u64 vaddr, nr_bytes;
	int err = 0;

	for (size_t i = 0; !err && elf_file__segment(s->file, i, &vaddr, &nr_bytes); i++)
		err = add_range(s, vaddr, vaddr + nr_bytes);
	return err;
}

/*
 * glibc by symbols.
 * @unit: The file that .symtab has _int_malloc under.
 * @start, @end: Its functions, and those it exports, but no cold parts.
 * @anchor: malloc.
 */
struct unit_search {
	struct search *s;
	unsigned int unit;
	__u64 start, end, anchor;
};

static int find_unit(void *ctx, const struct elf_function *fn)
{
	struct unit_search *u = ctx;

	if (fn->unit && !strcmp(fn->name, u->s->family->marker))
		u->unit = fn->unit;
	if (!strcmp(fn->name, "malloc") || (!u->anchor && !strcmp(fn->name, "__libc_malloc")))
		u->anchor = fn->vaddr;
	return 0;
}

static bool is_near(const struct unit_search *u, const struct elf_function *fn)
{
	__u64 distance = fn->vaddr > u->anchor ? fn->vaddr - u->anchor : u->anchor - fn->vaddr;

	return distance < MAX_UNIT_BYTES;
}

static bool is_cold(const char *name)
{
	size_t chars = strlen(name);

	return chars > 5 && !strcmp(name + chars - 5, ".cold");
}

static int extend_unit(void *ctx, const struct elf_function *fn)
{
	struct unit_search *u = ctx;
	__u64 end = fn->vaddr + fn->size_bytes;
	bool in_unit = fn->unit == u->unit;

	if (end <= fn->vaddr || !is_near(u, fn) || is_cold(fn->name))
		return 0;
	if (!in_unit && (fn->is_local || !family__in_unit(u->s->family, fn->name)))
		return 0;
	if (fn->vaddr < u->start)
		u->start = fn->vaddr;
	if (end > u->end)
		u->end = end;
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct alloc_range *ra = a, *rb = b;

	return ra->start < rb->start ? -1 : ra->start > rb->start;
}

static int add_cold(void *ctx, const struct elf_function *fn)
{
	struct unit_search *u = ctx;

	if (fn->unit != u->unit || (fn->vaddr >= u->start && fn->vaddr < u->end) ||
	    !is_cold(fn->name))
		return 0;
	return add_range(u->s, fn->vaddr, fn->vaddr + fn->size_bytes);
}

/* @symbols: The object itself or its debug file. */
static int find_by_unit(struct search *s, const struct elf_file *symbols)
{
	struct unit_search u = { .s = s, .start = ~0ULL };
	int err;

	if (!s->family->marker)
		return -ENODATA;
	elf_file__each_function(symbols, find_unit, &u);
	if (!u.unit || !u.anchor)
		return -ENODATA;
	elf_file__each_function(symbols, extend_unit, &u);
	if (u.end <= u.start || u.end - u.start > MAX_UNIT_BYTES)
		return -ENODATA;
	err = add_range(s, u.start, u.end);
	err = err ?: elf_file__each_function(symbols, add_cold, &u);
	if (err || !s->out->nr)
		drop_ranges(s);
	return err ?: s->out->nr ? 0 : -ENODATA;
}

static int find_by_debug_file(struct search *s, const char *path)
{
	struct elf_file *debug;
	int err = debug_file__open(path, &s->out->build_id, &debug);

	if (err)
		return err;
	err = find_by_unit(s, debug);
	elf_file__close(debug);
	return err;
}

static bool is_glibc_unit(const char *symbol)
{
	return family__in_unit(family__find("glibc"), symbol);
}

static bool in_window(void *ctx, const struct code_function *fn)
{
	const struct code_function *const *ends = ctx;

	return fn >= ends[0] && fn <= ends[1];
}

/* All of it is one piece: also what nothing in it calls (fork's handlers). */
static int add_piece(struct search *s, const struct functions *fns, const struct function_piece *w)
{
	size_t first = w->first, last = w->last;

	while (first < last && !fns->fns[first].is_reached)
		first++;
	while (last > first && !fns->fns[last].is_reached)
		last--;
	if (!fns->fns[first].is_reached || fns->fns[last].end - fns->fns[first].start > MAX_UNIT_BYTES)
		return -ENODATA;
	return add_range(s, fns->fns[first].start, fns->fns[last].end);
}

static int find_piece(struct search *s)
{
	const struct code_function *ends[2];
	struct functions *fns;
	struct function_piece w;
	int err = functions__new(s->file, is_glibc_unit, &fns);

	if (err)
		return err;
	/* Addresses between the nearest exported functions that are of other files. */
	err = functions__piece(fns, s->img->entries[0], &w) ? 0 : -ENODATA;
	if (!err) {
		for (size_t i = w.first; i <= w.last; i++)
			fns->fns[i].is_reached = fns->fns[i].is_known;
		ends[0] = &fns->fns[w.first];
		ends[1] = &fns->fns[w.last];
		err = reach__run(s->file, fns, in_window, ends);
	}
	err = err ?: add_piece(s, fns, &w);
	functions__free(fns);
	return err;
}

static bool is_internal(void *ctx, const struct code_function *fn)
{
	(void)ctx;
	return fn->is_known || !fn->is_exported;
}

static void mark_entries(const struct search *s, struct functions *fns)
{
	for (size_t i = 0; i < s->img->nr_entries; i++) {
		struct code_function *fn = functions__find(fns, s->img->entries[i]);

		if (fn)
			fn->is_known = true;
	}
	for (size_t i = 0; i < fns->nr; i++)
		fns->fns[i].is_reached = fns->fns[i].is_known;
}

static int add_reached(struct search *s, const struct functions *fns)
{
	int err = 0;

	for (size_t i = 0, last; i < fns->nr && !err; i = last + 1) {
		last = i;
		if (!fns->fns[i].is_reached)
			continue;
		while (last + 1 < fns->nr && fns->fns[last + 1].is_reached &&
		       fns->fns[last + 1].start - fns->fns[last].end < MAX_PADDING)
			last++;
		err = add_range(s, fns->fns[i].start, fns->fns[last].end);
	}
	return err;
}

static int find_exclusive(struct search *s)
{
	struct functions *fns;
	size_t nr_named = 0;
	int err = functions__new(s->file, family__is_internal, &fns);

	if (err)
		return err;
	for (size_t i = 0; i < fns->nr; i++)
		nr_named += fns->fns[i].is_known;
	mark_entries(s, fns);
	err = reach__run(s->file, fns, is_internal, NULL);
	err = err ?: reach__keep_exclusive(s->file, fns);
	err = err ?: add_reached(s, fns);
	functions__free(fns);
	s->out->how = nr_named ? CHURN_RANGE_SYMTAB : CHURN_RANGE_CALLS;
	return err;
}

static int find_glibc(struct search *s, const char *path)
{
	int err = find_by_unit(s, s->file);

	s->out->how = CHURN_RANGE_SYMTAB;
	if (err == -ENODATA) {
		s->out->how = CHURN_RANGE_DEBUG;
		err = find_by_debug_file(s, path);
	}
	/* Only in the shared object is everything else exported or far away. */
	if (err == -ENODATA && elf_file__is_shared(s->file)) {
		s->out->how = CHURN_RANGE_CALLS;
		err = find_piece(s);
	}
	return err;
}

static int find_ranges(struct search *s, const char *path)
{
	int err;

	if (family__is_library(elf_file__soname(s->file))) {
		s->out->how = CHURN_RANGE_OBJECT;
		err = add_whole_object(s);
	} else if (s->family && s->family->unit) {
		err = find_glibc(s, path);
	} else {
		err = find_exclusive(s);
	}
	if (!err && !s->out->nr)
		err = -ENODATA;
	return err;
}

int alloc_ranges__new(const char *path, const struct probe_image *img, struct alloc_ranges **ret)
{
	struct search s = { .img = img, .family = family__find(img->family) };
	struct elf_file *file;
	int err = elf_file__open(path, &file);

	if (err)
		return err;
	s.file = file;
	s.out = calloc(1, sizeof(*s.out));
	err = s.out ? 0 : -ENOMEM;
	if (!err) {
		s.out->build_id = debug_file__build_id(path);
		err = find_ranges(&s, path);
	}
	elf_file__close(file);
	if (err) {
		alloc_ranges__free(s.out);
		return err;
	}
	qsort(s.out->ranges, s.out->nr, sizeof(*s.out->ranges), compare_ranges);
	pr_debug("%s: %zu ranges of allocator code, way %d\n", img->path, s.out->nr, s.out->how);
	*ret = s.out;
	return 0;
}

void alloc_ranges__free(struct alloc_ranges *r)
{
	if (!r)
		return;
	free(r->ranges);
	free(r);
}
