// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walker wants tables of files and mappings of processes. Both are made when a walk comes to
 * them: it ends at an address that it does not know, is told what is there, and starts again. The
 * mappings are kept for each of the last few address spaces, for as long as space__id() says that
 * what is known still holds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <asm/perf_regs.h>
#include <libiberty/hashtab.h>
#include <linux/perf_event.h>

#include "cfi.h"
#include "dso.h"
#include "object.h"
#include "perfdata/reader.h"
#include "space.h"
#include "tables.h"
#include "unwind.h"
#include "util/msg.h"
#include "walk.h"

#define NR_REGIONS	16
#define REGION_MAPS	(WALK_MAX_MAPS / NR_REGIONS)

/* The mappings of one address space that walks came to. */
struct region {
	__u64 space_id;			/* 0: unused */
	__u64 last_use;
	struct walk_proc proc;
};

/* A file's table. */
struct table {
	const struct dso *dso;
	enum walk_map_kind kind;
	struct walk_file at;
};

struct unwinder {
	struct walk_memory *mem;
	struct walk_tables *tables;
	htab_t by_dso;
	struct region regions[NR_REGIONS];
	__u64 nr_uses;
};

static hashval_t hash_table(const void *item)
{
	return (uintptr_t)((const struct table *)item)->dso >> 4;
}

static int equal_table(const void *a, const void *b)
{
	return ((const struct table *)a)->dso == ((const struct table *)b)->dso;
}

int unwinder__new(struct unwinder **ret)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	for (__u32 i = 0; i < NR_REGIONS; i++)
		u->regions[i].proc.first = i * REGION_MAPS;
	u->by_dso = htab_create_alloc(127, hash_table, equal_table, free, calloc, free);
	err = u->by_dso ? 0 : -ENOMEM;
	err = err ?: walk_memory__new_plain(&u->mem);
	err = err ?: walk_tables__new(u->mem, &u->tables);
	if (err)
		unwinder__free(u);
	else
		*ret = u;
	return err;
}

void unwinder__free(struct unwinder *u)
{
	if (!u)
		return;
	walk_tables__free(u->tables);
	walk_memory__free_plain(u->mem);
	if (u->by_dso)
		htab_delete(u->by_dso);
	free(u);
}

/* Names that the kernel gives to memory of no file: if there is code, a JIT compiler made it. */
static bool is_memory(const char *name)
{
	return name[0] != '/' || name[1] == '/' || !strncmp(name, "/memfd:", 7) ||
	       !strncmp(name, "/dev/zero", 9) || !strncmp(name, "/SYSV", 5);
}

static int compile_file(struct unwinder *u, const struct object_file *file, struct walk_file *ret)
{
	int fd = locate__open(file->path), err;
	struct cfi_table *cfi;

	if (fd < 0)
		return fd;
	err = cfi_table__new(fd, &cfi);
	close(fd);
	if (err)
		return err;
	err = walk_tables__add(u->tables, cfi, ret);
	cfi_table__free(cfi);
	return err;
}

/*
 * Code without CFI is walked by frame pointers. But where a file may well have some that cannot be
 * read, that would only lead astray: such a mapping stays without its table.
 */
static void load_table(struct unwinder *u, struct dso *dso, struct table *table)
{
	const struct object_file *file = dso__file(dso);
	int err = -ENOENT;

	table->dso = dso;
	table->kind = WALK_MAP_PENDING;
	if (file)
		err = compile_file(u, file, &table->at);
	if (!err)
		table->kind = WALK_MAP_TABLE;
	else if (err == -ENODATA || is_memory(dso__name(dso)))
		table->kind = WALK_MAP_FP;
	else
		pr_debug("%s: no call frame information: %s\n", dso__name(dso), strerror(-err));
}

static const struct table *get_table(struct unwinder *u, struct dso *dso)
{
	struct table key = { .dso = dso }, *table;
	void **slot = htab_find_slot(u->by_dso, &key, INSERT);

	if (!slot || *slot)
		return slot ? *slot : NULL;
	table = calloc(1, sizeof(*table));
	if (table)
		load_table(u, dso, table);
	*slot = table;
	return table;
}

/* The region of a space; an unused one or the one that was not used for longest may become it. */
static struct region *get_region(struct unwinder *u, __u64 space_id)
{
	struct region *ret = &u->regions[0];

	for (size_t i = 0; i < NR_REGIONS && ret->space_id != space_id; i++)
		if (u->regions[i].space_id == space_id ||
		    u->regions[i].last_use < ret->last_use)
			ret = &u->regions[i];
	if (ret->space_id != space_id) {
		ret->space_id = space_id;
		ret->proc.nr = 0;
	}
	ret->last_use = ++u->nr_uses;
	return ret;
}

/* Put a mapping in its place. What overlaps it is the same mapping, as it was once. */
static void insert_map(struct unwinder *u, struct region *region, const struct walk_map *map)
{
	struct walk_map *maps = &u->mem->maps[region->proc.first];
	__u32 from = 0, to, nr;

	if (region->proc.nr == REGION_MAPS)
		region->proc.nr = 0;
	nr = region->proc.nr;
	while (from < nr && maps[from].end <= map->start)
		from++;
	for (to = from; to < nr && maps[to].start < map->end; to++)
		;
	memmove(&maps[from + 1], &maps[to], (nr - to) * sizeof(*maps));
	maps[from] = *map;
	region->proc.nr = nr - (to - from) + 1;
}

/* Make the walker know what is at an address. */
static bool learn(struct unwinder *u, struct region *region, struct space *space, __u64 addr)
{
	const struct mapping *map = space__find(space, addr);
	const struct table *table = map ? get_table(u, map->dso) : NULL;

	if (!table)
		return false;
	insert_map(u, region, &(struct walk_map) {
		.start = map->start, .end = map->end,
		.bias = addr - dso__vaddr(map->dso, addr - map->start + map->pgoff),
		.kind = table->kind, .first_page = table->at.first_page,
		.page_base = table->at.page_base, .nr_pages = table->at.nr_pages,
	});
	return true;
}

/* Registers were recorded in the order of their bits in the mask. */
static bool get_reg(const struct pdsample *s, int reg, __u64 *ret)
{
	__u64 bit = 1ULL << reg;

	if (!(s->regs_mask & bit))
		return false;
	*ret = s->regs[__builtin_popcountll(s->regs_mask & (bit - 1))];
	return true;
}

static bool get_copy(const struct pdsample *s, struct walk_copy *copy)
{
	struct walk_regs *regs = &copy->regs;

	*copy = (struct walk_copy) { .exact = 1, .bytes = s->stack_bytes };
	get_reg(s, PERF_REG_X86_BP, &regs->bp);
	get_reg(s, PERF_REG_X86_BX, &regs->bx);
	get_reg(s, PERF_REG_X86_AX, &regs->rax);
	get_reg(s, PERF_REG_X86_DI, &regs->rdi);
	get_reg(s, PERF_REG_X86_R10, &regs->r10);
	get_reg(s, PERF_REG_X86_R11, &regs->r11);
	return s->regs_abi == PERF_SAMPLE_REGS_ABI_64 && get_reg(s, PERF_REG_X86_SP, &regs->sp) &&
	       get_reg(s, PERF_REG_X86_IP, &regs->ip);
}

size_t unwinder__walk(struct unwinder *u, struct space *space, const struct pdsample *s, __u64 *ips,
		      bool *exact, size_t max, bool *complete)
{
	struct region *region = get_region(u, space__id(space));
	struct walk_copy copy;
	struct walk_input in = {
		.mem = u->mem, .copy = &copy, .stack = s->stack, .stack_bytes = s->stack_bytes,
		.max = max, .exact = exact,
	};
	int status;
	__u32 nr;

	*complete = false;
	if (!get_copy(s, &copy))
		return 0;
	do {
		in.proc = region->proc;
		status = walk_stack(&in, ips, &nr);
	} while (status == WALK_NO_MAP && nr &&
		 learn(u, region, space, ips[nr - 1] - !exact[nr - 1]));
	*complete = status == WALK_END;
	if (!*complete && status != WALK_MAX)
		pr_debug("unwind: %s after %u frames\n", walk_status__name(status), nr);
	return nr;
}
