// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libiberty/hashtab.h>

#include "debuginfo.h"
#include "debuginfod.h"
#include "demangle.h"
#include "dso.h"
#include "internals.h"
#include "machine.h"
#include "object.h"
#include "perfmap.h"
#include "strpool.h"
#include "symbols.h"
#include "symtab.h"
#include "util/msg.h"
#include "vdso.h"

#define MAX_SEGMENTS	32
#define MAX_ADDRS	(1U << 20)	/* remembered for one object */
#define MAX_OF_PATH	256		/* builds of one path told apart */
#define MAX_OPEN_DWARF	16		/* each holds up to two descriptors */
#define PAGE_MASK	(~(__u64)4095)

struct segment {
	__u64 offset, bytes, vaddr;
	bool exec;
};

struct dso {
	struct dso_env *env;
	struct dso *next_of_path;
	struct object_id id;
	char *path;
	char *name;
	bool kernel;
	bool loaded;
	struct object_file file;	/* .path NULL: none */
	int vdso_fd;
	struct segment segments[MAX_SEGMENTS];
	size_t nr_segments;
	__u64 base;			/* lowest address as linked */
	struct symtab symtab;
	htab_t addrs;			/* struct dso_addr; NULL until the first */
	struct dso_addr nothing;	/* answer where there is no file */
	const struct internal_object *internals;
	bool has_internals;		/* they were looked for */
	struct debuginfo *dwarf;
	bool no_dwarf;
};

struct dso_env {
	const struct machine_opts *opts;
	struct locate_env locate;
	struct strpool *strings;
	struct internals *internals;
	htab_t by_path;			/* the first of each path */
	htab_t by_name;			/* by dso->name, the pointer */
	struct dso *open[MAX_OPEN_DWARF];
	size_t next_open;
};

static hashval_t hash_path(const void *item)
{
	return htab_hash_string(((const struct dso *)item)->id.path);
}

static int equal_path(const void *a, const void *b)
{
	return !strcmp(((const struct dso *)a)->id.path, ((const struct dso *)b)->id.path);
}

static hashval_t hash_name(const void *item)
{
	return (uintptr_t)((const struct dso *)item)->name >> 4;
}

static int equal_name(const void *a, const void *b)
{
	return ((const struct dso *)a)->name == ((const struct dso *)b)->name;
}

static hashval_t hash_addr(const void *item)
{
	__u64 addr = ((const struct dso_addr *)item)->addr * 0x9e3779b97f4a7c15ULL;

	return addr >> 32;
}

static int equal_addr(const void *a, const void *b)
{
	return ((const struct dso_addr *)a)->addr == ((const struct dso_addr *)b)->addr;
}

static void dso_addr__free(void *item)
{
	struct dso_addr *at = item;

	free(at->inlines);
	free(at);
}

static void dso__free(struct dso *dso)
{
	if (dso->vdso_fd >= 0)
		close(dso->vdso_fd);
	debuginfo__free(dso->dwarf);
	if (dso->addrs)
		htab_delete(dso->addrs);
	symtab__exit(&dso->symtab);
	free(dso->file.path);
	free(dso->name);
	free(dso->path);
	free(dso);
}

static void free_path_chain(void *item)
{
	struct dso *dso = item, *next;

	for (; dso; dso = next) {
		next = dso->next_of_path;
		dso__free(dso);
	}
}

int dso_env__new(const struct machine_opts *opts, struct strpool *strings, struct dso_env **ret)
{
	struct dso_env *env = calloc(1, sizeof(*env));

	if (!env)
		return -ENOMEM;
	env->opts = opts;
	env->strings = strings;
	env->locate.symfs = opts->symfs ?: "";
	env->by_name = htab_create_alloc(127, hash_name, equal_name, NULL, calloc, free);
	env->by_path = htab_create_alloc(127, hash_path, equal_path, free_path_chain, calloc, free);
	if (!env->by_path || !env->by_name || internals__new(&env->internals) ||
	    (opts->debuginfod && debuginfod__new(opts->debuginfod, &env->locate.debuginfod))) {
		dso_env__free(env);
		return -ENOMEM;
	}
	*ret = env;
	return 0;
}

void dso_env__free(struct dso_env *env)
{
	if (!env)
		return;
	if (env->by_name)
		htab_delete(env->by_name);
	if (env->by_path)
		htab_delete(env->by_path);
	debuginfod__free(env->locate.debuginfod);
	internals__free(env->internals);
	free(env);
}

const struct locate_env *dso_env__locate(const struct dso_env *env)
{
	return &env->locate;
}

/* Of two records of one path: may they be of the same file? */
static bool is_same_object(const struct object_id *a, const struct object_id *b)
{
	if (a->build_id.bytes && b->build_id.bytes)
		return a->build_id.bytes == b->build_id.bytes &&
		       !memcmp(a->build_id.bits, b->build_id.bits, a->build_id.bytes);
	if (a->ino && b->ino)
		return a->ino == b->ino && a->maj == b->maj && a->min == b->min;
	return true;
}

static struct dso *dso__new(struct dso_env *env, const struct object_id *id, bool kernel)
{
	const char *clean = strpool__clean(env->strings, id->path);
	struct dso *dso = calloc(1, sizeof(*dso));

	if (!dso)
		return NULL;
	dso->env = env;
	dso->id = *id;
	dso->kernel = kernel;
	dso->vdso_fd = -1;
	dso->path = strdup(id->path);
	dso->name = clean ? strdup(clean) : NULL;
	dso->id.path = dso->path;
	if (!dso->path || !dso->name) {
		dso__free(dso);
		return NULL;
	}
	return dso;
}

struct dso *dso_env__get(struct dso_env *env, const struct object_id *id, bool kernel)
{
	struct dso key = { .id = *id }, *dso;
	void **slot, **slot_name;
	size_t nr = 0;

	slot = htab_find_slot(env->by_path, &key, INSERT);
	if (!slot)
		return NULL;
	for (dso = *slot; dso; dso = dso->next_of_path) {
		if (++nr < MAX_OF_PATH && (dso->kernel != kernel || !is_same_object(&dso->id, id)))
			continue;
		if (!dso->loaded && !dso->id.build_id.bytes)
			dso->id.build_id = id->build_id;
		return dso;
	}
	dso = dso__new(env, id, kernel);
	slot_name = dso ? htab_find_slot(env->by_name, dso, INSERT) : NULL;
	if (slot_name)
		*slot_name = dso;
	if (dso) {
		dso->next_of_path = *slot;
		*slot = dso;
	}
	return dso;
}

struct dso *dso_env__by_name(struct dso_env *env, const char *name)
{
	struct dso key = { .name = (char *)name };

	return htab_find(env->by_name, &key);
}

const char *dso__name(const struct dso *dso)
{
	return dso->name;
}

bool dso__is_kernel(const struct dso *dso)
{
	return dso->kernel;
}

static int open_object(struct dso *dso)
{
	int fd;

	if (!strcmp(dso->path, "[vdso]"))
		return vdso__open(&dso->id.build_id, &dso->file.path);
	fd = locate__object(&dso->env->locate, &dso->id, &dso->file.path);
	if (fd == -ESTALE)
		pr_warning("%s was replaced since it was recorded (other build-id): no symbols\n",
			   dso->name);
	return fd;
}

static void load_segments(struct dso *dso, Dwfl_Module *mod)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	GElf_Phdr phdr;
	size_t nr;

	if (!elf || elf_getphdrnum(elf, &nr))
		return;
	dso->base = ~0ULL;
	for (size_t i = 0; i < nr && dso->nr_segments < MAX_SEGMENTS; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if ((phdr.p_vaddr & PAGE_MASK) < dso->base)
			dso->base = phdr.p_vaddr & PAGE_MASK;
		dso->segments[dso->nr_segments++] = (struct segment) {
			.offset = phdr.p_offset, .bytes = phdr.p_filesz, .vaddr = phdr.p_vaddr,
			.exec = phdr.p_flags & PF_X,
		};
	}
	if (dso->base == ~0ULL)
		dso->base = 0;
}

static void load_object(struct dso *dso)
{
	Dwfl *dwfl = object__begin();
	Dwfl_Module *mod = dwfl ? object__report(dwfl, &dso->file, 0) : NULL;

	if (mod) {
		load_segments(dso, mod);
		if (symbols__load(mod, dso->env->opts->demangle, &dso->symtab))
			pr_warning("%s: too many symbols, some are left out\n", dso->name);
	} else {
		pr_debug("%s: no ELF file: %s\n", dso->name, dwfl_errmsg(-1));
		free(dso->file.path);
		dso->file.path = NULL;
	}
	dwfl_end(dwfl);
}

static void load_perfmap(struct dso *dso, __u32 pid)
{
	const struct machine_opts *opts = dso->env->opts;
	int err = perfmap__load(pid, dso->env->locate.symfs, opts->force, &dso->symtab);

	if (err == -EPERM)
		pr_warning("%s belongs to another user: not used without --force\n", dso->name);
	else if (err == -E2BIG)
		pr_warning("%s: too many symbols, some are left out\n", dso->name);
	pr_debug("%s: %zu symbols\n", dso->name, dso->symtab.nr);
}

static void dso__load(struct dso *dso)
{
	__u32 pid;
	int fd;

	if (dso->loaded)
		return;
	dso->loaded = true;
	if (dso->kernel)
		return;
	pid = perfmap__pid(dso->path);
	if (pid) {
		load_perfmap(dso, pid);
		return;
	}
	dso->file.env = &dso->env->locate;
	fd = open_object(dso);
	if (fd < 0)
		return;
	dso->file.build_id = locate__build_id(fd);
	load_object(dso);
	if (!strcmp(dso->path, "[vdso]"))
		dso->vdso_fd = fd;
	else
		close(fd);
	pr_debug("%s: %zu symbols from %s\n", dso->name, dso->symtab.nr, dso->file.path ?: "-");
}

const struct object_file *dso__file(struct dso *dso)
{
	dso__load(dso);
	return dso->file.path ? &dso->file : NULL;
}

static const struct segment *find_segment(const struct dso *dso, __u64 offset, bool exec)
{
	for (size_t i = 0; i < dso->nr_segments; i++) {
		const struct segment *seg = &dso->segments[i];
		__u64 end = seg->offset + seg->bytes + ~PAGE_MASK;

		if ((seg->exec || !exec) && seg->bytes && end > seg->offset &&
		    offset >= (seg->offset & PAGE_MASK) && offset < (end & PAGE_MASK))
			return seg;
	}
	return NULL;
}

__u64 dso__vaddr(struct dso *dso, __u64 offset)
{
	const struct segment *seg;

	dso__load(dso);
	seg = find_segment(dso, offset, true) ?: find_segment(dso, offset, false);
	/* a debug file has no segments' contents: most files are linked as they are laid out */
	return seg ? offset - seg->offset + seg->vaddr : offset + dso->base;
}

int dso_env__add_internal(struct dso_env *env, const char *path, const struct build_id *build_id,
			  const struct internal_range *range)
{
	return internals__add(env->internals, path, build_id, range);
}

const struct internal_range *dso__internal(struct dso *dso, __u64 offset)
{
	/* Its build-id is certain once it is loaded. */
	dso__load(dso);
	if (!dso->has_internals)
		dso->internals = internals__object(dso->env->internals, &dso->id);
	dso->has_internals = true;
	return internal_object__find(dso->internals, offset);
}

static void close_oldest_dwarf(struct dso_env *env, struct dso *opened)
{
	struct dso **slot = &env->open[env->next_open++ % MAX_OPEN_DWARF];

	if (*slot) {
		debuginfo__free((*slot)->dwarf);
		(*slot)->dwarf = NULL;
	}
	*slot = opened;
}

static struct debuginfo *get_dwarf(struct dso *dso)
{
	if (dso->dwarf || dso->no_dwarf || !dso->file.path)
		return dso->dwarf;
	if (debuginfo__new(&dso->file, &dso->dwarf))
		dso->no_dwarf = true;
	else
		close_oldest_dwarf(dso->env, dso);
	return dso->dwarf;
}

/* @raw as shown; lives as long as the machine. */
static const char *show_name(struct dso *dso, const char *raw)
{
	bool is_generated = !dso->file.path;	/* a JIT's names are as it wants them */
	char *demangled = dso->env->opts->demangle && !is_generated ? demangle__name(raw) : NULL;
	const char *shown = strpool__clean(dso->env->strings, demangled ?: raw);

	free(demangled);
	return shown;
}

static void fill_symbol(struct dso *dso, struct dso_addr *at)
{
	struct symbol *sym = symtab__find(&dso->symtab, at->addr);

	if (!sym)
		return;
	if (!sym->shown)
		sym->shown = show_name(dso, symtab__name(&dso->symtab, sym));
	at->sym = sym->shown;
	at->sym_start = sym->start;
}

static void fill_inlines(struct dso *dso, struct dso_addr *at)
{
	struct inlined_fn fns[DEBUGINFO_MAX_INLINES];
	struct debuginfo *dwarf = get_dwarf(dso);
	size_t nr = dwarf ? debuginfo__inlines(dwarf, at->addr, fns) : 0;

	if (!nr)
		return;
	at->inlines = calloc(nr, sizeof(*at->inlines));
	if (!at->inlines)
		return;
	at->nr_inlines = nr;
	for (size_t i = 0; i < nr; i++) {
		at->inlines[i].name = show_name(dso, *fns[i].name ? fns[i].name : "[inlined]");
		at->inlines[i].id = 1ULL << 63 | htab_hash_string(at->inlines[i].name ?: "");
	}
}

static struct dso_addr *remember(struct dso *dso, __u64 addr)
{
	struct dso_addr *at = calloc(1, sizeof(*at));
	void **slot;

	if (!at)
		return &dso->nothing;
	at->addr = addr;
	fill_symbol(dso, at);
	if (dso->env->opts->inlines)
		fill_inlines(dso, at);
	if (htab_elements(dso->addrs) >= MAX_ADDRS)
		htab_empty(dso->addrs);
	slot = htab_find_slot(dso->addrs, at, INSERT);
	if (!slot) {
		dso_addr__free(at);
		return &dso->nothing;
	}
	*slot = at;
	return at;
}

struct dso_addr *dso__at(struct dso *dso, __u64 addr)
{
	struct dso_addr key = { .addr = addr }, *at;

	dso__load(dso);
	if (!dso->file.path && !dso->symtab.nr)
		return &dso->nothing;
	if (!dso->addrs)
		dso->addrs = htab_create_alloc(127, hash_addr, equal_addr, dso_addr__free, calloc,
					       free);
	if (!dso->addrs)
		return &dso->nothing;
	at = htab_find(dso->addrs, &key);
	return at ?: remember(dso, addr);
}

static const char *show_line(struct dso *dso, const struct source_line *line)
{
	const char *shown;
	char *text;

	if (!line->file || asprintf(&text, "%s:%d", line->file, line->line) < 0)
		return NULL;
	shown = strpool__clean(dso->env->strings, text);
	free(text);
	return shown;
}

/*
 * The line table tells the innermost function's line; each further function's line is where it
 * calls the next one inwards.
 */
void dso__srclines(struct dso *dso, struct dso_addr *at)
{
	struct inlined_fn fns[DEBUGINFO_MAX_INLINES];
	struct source_line line;
	size_t nr;

	if (at->has_srclines || at == &dso->nothing || !get_dwarf(dso))
		return;
	at->has_srclines = true;
	line = debuginfo__line(dso->dwarf, at->addr);
	nr = at->nr_inlines ? debuginfo__inlines(dso->dwarf, at->addr, fns) : 0;
	for (size_t i = 0; i < nr && i < at->nr_inlines; i++) {
		at->inlines[i].srcline = show_line(dso, &line);
		line = fns[i].call;
	}
	at->srcline = show_line(dso, &line);
}
