/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * locate.h - find the file that was mapped, and the one that holds its debug information.
 *
 * A path in a recording may name another file by now, a device, a pipe, or nothing. Only regular
 * files are opened, and where the recording tells a build-id, only those that carry it.
 */
#ifndef PERF_CHURN_STACK_LOCATE_H
#define PERF_CHURN_STACK_LOCATE_H

#include <stdbool.h>
#include <linux/types.h>

struct debuginfod;

#define BUILD_ID_MAX_BYTES	20
#define BUILD_ID_HEX_BYTES	(2 * BUILD_ID_MAX_BYTES + 1)

struct build_id {
	__u8 bits[BUILD_ID_MAX_BYTES];
	int bytes;			/* 0: unknown */
};

/**
 * struct object_id - What a mapping record says about its file.
 * @path: As recorded.
 * @pid: A process that mapped it; its own view of the path is tried, too, while it lives.
 * @start, @end: The mapping, for /proc/PID/map_files of a deleted file.
 * @maj, @min, @ino: 0 when not recorded.
 */
struct object_id {
	const char *path;
	struct build_id build_id;
	__u32 pid;
	__u64 start, end;
	__u32 maj, min;
	__u64 ino;
};

/**
 * struct locate_env - Where to look.
 * @symfs: Folder that recorded paths and /usr/lib/debug are below, without a slash at its end;
 *	"": this system's own root.
 * @debuginfod: Asked last; NULL: nothing is fetched from a network.
 */
struct locate_env {
	const char *symfs;
	struct debuginfod *debuginfod;
};

/* This system, and no network. */
#define LOCATE_HERE	(&(const struct locate_env){ .symfs = "" })

/**
 * locate__object() - Open the object.
 * @file: A path that opens it again; the caller frees it.
 *
 * Return: A descriptor, the caller's to close; -ESTALE when only files with another build-id are
 * left; -ENOENT. Prints nothing.
 */
int locate__object(const struct locate_env *env, const struct object_id *id, char **file);

/**
 * locate__debug() - Open the file with the symbols and DWARF of an object.
 * @object: Path of the object's file.
 * @build_id: Of the object; 0 bytes: it has none.
 * @link: Name from .gnu_debuglink, or NULL.
 * @crc: Checksum from .gnu_debuglink.
 * @file: Its path; the caller frees it.
 *
 * It must carry the object's build-id; where the object has none, the link's checksum decides.
 *
 * Return: A descriptor, the caller's to close, or -ENOENT. Prints nothing.
 */
int locate__debug(const struct locate_env *env, const char *object,
		  const struct build_id *build_id, const char *link, __u32 crc, char **file);

/** build_id__equal() - Both are known, and they are the same. */
bool build_id__equal(const struct build_id *a, const struct build_id *b);

/** build_id__hex() - As text. @hex: Room for BUILD_ID_HEX_BYTES. */
void build_id__hex(const struct build_id *id, char *hex);

/** locate__build_id() - The build-id note of an open ELF file; 0 bytes when it has none. */
struct build_id locate__build_id(int fd);

/**
 * locate__cached() - Path of a file in perf's build-id cache, ~/.debug.
 * @name: "elf", "debug" or "kallsyms".
 *
 * Return: malloc'ed path (the file need not exist), or NULL without a home or build-id.
 */
char *locate__cached(const struct build_id *build_id, const char *name);

/**
 * locate__open() - Open a regular file for reading, without ever waiting.
 *
 * Return: A descriptor, -ENOENT for anything that is no regular file, or the errno of open(2).
 */
int locate__open(const char *path);

#endif /* PERF_CHURN_STACK_LOCATE_H */
