// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfmap.h"
#include "symtab.h"

#define MAX_LINE_BYTES	(16 * 1024)	/* what is longer is cut */

bool perfmap__covers(const char *mapped)
{
	static const char *const starts[] = {
		"//anon", "[anon:", "[heap]", "[stack", "/dev/zero", "/anon_hugepage", "/SYSV",
		"/memfd:",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(mapped, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* The pid that a living process has in its innermost namespace; 0: it does not live. */
static __u32 inner_pid(__u32 pid)
{
	char path[64], line[256];
	__u32 inner = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!inner && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "NSpid:", 6))
			inner = strtoul(strrchr(line, '\t') ?: "", NULL, 10);
	}
	fclose(file);
	return inner;
}

static void path_of_living(__u32 pid, __u32 inner, char *path, size_t room)
{
	snprintf(path, room, "/proc/%u/root/tmp/perf-%u.map", pid, inner);
}

static bool is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode);
}

bool perfmap__path(__u32 pid, const char *symfs, char *path)
{
	__u32 inner = symfs[0] ? 0 : inner_pid(pid);
	char real[PATH_MAX];

	snprintf(path, PERFMAP_PATH_BYTES, "/tmp/perf-%u.map", pid);
	snprintf(real, sizeof(real), "%s%s", symfs, path);
	if (is_there(real))
		return true;
	path_of_living(pid, inner, real, sizeof(real));
	return inner && is_there(real);
}

__u32 perfmap__pid(const char *path)
{
	char again[PERFMAP_PATH_BYTES];
	__u32 pid;

	if (sscanf(path, "/tmp/perf-%u.map", &pid) != 1)
		return 0;
	snprintf(again, sizeof(again), "/tmp/perf-%u.map", pid);
	return strcmp(path, again) ? 0 : pid;
}

/* /tmp is everybody's: no link is followed, no pipe waited for. */
static int open_owned(const char *path, bool force)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int err = -ENOENT;

	if (fd < 0)
		return -ENOENT;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		if (force || !st.st_uid || st.st_uid == geteuid())
			return fd;
		err = -EPERM;
	}
	close(fd);
	return err;
}

static int open_map(__u32 pid, const char *symfs, bool force)
{
	__u32 inner = symfs[0] ? 0 : inner_pid(pid);
	char path[PATH_MAX];
	int fd = -ENOENT;

	if (inner) {
		path_of_living(pid, inner, path, sizeof(path));
		fd = open_owned(path, force);
	}
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/tmp/perf-%u.map", symfs, pid);
	return open_owned(path, force);
}

/* "7f12a0 3c name of the function" */
static bool split_line(char *line, __u64 *start, __u64 *size, char **name)
{
	char *end;

	*start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	*size = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	*name = end + 1;
	(*name)[strcspn(*name, "\r\n")] = '\0';
	return *start && *size && **name;
}

static void skip_rest_of_line(FILE *file)
{
	int c;

	do {
		c = getc_unlocked(file);
	} while (c != '\n' && c != EOF);
}

static int parse_lines(FILE *file, struct symtab *tab)
{
	char *line = malloc(MAX_LINE_BYTES), *name;
	__u64 start, size;
	int err = line ? 0 : -ENOMEM;

	while (!err && fgets(line, MAX_LINE_BYTES, file)) {
		if (!strchr(line, '\n'))
			skip_rest_of_line(file);
		if (split_line(line, &start, &size, &name))
			err = symtab__add(tab, start, size, STB_GLOBAL, name, NULL);
	}
	free(line);
	return err ?: ferror(file) ? -EIO : 0;
}

int perfmap__load(__u32 pid, const char *symfs, bool force, struct symtab *tab)
{
	int fd = open_map(pid, symfs, force), err;
	FILE *file;

	if (fd < 0)
		return fd;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	err = parse_lines(file, tab);
	fclose(file);
	symtab__finish_latest(tab);
	return err;
}
