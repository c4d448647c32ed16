// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dso.h"
#include "kallsyms.h"
#include "kernel.h"
#include "locate.h"
#include "machine.h"
#include "perfdata/reader.h"
#include "space.h"
#include "strpool.h"
#include "symtab.h"
#include "util/msg.h"
#include "vmlinux.h"

#define KERNEL_NAME	"[kernel.kallsyms]"
#define KALLSYMS	"/proc/kallsyms"
#define NR_CACHED	1024

struct cached {
	__u64 addr;
	struct symbol *sym;
};

/* Symbols from one place. */
struct kernel_symbols {
	bool loaded;
	struct symtab tab;
	__u64 delta;			/* recorded addresses less the table's (another boot) */
	struct cached cache[NR_CACHED];
};

struct kernel {
	const struct machine_opts *opts;
	struct dso_env *env;
	struct strpool *strings;
	struct space *space;
	struct dso *text;		/* NULL: the file has no map of the kernel */
	struct build_id build_id;
	char ref[64];			/* "_text": the map's pgoff is its address */
	__u64 ref_addr;
	struct kernel_symbols kallsyms, vmlinux;
	bool said;			/* why there are no names */
};

int kernel__new(const struct machine_opts *opts, struct dso_env *env, struct strpool *strings,
		struct space_pool *pool, struct kernel **ret)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->opts = opts;
	k->env = env;
	k->strings = strings;
	k->space = space__new(pool);
	if (!k->space) {
		free(k);
		return -ENOMEM;
	}
	*ret = k;
	return 0;
}

void kernel__free(struct kernel *k)
{
	if (!k)
		return;
	symtab__exit(&k->kallsyms.tab);
	symtab__exit(&k->vmlinux.tab);
	space__put(k->space);
	free(k);
}

/* "[kernel.kallsyms]_text" becomes "[kernel.kallsyms]"; the rest names the reference symbol. */
static void note_text(struct kernel *k, const struct pdmap *map)
{
	const char *ref = map->filename + strlen(KERNEL_NAME);

	snprintf(k->ref, sizeof(k->ref), "%s", *ref ? ref : "_text");
	k->ref_addr = map->pgoff ?: map->start;
	if (map->build_id_bytes > 0 && map->build_id_bytes <= BUILD_ID_MAX_BYTES) {
		memcpy(k->build_id.bits, map->build_id, map->build_id_bytes);
		k->build_id.bytes = map->build_id_bytes;
	}
}

int kernel__map(struct kernel *k, const struct pdmap *map)
{
	bool is_text = !strncmp(map->filename, KERNEL_NAME, strlen(KERNEL_NAME));
	struct object_id id = { .path = is_text ? KERNEL_NAME : map->filename };
	struct mapping m = { .start = map->start, .end = map->start + map->len };

	m.dso = dso_env__get(k->env, &id, true);
	if (!m.dso)
		return -ENOMEM;
	if (is_text && !k->text) {
		note_text(k, map);
		k->text = m.dso;
	}
	return space__map(&k->space, &m);
}

/* Build-id of the running kernel, from its notes. */
static struct build_id running_build_id(void)
{
	struct build_id id = {};
	char buf[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? 0 : read(fd, buf, sizeof(buf)), at = 0;
	Elf64_Nhdr note;

	if (fd >= 0)
		close(fd);
	while (bytes - at >= (ssize_t)sizeof(note)) {
		memcpy(&note, buf + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz > sizeof(buf) || note.n_descsz > sizeof(buf) ||
		    at + ((note.n_namesz + 3) & ~3U) + note.n_descsz > bytes)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(buf + at, "GNU", 4) && note.n_descsz <= BUILD_ID_MAX_BYTES) {
			memcpy(id.bits, buf + at + 4, note.n_descsz);
			id.bytes = note.n_descsz;
			break;
		}
		at += ((note.n_namesz + 3) & ~3U) + ((note.n_descsz + 3) & ~3U);
	}
	return id;
}

/* Once for a run: why, and what to do about it. */
static void say_unnamed(struct kernel *k, const char *what, const char *why)
{
	if (!k->said)
		pr_warning("%s stay unnamed: %s\n", what, why);
	k->said = true;
}

static const char *why_no_kallsyms(int err)
{
	switch (err) {
	case -EPERM:
		return "/proc/kallsyms has addresses of zero: report as root, set sysctl kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1, or give --kallsyms or --vmlinux";
	case -ENOENT:
		return "there is no /proc/kallsyms: give --kallsyms or --vmlinux";
	default:
		return strerror(-err);
	}
}

/* @is_same: The same build, so that an address tells how far another boot moved it. */
static const char *load_kallsyms(struct kernel *k, const char *path, bool is_same)
{
	struct kernel_symbols *ks = &k->kallsyms;
	__u64 ref_addr;
	int err = kallsyms__parse(path, k->ref, &ref_addr, &ks->tab);

	if (err)
		return why_no_kallsyms(err);
	ks->delta = k->ref_addr - ref_addr;
	if (!ks->delta || (is_same && ref_addr))
		return NULL;
	symtab__exit(&ks->tab);
	return "the recording is of another kernel, or of another boot: give its --kallsyms or --vmlinux";
}

/* The user says that it is the right one. Without a map in the recording nothing has moved. */
static void load_given_kallsyms(struct kernel *k)
{
	struct kernel_symbols *ks = &k->kallsyms;
	__u64 ref_addr;
	int err = kallsyms__parse(k->opts->kallsyms, k->ref, &ref_addr, &ks->tab);

	if (err == -EPERM)
		pr_warning("--kallsyms %s: all addresses are zero (read it as root)\n",
			   k->opts->kallsyms);
	else if (err)
		pr_warning("--kallsyms %s: %s\n", k->opts->kallsyms, err == -ENOENT &&
			   !access(k->opts->kallsyms, F_OK) ? "no symbols in it" : strerror(-err));
	else if (k->text && ref_addr)
		ks->delta = k->ref_addr - ref_addr;
}

/* Symbols of the recorded kernel, or the reason why there are none. */
static const char *load_matching(struct kernel *k)
{
	struct build_id running = running_build_id();
	const char *why;
	char *path;

	/* a folder for files of another system, as in perf */
	if (k->opts->symfs && k->opts->symfs[0])
		return "with --symfs only --kallsyms and --vmlinux name them";
	if (!k->text)
		return "the recorder did not see the addresses of the kernel (kernel.kptr_restrict): record as root, or give --kallsyms";
	if (!running.bytes || !k->build_id.bytes)
		return load_kallsyms(k, KALLSYMS, false);
	if (build_id__equal(&running, &k->build_id))
		return load_kallsyms(k, KALLSYMS, true);
	path = locate__cached(&k->build_id, "kallsyms");
	if (path && !access(path, R_OK))
		why = load_kallsyms(k, path, true);
	else
		why = "the recording is of another kernel than the running one: give its --kallsyms or --vmlinux";
	free(path);
	return why;
}

static struct kernel_symbols *get_kallsyms(struct kernel *k)
{
	struct kernel_symbols *ks = &k->kallsyms;
	const char *why = NULL;

	if (ks->loaded)
		return ks;
	ks->loaded = true;
	if (k->opts->kallsyms)
		load_given_kallsyms(k);
	else
		why = load_matching(k);
	if (why)
		say_unnamed(k, k->vmlinux.tab.nr ? "functions of modules" : "kernel functions", why);
	pr_debug("kernel: %zu symbols\n", ks->tab.nr);
	return ks;
}

static const char *why_no_vmlinux(int err)
{
	switch (err) {
	case -ESTALE:
		return "not the recorded kernel's (other build-id)";
	case -ENOEXEC:
		return "no ELF file";
	case -ENODATA:
		return "no symbols in it";
	default:
		return strerror(-err);
	}
}

static struct kernel_symbols *get_vmlinux(struct kernel *k)
{
	struct kernel_symbols *ks = &k->vmlinux;
	__u64 ref_addr;
	int err;

	if (ks->loaded || !k->opts->vmlinux)
		return ks;
	ks->loaded = true;
	err = vmlinux__load(dso_env__locate(k->env), k->opts->vmlinux, &k->build_id, k->ref,
			    &ref_addr, &ks->tab);
	if (err)
		pr_warning("--vmlinux %s: %s\n", k->opts->vmlinux, why_no_vmlinux(err));
	else if (k->text && ref_addr)
		ks->delta = k->ref_addr - ref_addr;
	pr_debug("vmlinux: %zu symbols\n", ks->tab.nr);
	return ks;
}

static struct symbol *find_in(struct kernel_symbols *ks, __u64 addr)
{
	struct cached *c = &ks->cache[(addr * 0x9e3779b97f4a7c15ULL) >> 54];

	if (c->addr != addr) {
		c->addr = addr;
		c->sym = symtab__find(&ks->tab, addr - ks->delta);
	}
	return c->sym;
}

/*
 * Where in the kernel @addr is. Other boots move modules about; only the kernel proper moves as a
 * whole.
 */
static struct symbol *find_symbol(struct kernel *k, const struct dso *dso, __u64 addr,
				  struct kernel_symbols **from)
{
	bool proper = dso == k->text;

	*from = get_vmlinux(k);
	if (proper && (*from)->tab.nr)
		return find_in(*from, addr);
	*from = get_kallsyms(k);
	return (*from)->delta && !proper ? NULL : find_in(*from, addr);
}

void kernel__name(struct kernel *k, __u64 addr, struct frame *frame)
{
	const struct mapping *map = space__find(k->space, addr);
	struct kernel_symbols *from;
	struct symbol *sym = find_symbol(k, map ? map->dso : NULL, addr, &from);
	const char *module = sym ? symtab__module(&from->tab, sym) : NULL;

	frame->kernel = true;
	frame->rel_ip = frame->ip;
	if (map)
		frame->dso = dso__name(map->dso);
	else if (sym)		/* outside all maps: BPF programs, modules loaded since */
		frame->dso = module ? strpool__clean(k->strings, module) : KERNEL_NAME;
	if (!sym)
		return;
	if (!sym->shown)
		sym->shown = strpool__clean(k->strings, symtab__name(&from->tab, sym));
	frame->sym = sym->shown;
	frame->sym_start = sym->start + from->delta;
}
