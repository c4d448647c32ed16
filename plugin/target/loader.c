// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "capture.h"
#include "images.h"
#include "loader.h"

#define TIMEOUT_MS	5000

/**
 * struct program - An executable, open.
 * @loader: Its PT_INTERP; "" for a static one.
 */
struct program {
	int fd;
	Elf *elf;
	char loader[PATH_MAX];
};

static bool is_x86_64_elf(Elf *elf)
{
	GElf_Ehdr ehdr;

	return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr) &&
	       ehdr.e_ident[EI_CLASS] == ELFCLASS64 && ehdr.e_machine == EM_X86_64;
}

static void read_loader(struct program *program)
{
	size_t nr_phdrs = 0;
	GElf_Phdr phdr;

	elf_getphdrnum(program->elf, &nr_phdrs);
	for (size_t i = 0; i < nr_phdrs; i++) {
		if (!gelf_getphdr(program->elf, i, &phdr) || phdr.p_type != PT_INTERP)
			continue;
		if (phdr.p_filesz < sizeof(program->loader) &&
		    pread(program->fd, program->loader, phdr.p_filesz, phdr.p_offset) < 0)
			program->loader[0] = '\0';
		return;
	}
}

static void program__exit(struct program *program)
{
	elf_end(program->elf);
	close(program->fd);
}

static int program__init(struct program *program, const char *path)
{
	memset(program, 0, sizeof(*program));
	program->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (program->fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	program->elf = elf_begin(program->fd, ELF_C_READ, NULL);
	if (!is_x86_64_elf(program->elf)) {
		program__exit(program);
		return -ENOEXEC;
	}
	read_loader(program);
	return 0;
}

/* Would the kernel give it rights that we lend it unchecked when we run it through its loader? */
static bool is_privileged(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || (st.st_mode & (S_ISUID | S_ISGID)) ||
	       fgetxattr(fd, "security.capability", NULL, 0) >= 0;
}

/* "ld-linux-x86-64.so.2", "ld-musl-x86_64.so.1": what else a file names may not know --list. */
static bool is_known_loader(const char *loader)
{
	return !strncmp(basename(loader), "ld-", 3);
}

char *loader__parse_line(char *line)
{
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line + strspn(line, "\t ");
	char *address = NULL, *next = path;

	/* The last one: a path may hold the like. */
	while ((next = strstr(next, " (0x")))
		address = next++;
	if (!address)
		return NULL;
	*address = '\0';
	return strchr(path, '/') ? path : NULL;
}

static int add_listed(struct image_list *list, char *text)
{
	char *line;
	int err;

	while ((line = strsep(&text, "\n"))) {
		char *path = loader__parse_line(line);

		err = path ? image_list__add_file(list, path) : 0;
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

/* Return: 1 when the loader did not tell. */
static int ask_loader(struct image_list *list, const struct program *program, const char *path)
{
	const char *argv[] = { program->loader, "--list", path, NULL };
	char *text;
	int err;

	if (is_privileged(program->fd) || !is_known_loader(program->loader))
		return 1;
	err = capture__run(argv, TIMEOUT_MS, &text);
	if (err)
		return err == -ENOMEM ? err : 1;
	err = add_listed(list, text);
	free(text);
	return err;
}

static bool find_in_usual_folders(const char *name, char *ret, size_t nr_bytes)
{
	static const char * const folders[] = {
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
		"/lib64", "/usr/lib64", "/lib", "/usr/lib",
	};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(ret, nr_bytes, "%s/%s", folders[i], name);
		if (!access(ret, R_OK))
			return true;
	}
	return false;
}

/* The library of that name that this program itself runs with: the loader's own choice. */
static bool find_in_own_images(const char *name, char *ret, size_t nr_bytes)
{
	struct process_image *images;
	bool found = false;
	size_t nr_images;

	if (process__images(getpid(), &images, &nr_images))
		return false;
	for (size_t i = 0; i < nr_images && !found; i++) {
		found = !images[i].deleted && !strcmp(basename(images[i].path), name);
		if (found)
			snprintf(ret, nr_bytes, "%s", images[i].open_path);
	}
	process_images__free(images, nr_images);
	return found;
}

static int add_library(struct image_list *list, const char *name)
{
	char path[PATH_MAX];
	int err;

	if (strchr(name, '/'))
		snprintf(path, sizeof(path), "%s", name);
	else if (!find_in_own_images(name, path, sizeof(path)) &&
		 !find_in_usual_folders(name, path, sizeof(path)))
		return 0;
	err = image_list__add_file(list, path);
	return err == -ENOMEM ? err : 0;
}

static Elf_Data *find_dynamic(Elf *elf, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, shdr) && shdr->sh_type == SHT_DYNAMIC)
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static int add_needed(struct image_list *list, const struct program *program)
{
	GElf_Shdr shdr;
	GElf_Dyn dyn;
	Elf_Data *data = find_dynamic(program->elf, &shdr);
	int err = 0;

	for (int i = 0; !err && data && gelf_getdyn(data, i, &dyn); i++) {
		const char *name = NULL;

		if (dyn.d_tag == DT_NEEDED)
			name = elf_strptr(program->elf, shdr.sh_link, dyn.d_un.d_val);
		if (name)
			err = add_library(list, name);
	}
	return err;
}

static int add_dynamic(struct image_list *list, const struct program *program, const char *path)
{
	int err = image_list__add_file(list, program->loader);

	if (err == -ENOMEM || err == -ENOENT)
		return err;
	err = ask_loader(list, program, path);
	/* A library may need libc where the program itself does not. */
	return err == 1 ? add_needed(list, program) ?: add_library(list, "libc.so.6") : err;
}

int loader__add_images(struct image_list *list, const char *path)
{
	struct program program;
	int err = program__init(&program, path);

	if (err)
		return err;
	err = image_list__add_file(list, path);
	if (!err && program.loader[0])
		err = add_dynamic(list, &program, path);
	program__exit(&program);
	return err;
}
