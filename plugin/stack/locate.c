// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>
#include <elfutils/libdwelf.h>

#include "debuginfod.h"
#include "locate.h"

#define DELETED		" (deleted)"
#define DEBUG_ROOT	"/usr/lib/debug"

int locate__open(const char *path)
{
	struct stat st;
	int fd;

	/* Look before opening: opening a device may act, opening a pipe may wait. */
	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

struct build_id locate__build_id(int fd)
{
	struct build_id id = {};
	const void *bits;
	ssize_t bytes;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return id;
	bytes = dwelf_elf_gnu_build_id(elf, &bits);
	if (bytes > 0 && bytes <= BUILD_ID_MAX_BYTES) {
		memcpy(id.bits, bits, bytes);
		id.bytes = bytes;
	}
	elf_end(elf);
	return id;
}

bool build_id__equal(const struct build_id *a, const struct build_id *b)
{
	return a->bytes && a->bytes == b->bytes && !memcmp(a->bits, b->bits, a->bytes);
}

void build_id__hex(const struct build_id *id, char *hex)
{
	hex[0] = '\0';
	for (int i = 0; i < id->bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bits[i]);
}

/* PREFIX/.build-id/ab/cdef...SUFFIX */
static char *build_id_path(const char *prefix, const struct build_id *id, const char *suffix)
{
	char hex[BUILD_ID_HEX_BYTES], *path;

	if (id->bytes < 2)
		return NULL;
	build_id__hex(id, hex);
	if (asprintf(&path, "%s/.build-id/%.2s/%s%s", prefix, hex, hex + 2, suffix) < 0)
		return NULL;
	return path;
}

char *locate__cached(const struct build_id *build_id, const char *name)
{
	const char *home = getenv("HOME");
	char prefix[PATH_MAX], suffix[32];

	if (!home)
		return NULL;
	snprintf(prefix, sizeof(prefix), "%s/.debug", home);
	snprintf(suffix, sizeof(suffix), "/%s", name);
	return build_id_path(prefix, build_id, suffix);
}

/* Give back what an opener handed out. */
static int reject(int fd, char **file, int err)
{
	close(fd);
	free(*file);
	*file = NULL;
	return err;
}

/*
 * Open @path, which it frees or hands out, if it carries @build_id (any file, when there is none).
 */
static int open_matching(char *path, const struct build_id *build_id, char **file)
{
	int fd = path ? locate__open(path) : -ENOENT;

	if (fd >= 0 && build_id->bytes) {
		struct build_id found = locate__build_id(fd);

		if (!build_id__equal(&found, build_id)) {
			close(fd);
			fd = -ESTALE;
		}
	}
	if (fd >= 0)
		*file = path;
	else
		free(path);
	return fd;
}

static bool is_same_file(int fd, const struct object_id *id)
{
	struct stat st;

	return id->ino && !fstat(fd, &st) && st.st_ino == id->ino &&
	       major(st.st_dev) == id->maj && minor(st.st_dev) == id->min;
}

/* Through the process itself: another mount namespace, or a file that has lost its name. */
static int open_of_process(const struct object_id *id, char *path, char **file)
{
	int fd = open_matching(path, &id->build_id, file);

	if (fd >= 0 && !id->build_id.bytes && !is_same_file(fd, id))
		return reject(fd, file, -ESTALE);
	return fd;
}

static char *path_of_process(const struct object_id *id, bool deleted)
{
	char *path = NULL;
	int rc;

	if (!id->pid || id->pid > INT_MAX)
		return NULL;
	if (deleted)
		rc = asprintf(&path, "/proc/%u/map_files/%llx-%llx", id->pid, id->start, id->end);
	else
		rc = asprintf(&path, "/proc/%u/root%s", id->pid, id->path);
	return rc < 0 ? NULL : path;
}

static bool is_deleted(const char *path)
{
	size_t chars = strlen(path), suffix_chars = strlen(DELETED);

	return chars > suffix_chars && !strcmp(path + chars - suffix_chars, DELETED);
}

/* By its own name. A deleted file's name helps only where a build-id says that it is the same. */
static int open_by_path(const struct locate_env *env, const struct object_id *id, bool deleted,
			char **file)
{
	char *path;
	int fd;

	if ((deleted && !id->build_id.bytes) || asprintf(&path, "%s%s", env->symfs, id->path) < 0)
		return -ENOENT;
	if (deleted)
		path[strlen(path) - strlen(DELETED)] = '\0';
	fd = open_matching(path, &id->build_id, file);
	if (env->symfs[0])
		return fd;
	if (fd >= 0 && !id->build_id.bytes && !is_same_file(fd, id)) {
		char *other = NULL;
		int fd_other = open_of_process(id, path_of_process(id, false), &other);

		if (fd_other >= 0) {
			close(fd);
			free(*file);
			*file = other;
			fd = fd_other;
		}
	}
	return fd;
}

/* From a server: no file here has the build-id. */
static int open_fetched(const struct locate_env *env, const struct build_id *build_id,
			enum debuginfod_kind kind, const char *name, char **file)
{
	if (!env->debuginfod || !build_id->bytes)
		return -ENOENT;
	return open_matching(debuginfod__fetch(env->debuginfod, build_id, kind, name), build_id,
			     file);
}

static bool has_crc(int fd, __u32 want)
{
	unsigned char buf[64 * 1024];
	uLong crc = crc32(0, NULL, 0);
	ssize_t bytes;
	off_t at = 0;

	while ((bytes = pread(fd, buf, sizeof(buf), at)) > 0) {
		crc = crc32(crc, buf, bytes);
		at += bytes;
	}
	return !bytes && crc == want;
}

static int open_linked(char *path, const char *object, const struct build_id *build_id,
		       __u32 crc, char **file)
{
	int fd = open_matching(path, build_id, file);
	struct stat st, st_object;

	if (fd < 0)
		return fd;
	/* a file may name itself */
	if (!fstat(fd, &st) && !stat(object, &st_object) && st.st_ino == st_object.st_ino &&
	    st.st_dev == st_object.st_dev)
		return reject(fd, file, -ENOENT);
	if (!build_id->bytes && !has_crc(fd, crc))
		return reject(fd, file, -ENOENT);
	return fd;
}

/* Where gdb looks: beside the object, in .debug beside it, below /usr/lib/debug. */
static int open_debuglink(const char *symfs, const char *object, const struct build_id *build_id,
			  const char *link, __u32 crc, char **file)
{
	static const char *const formats[] = {
		"%s%s/%s", "%s%s/.debug/%s", "%s" DEBUG_ROOT "%s/%s",
	};
	size_t symfs_chars = strlen(symfs);
	const char *recorded = strncmp(object, symfs, symfs_chars) ? object : object + symfs_chars;
	const char *slash = strrchr(recorded, '/');
	char *dir = slash ? strndup(recorded, slash - recorded) : NULL, *path;
	int fd = -ENOENT;

	/* the name is a name: never out of these folders */
	if (!dir || !*link || strchr(link, '/') || !strcmp(link, "..")) {
		free(dir);
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]) && fd < 0; i++) {
		if (asprintf(&path, formats[i], symfs, dir, link) >= 0)
			fd = open_linked(path, object, build_id, crc, file);
	}
	free(dir);
	return fd;
}

static int open_local_debug(const struct locate_env *env, const char *object,
			    const struct build_id *build_id, const char *link, __u32 crc,
			    char **file)
{
	char root[PATH_MAX];
	int fd = -ENOENT;

	if (build_id->bytes) {
		snprintf(root, sizeof(root), "%s" DEBUG_ROOT, env->symfs);
		fd = open_matching(build_id_path(root, build_id, ".debug"), build_id, file);
		if (fd < 0)
			fd = open_matching(locate__cached(build_id, "debug"), build_id, file);
	}
	if (fd < 0 && link)
		fd = open_debuglink(env->symfs, object, build_id, link, crc, file);
	return fd;
}

int locate__object(const struct locate_env *env, const struct object_id *id, char **file)
{
	bool deleted = is_deleted(id->path), stale;
	int fd;

	/* "//anon", "[heap]", "/memfd:x": no files */
	if (id->path[0] != '/' || id->path[1] == '/')
		return -ENOENT;
	fd = open_by_path(env, id, deleted, file);
	stale = fd == -ESTALE;
	if (fd < 0 && !env->symfs[0])
		fd = open_of_process(id, path_of_process(id, deleted), file);
	if (fd < 0 && id->build_id.bytes)
		fd = open_matching(locate__cached(&id->build_id, "elf"), &id->build_id, file);
	if (fd < 0 && id->build_id.bytes)
		fd = open_local_debug(env, id->path, &id->build_id, NULL, 0, file);
	if (fd < 0)
		fd = open_fetched(env, &id->build_id, DEBUGINFOD_EXECUTABLE, id->path, file);
	if (fd < 0)
		fd = open_fetched(env, &id->build_id, DEBUGINFOD_DEBUGINFO, id->path, file);
	return fd < 0 && stale ? -ESTALE : fd;
}

int locate__debug(const struct locate_env *env, const char *object,
		  const struct build_id *build_id, const char *link, __u32 crc, char **file)
{
	int fd = open_local_debug(env, object, build_id, link, crc, file);

	if (fd < 0)
		fd = open_fetched(env, build_id, DEBUGINFOD_DEBUGINFO, object, file);
	return fd < 0 ? -ENOENT : fd;
}
