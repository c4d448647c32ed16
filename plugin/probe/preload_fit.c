// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf_file.h"
#include "families.h"
#include "preload_fit.h"
#include "target/command.h"

#define SETGID_MODE	(S_ISGID | S_IXGRP)	/* without x it means something else */

/*
 * As the kernel sets AT_SECURE (security/commoncap.c): when the ids change, or capabilities come from
 * the file, which root has anyway.
 */
static bool is_privileged(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	return ((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	       ((st.st_mode & SETGID_MODE) == SETGID_MODE && st.st_gid != getgid()) ||
	       (getuid() && getxattr(path, "security.capability", NULL, 0) >= 0);
}

static bool is_glibc_loader(const char *path)
{
	struct elf_file *file;
	bool found;

	if (elf_file__open(path, &file))
		return false;
	found = family__is_loader(elf_file__soname(file));
	elf_file__close(file);
	return found;
}

/* Those that replace malloc. */
static const char *const sanitizers[] = { "asan", "hwasan", "lsan", "msan", "tsan" };

#define NR_SANITIZERS	(sizeof(sanitizers) / sizeof(sanitizers[0]))

static const char *skip(const char *text, const char *prefix)
{
	size_t nr_chars = strlen(prefix);

	return strncmp(text, prefix, nr_chars) ? NULL : text + nr_chars;
}

/* gcc's libasan.so.8, clang's libclang_rt.asan-x86_64.so. */
static bool is_sanitizer_library(const char *soname)
{
	const char *name = skip(soname, "libclang_rt.") ?: skip(soname, "lib");

	for (size_t i = 0; name && i < NR_SANITIZERS; i++) {
		const char *rest = skip(name, sanitizers[i]);

		if (rest && strchr(".-", *rest))
			return true;
	}
	return false;
}

static bool needs_sanitizer(const struct elf_file *file)
{
	const char *needed;

	for (size_t i = 0; (needed = elf_file__needed(file, i)); i++) {
		if (is_sanitizer_library(needed))
			return true;
	}
	return false;
}

/* "__asan_init", in a program that has the runtime linked in. */
static bool is_sanitizer_init(const char *symbol)
{
	const char *name = skip(symbol, "__");

	for (size_t i = 0; name && i < NR_SANITIZERS; i++) {
		const char *rest = skip(name, sanitizers[i]);

		if (rest && !strcmp(rest, "_init"))
			return true;
	}
	return false;
}

struct defined {
	bool malloc, sanitizer;
};

static int note_function(void *ctx, const struct elf_function *fn)
{
	struct defined *defined = ctx;

	defined->malloc |= fn->is_exported && !strcmp(fn->name, "malloc");
	defined->sanitizer |= !fn->is_local && is_sanitizer_init(fn->name);
	return 0;
}

static enum preload_fit judge_file(const struct elf_file *file)
{
	struct defined defined = {};
	char loader[PATH_MAX];

	if (!elf_file__loader(file, loader, sizeof(loader)))
		return PRELOAD_STATIC;
	if (!is_glibc_loader(loader))
		return PRELOAD_LOADER;
	elf_file__each_function(file, note_function, &defined);
	if (defined.sanitizer || needs_sanitizer(file))
		return PRELOAD_SANITIZER;
	return defined.malloc ? PRELOAD_OWN_MALLOC : PRELOAD_FITS;
}

static int judge_program(const char *path, enum preload_fit *ret)
{
	struct elf_file *file;
	int err;

	/* First: many of these may not be read. */
	if (is_privileged(path)) {
		*ret = PRELOAD_PRIVILEGED;
		return 0;
	}
	err = elf_file__open(path, &file);
	if (err == -ENOEXEC) {
		*ret = PRELOAD_ARCH;
		return 0;
	}
	if (err)
		return err;
	*ret = judge_file(file);
	elf_file__close(file);
	return 0;
}

int preload__judge(char *const *argv, enum preload_fit *ret)
{
	char *path;
	int err = command__program(argv[0], &path);

	if (err)
		return err;
	err = judge_program(path, ret);
	free(path);
	return err;
}

const char *preload_fit__text(enum preload_fit fit)
{
	static const char *const texts[] = {
		[PRELOAD_STATIC] = "statically linked: there is no loader to preload into it",
		[PRELOAD_PRIVILEGED] = "set-user-ID, set-group-ID or with file capabilities: the loader preloads nothing into it",
		[PRELOAD_LOADER] = "not loaded by glibc's dynamic loader: the preload library needs that",
		[PRELOAD_ARCH] = "not an x86-64 program: the preload library cannot be loaded into it",
		[PRELOAD_OWN_MALLOC] = "defines malloc itself: the preload library's would not be called",
		[PRELOAD_SANITIZER] = "has a sanitizer's malloc, which nothing may come before",
	};

	return texts[fit];
}
