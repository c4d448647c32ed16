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

#define KERNEL_NAME	"[kernel.kallsyms]"
#define KALLSYMS	"/proc/kallsyms"
#define NR_CACHED	1024

struct cached {
	__u64 addr;
	struct symbol *sym;
};

struct kernel {
	struct dso_env *env;
	struct strpool *strings;
	struct space *space;
	struct dso *text;		/* NULL: the file has no map of the kernel */
	struct build_id build_id;
	char ref[64];			/* "_text": the map's pgoff is its address */
	__u64 ref_addr;
	bool loaded;
	struct symtab symtab;
	__u64 delta;			/* recorded address less kallsyms' (another boot) */
	struct cached cache[NR_CACHED];
};

int kernel__new(struct dso_env *env, struct strpool *strings, struct space_pool *pool,
		struct kernel **ret)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
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
	symtab__exit(&k->symtab);
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

static const char *load_kallsyms(struct kernel *k, const char *path, bool is_same)
{
	__u64 ref_addr;
	int err = kallsyms__parse(path, k->ref, &ref_addr, &k->symtab);

	if (err == -EPERM)
		return "the kernel hides its addresses (sysctl kernel.kptr_restrict)";
	if (err)
		return "there is no readable " KALLSYMS;
	k->delta = k->ref_addr - ref_addr;
	if (!k->delta || (is_same && ref_addr))
		return NULL;
	symtab__exit(&k->symtab);
	return "the recording is of another kernel, or of another boot";
}

/* Symbols of the recorded kernel, or the reason why there are none. */
static const char *load_matching(struct kernel *k)
{
	struct build_id running = running_build_id();
	const char *why;
	char *path;

	if (!running.bytes || !k->build_id.bytes)
		return load_kallsyms(k, KALLSYMS, false);
	if (running.bytes == k->build_id.bytes &&
	    !memcmp(running.bits, k->build_id.bits, running.bytes))
		return load_kallsyms(k, KALLSYMS, true);
	path = locate__cached(&k->build_id, "kallsyms");
	if (path && !access(path, R_OK))
		why = load_kallsyms(k, path, true);
	else
		why = "the recording is of another kernel than the running one";
	free(path);
	return why;
}

static void load_symbols(struct kernel *k)
{
	const char *why;

	k->loaded = true;
	why = load_matching(k);
	if (why)
		pr_warning("kernel functions stay unnamed: %s\n", why);
	pr_debug("kernel: %zu symbols\n", k->symtab.nr);
}

/* Other boots move modules about; only the kernel proper moves as a whole. */
static struct symbol *find_symbol(struct kernel *k, const struct dso *dso, __u64 addr)
{
	struct cached *c = &k->cache[(addr * 0x9e3779b97f4a7c15ULL) >> 54];

	if (!k->loaded && k->text)
		load_symbols(k);
	if (k->delta && dso != k->text)
		return NULL;
	if (c->addr != addr) {
		c->addr = addr;
		c->sym = symtab__find(&k->symtab, addr - k->delta);
	}
	return c->sym;
}

void kernel__name(struct kernel *k, __u64 addr, struct frame *frame)
{
	const struct mapping *map = space__find(k->space, addr);
	struct symbol *sym = find_symbol(k, map ? map->dso : NULL, addr);
	const char *module = sym ? symtab__module(&k->symtab, sym) : NULL;

	frame->kernel = true;
	frame->rel_ip = frame->ip;
	if (map)
		frame->dso = dso__name(map->dso);
	else if (sym)		/* outside all maps: BPF programs, modules loaded since */
		frame->dso = module ? strpool__clean(k->strings, module) : KERNEL_NAME;
	if (!sym)
		return;
	if (!sym->shown)
		sym->shown = strpool__clean(k->strings, symtab__name(&k->symtab, sym));
	frame->sym = sym->shown;
	frame->sym_start = sym->start + k->delta;
}
