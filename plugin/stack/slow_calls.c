// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "bpf/churn.h"
#include "functions.h"
#include "probe/elf_file.h"
#include "probe/families.h"
#include "probe/probe.h"
#include "probe/site.h"
#include "slow_calls.h"

/* glibc's malloc.c makes about 40. */
#define MAX_FUNCTIONS	256
#define MAX_FN_BYTES	(64U << 10)
#define MIN_CALLERS	3
#define MIN_SETTERS	2	/* of these, set the arguments */
#define NR_ARGS		2
#define NONE		((size_t)-1)

enum os_call { OS_SBRK, OS_MMAP, OS_NR };

/*
 * @fns: Those of the piece, @nr of them.
 * @calls: [i][j]: i calls, jumps to or takes the address of j.
 * @os: [i][c]: i does so with sbrk or mmap, whose addresses are in @os_vaddrs.
 */
struct graph {
	const struct elf_file *file;
	struct functions *all;
	struct code_function *fns;
	size_t nr;
	bool calls[MAX_FUNCTIONS][MAX_FUNCTIONS];
	bool os[MAX_FUNCTIONS][OS_NR];
	__u64 os_vaddrs[OS_NR];
	__u64 trim_vaddr;
	__u8 code[MAX_FN_BYTES];
};

struct from {
	struct graph *graph;
	size_t idx;
};

static bool is_malloc_unit(const char *symbol)
{
	return family__in_unit(family__find("glibc"), symbol);
}

static int note_symbol(void *ctx, const struct elf_function *fn)
{
	struct graph *g = ctx;

	if (!fn->is_exported)
		return 0;
	if (!strcmp(fn->name, "sbrk"))
		g->os_vaddrs[OS_SBRK] = fn->vaddr;
	else if (!strcmp(fn->name, "mmap"))
		g->os_vaddrs[OS_MMAP] = fn->vaddr;
	else if (!strcmp(fn->name, "malloc_trim"))
		g->trim_vaddr = fn->vaddr;
	return 0;
}

static size_t find_function(const struct graph *g, __u64 vaddr)
{
	const struct code_function *fn = functions__find(g->all, vaddr);

	if (!fn || fn->start != vaddr || fn < g->fns || fn >= g->fns + g->nr)
		return NONE;
	return fn - g->fns;
}

static bool note_reference(void *ctx, __u64 target, enum site_reference kind)
{
	struct from *from = ctx;
	struct graph *g = from->graph;
	size_t to;

	if (kind == SITE_SLOT)
		return false;
	for (size_t c = 0; c < OS_NR; c++)
		g->os[from->idx][c] |= target == g->os_vaddrs[c];
	to = find_function(g, target);
	if (to != NONE && to != from->idx)
		g->calls[from->idx][to] = true;
	return false;
}

static struct site_code read_function(struct graph *g, size_t idx)
{
	size_t nr_bytes = g->fns[idx].end - g->fns[idx].start;
	long nr_read = elf_file__read(g->file, g->fns[idx].start, g->code,
				      nr_bytes < MAX_FN_BYTES ? nr_bytes : MAX_FN_BYTES);

	return (struct site_code){
		.bytes = g->code, .nr_bytes = nr_read > 0 ? nr_read : 0, .vaddr = g->fns[idx].start,
	};
}

static int build(struct graph *g, const struct probe_image *img)
{
	struct function_piece piece;

	elf_file__each_function(g->file, note_symbol, g);
	if (!g->os_vaddrs[OS_SBRK] || !g->os_vaddrs[OS_MMAP] ||
	    !functions__piece(g->all, img->entries[0], &piece))
		return -ENODATA;
	g->fns = &g->all->fns[piece.first];
	g->nr = piece.last - piece.first + 1;
	if (g->nr > MAX_FUNCTIONS)
		return -E2BIG;
	for (size_t i = 0; i < g->nr; i++) {
		struct from from = { .graph = g, .idx = i };
		struct site_code code = read_function(g, i);

		site__each_reference(&code, note_reference, &from);
	}
	return 0;
}

/* Mark what @from leads to, itself among it, without going through @without. */
static void follow_calls(const struct graph *g, size_t from, size_t without, bool *seen)
{
	size_t todo[MAX_FUNCTIONS], nr_todo = 0;

	memset(seen, 0, MAX_FUNCTIONS * sizeof(*seen));
	if (from == NONE || from == without)
		return;
	seen[from] = true;
	todo[nr_todo++] = from;
	while (nr_todo) {
		size_t i = todo[--nr_todo];

		for (size_t to = 0; to < g->nr; to++) {
			if (!g->calls[i][to] || seen[to] || to == without)
				continue;
			seen[to] = true;
			todo[nr_todo++] = to;
		}
	}
}

static bool leads_to_os(const struct graph *g, size_t from, size_t without, enum os_call call)
{
	bool seen[MAX_FUNCTIONS];

	follow_calls(g, from, without, seen);
	for (size_t i = 0; i < g->nr; i++) {
		if (seen[i] && g->os[i][call])
			return true;
	}
	return false;
}

static bool leads_to(const struct graph *g, size_t from, size_t to)
{
	bool seen[MAX_FUNCTIONS];

	follow_calls(g, from, NONE, seen);
	return seen[to];
}

/* Does every way from one function to sbrk go through the other? */
static bool cannot_get_round(const struct graph *g, size_t from, size_t through)
{
	return leads_to_os(g, from, NONE, OS_SBRK) && !leads_to_os(g, from, through, OS_SBRK);
}

static size_t find_entry(const struct graph *g, const struct probe_image *img, __u32 fn)
{
	for (size_t i = 0; i < img->nr_sites; i++) {
		if (img->sites[i].fn == fn)
			return find_function(g, img->sites[i].vaddr - img->sites[i].delta);
	}
	return NONE;
}

static bool is_local(const struct graph *g, size_t idx)
{
	return !g->fns[idx].is_exported && !g->fns[idx].is_known;
}

static bool is_called_with_args(struct graph *g, size_t callee)
{
	size_t nr_callers = 0, nr_setters = 0;

	for (size_t i = 0; i < g->nr; i++) {
		struct site_code code;

		if (!g->calls[i][callee])
			continue;
		nr_callers++;
		code = read_function(g, i);
		nr_setters += site__sets_args(&code, g->fns[callee].start, NR_ARGS);
	}
	return nr_callers >= MIN_CALLERS && nr_setters >= MIN_SETTERS;
}

static bool is_refill(struct graph *g, const struct probe_image *img, size_t idx)
{
	static const __u32 entries[] = {
		CHURN_FN_MALLOC, CHURN_FN_CALLOC, CHURN_FN_REALLOC, CHURN_FN_MEMALIGN,
	};

	if (!is_local(g, idx) || !leads_to_os(g, idx, NONE, OS_MMAP))
		return false;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!leads_to(g, find_entry(g, img, entries[i]), idx))
			return false;
	}
	/* The other two free, too, and so may lead to sbrk elsewhere. */
	return cannot_get_round(g, find_entry(g, img, CHURN_FN_MALLOC), idx) &&
	       cannot_get_round(g, find_entry(g, img, CHURN_FN_CALLOC), idx) &&
	       is_called_with_args(g, idx);
}

static int find_refill(struct graph *g, const struct probe_image *img, size_t *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < g->nr; i++) {
		if (!is_refill(g, img, i))
			continue;
		*ret = i;
		nr++;
	}
	return nr == 1 ? 0 : nr ? -ENOTUNIQ : -ENODATA;
}

static bool is_os_alloc(const struct graph *g, size_t refill, size_t idx)
{
	return is_local(g, idx) && g->calls[refill][idx] && leads_to_os(g, idx, NONE, OS_MMAP) &&
	       cannot_get_round(g, refill, idx);
}

static bool calls_os_caller(const struct graph *g, size_t idx)
{
	for (size_t i = 0; i < g->nr; i++) {
		if (g->calls[idx][i] && g->os[i][OS_SBRK])
			return true;
	}
	return false;
}

static bool is_os_free(const struct graph *g, const struct probe_image *img, size_t idx)
{
	size_t trim = find_function(g, g->trim_vaddr);

	return is_local(g, idx) && trim != NONE && g->calls[trim][idx] && calls_os_caller(g, idx) &&
	       !leads_to_os(g, idx, NONE, OS_MMAP) &&
	       leads_to(g, find_entry(g, img, CHURN_FN_FREE), idx);
}

static void add(const struct graph *g, const char *symbol, size_t idx, struct probe_function *ret,
		size_t *nr)
{
	const struct code_function *fn = &g->fns[idx];

	ret[(*nr)++] = (struct probe_function){
		.slow = family__slow(family__find("glibc"), symbol),
		.vaddr = fn->start, .size_bytes = fn->end - fn->start,
	};
}

static int find_all(struct graph *g, const struct probe_image *img, struct probe_function *ret,
		    size_t *ret_nr)
{
	size_t refill, os_alloc = 0, os_free = 0, nr_allocs = 0, nr_frees = 0, nr = 0;
	int err = build(g, img) ?: find_refill(g, img, &refill);

	if (err)
		return err;
	for (size_t i = 0; i < g->nr; i++) {
		if (is_os_alloc(g, refill, i) && !nr_allocs++)
			os_alloc = i;
		if (is_os_free(g, img, i) && !nr_frees++)
			os_free = i;
	}
	add(g, "_int_malloc", refill, ret, &nr);
	if (nr_allocs == 1)
		add(g, "sysmalloc", os_alloc, ret, &nr);
	if (nr_frees == 1)
		add(g, "systrim", os_free, ret, &nr);
	*ret_nr = nr;
	return 0;
}

int slow_calls__find(const struct elf_file *file, const struct probe_image *img,
		     struct probe_function *ret, size_t *ret_nr)
{
	struct graph *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->file = file;
	err = functions__new(file, is_malloc_unit, &g->all);
	if (!err) {
		err = find_all(g, img, ret, ret_nr);
		functions__free(g->all);
	}
	free(g);
	return err;
}
