// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's text and its modules, named as perf record names them. There is no mapping to
 * copy: perf takes "[kernel.kallsyms]_text" for the kernel, loaded so that _text is at pgoff.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "synth.h"

#include "synth_record.h"
#include "util/msg.h"

#define MODULE_NAME_BYTES	64	/* MODULE_NAME_LEN of 64-bit kernels */

struct module {
	char name[MODULE_NAME_BYTES];
	__u64 start, bytes;
	char *path;		/* NULL: not known */
};

struct modules {
	struct module *all;
	size_t nr;
};

/* The build-id in a run of ELF notes, as /sys/kernel/notes holds them. */
static void find_build_id_note(const char *notes, size_t bytes, struct build_id *ret)
{
	size_t off = 0, name, desc;
	Elf64_Nhdr note;

	while (off <= bytes && bytes - off >= sizeof(note)) {
		memcpy(&note, notes + off, sizeof(note));
		name = off + sizeof(note);
		desc = name + ((note.n_namesz + 3ULL) & ~3ULL);
		if (desc > bytes || note.n_descsz > bytes - desc)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz <= BUILD_ID_MAX_BYTES) {
			ret->bytes = note.n_descsz;
			memcpy(ret->bits, notes + desc, note.n_descsz);
			return;
		}
		off = desc + ((note.n_descsz + 3ULL) & ~3ULL);
	}
}

static struct build_id read_notes(const char *path)
{
	struct build_id id = {};
	char notes[8192];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return id;
	n = read(fd, notes, sizeof(notes));
	close(fd);
	if (n > 0)
		find_build_id_note(notes, n, &id);
	return id;
}

/* perf leaves protection and flags 0, and so the lines of perf script --show-mmap-events agree. */
static int write_map(struct pdwriter *w, __u64 start, __u64 bytes, __u64 pgoff, const char *name,
		     const char *notes)
{
	struct synth_mmap2 m = {
		.header = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_KERNEL },
		.pid = -1, .start = start, .len = bytes, .pgoff = pgoff,
	};
	struct build_id id = read_notes(notes);

	synth_mmap2__set_build_id(&m, &id);
	return synth_record__write(w, &m.header, sizeof(m), name, -1, 0);
}

/* _text and _etext of /proc/kallsyms; zeros where kptr_restrict hides addresses. */
static void find_text(__u64 *start, __u64 *end)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char *line = NULL, name[64];
	unsigned long long addr;
	size_t room = 0;

	*start = *end = 0;
	if (!file)
		return;
	while ((!*start || !*end) && getline(&line, &room, file) > 0) {
		if (sscanf(line, "%llx %*c %63s", &addr, name) != 2)
			continue;
		if (!addr)
			break;
		if (!strcmp(name, "_text"))
			*start = addr;
		else if (!strcmp(name, "_etext"))
			*end = addr;
	}
	free(line);
	fclose(file);
}

static int add_module(struct modules *m, const char *name, __u64 start, __u64 bytes)
{
	struct module *grown = reallocarray(m->all, m->nr + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	m->all = grown;
	grown[m->nr] = (struct module){ .start = start, .bytes = bytes };
	snprintf(grown[m->nr].name, sizeof(grown->name), "%s", name);
	m->nr++;
	return 0;
}

/* "name size refs users state 0xaddress" */
static int read_modules(struct modules *m, const char *root)
{
	unsigned long long bytes, start;
	char path[PATH_MAX], name[MODULE_NAME_BYTES], *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0;

	snprintf(path, sizeof(path), "%s/proc/modules", root);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!err && getline(&line, &room, file) > 0) {
		if (sscanf(line, "%63s %llu %*s %*s %*s 0x%llx", name, &bytes, &start) == 3 && start)
			err = add_module(m, name, start, bytes);
	}
	free(line);
	fclose(file);
	return err;
}

/* Files may say foo-bar.ko.xz where the kernel says foo_bar. */
static bool is_file_of(const char *path, const char *name)
{
	const char *file = strrchr(path, '/');

	file = file ? file + 1 : path;
	for (; *name; name++, file++) {
		if (*name != *file && !(*name == '_' && *file == '-'))
			return false;
	}
	return !strncmp(file, ".ko", 3);
}

static int name_by_file(struct modules *m, const char *dir, const char *path)
{
	size_t i;

	for (i = 0; i < m->nr; i++) {
		if (m->all[i].path || !is_file_of(path, m->all[i].name))
			continue;
		if (asprintf(&m->all[i].path, "%s%s%s", path[0] == '/' ? "" : dir,
			     path[0] == '/' ? "" : "/", path) < 0) {
			m->all[i].path = NULL;
			return -ENOMEM;
		}
		return 0;
	}
	return 0;
}

/* Lines of modules.dep: "kernel/fs/foo.ko.xz: what it needs" */
static int find_files(struct modules *m, const char *root, const char *release)
{
	char dir[PATH_MAX / 2], path[PATH_MAX], *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0;

	snprintf(dir, sizeof(dir), "/lib/modules/%s", release);
	snprintf(path, sizeof(path), "%s%s/modules.dep", root, dir);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!err && getline(&line, &room, file) > 0) {
		line[strcspn(line, ":\n")] = '\0';
		err = name_by_file(m, dir, line);
	}
	free(line);
	fclose(file);
	return err;
}

static int write_module(struct pdwriter *w, const char *root, const struct module *m)
{
	char notes[PATH_MAX], shown[MODULE_NAME_BYTES + 2];

	snprintf(notes, sizeof(notes), "%s/sys/module/%s/notes/.note.gnu.build-id", root, m->name);
	snprintf(shown, sizeof(shown), "[%s]", m->name);
	return write_map(w, m->start, m->bytes, 0, m->path ?: shown, notes);
}

int synth__modules(struct pdwriter *w, const char *root, const char *release)
{
	struct modules m = {};
	size_t i;
	int err;

	err = read_modules(&m, root) ?: find_files(&m, root, release);
	for (i = 0; i < m.nr; i++) {
		if (!err)
			err = write_module(w, root, &m.all[i]);
		free(m.all[i].path);
	}
	free(m.all);
	return err;
}

int synth__kernel(struct pdwriter *w)
{
	struct utsname uts;
	__u64 start, end;

	find_text(&start, &end);
	if (!start || end <= start) {
		pr_info("Kernel addresses are hidden (kernel.kptr_restrict): kernel samples will have no symbols.\n");
		return 0;
	}
	if (uname(&uts))
		return -errno;
	return write_map(w, start, end - start, start, "[kernel.kallsyms]_text",
			 "/sys/kernel/notes") ?:
	       synth__modules(w, "", uts.release);
}
