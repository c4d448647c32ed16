// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "util/msg.h"

/* BINPRM_BUF_SIZE: what the kernel reads of a file to tell how to run it. */
#define HEAD_BYTES		256
/* The kernel gives up (ELOOP) after as many interpreters of interpreters. */
#define MAX_INTERPRETERS	5
/* As confstr(_CS_PATH), which execvp() takes when PATH is not set. */
#define DEFAULT_PATH		"/bin:/usr/bin"
/* What execvp() gives a file to that the kernel does not know how to run. */
#define SHELL			"/bin/sh"

static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? -EACCES : -ENOENT;
	if (!S_ISREG(st.st_mode) || eaccess(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

static int take_if_executable(const char *path, char **ret)
{
	int err = check_executable(path);

	if (err)
		return err;
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

static int find_in_folder(const char *folder, size_t nr_chars, const char *name, char **ret)
{
	char path[PATH_MAX];
	int nr_printed;

	/* An empty entry of PATH is the current folder. */
	nr_printed = snprintf(path, sizeof(path), "%.*s%s%s", (int)nr_chars, folder,
			      nr_chars ? "/" : "./", name);
	if (nr_printed >= (int)sizeof(path))
		return -ENOENT;
	return take_if_executable(path, ret);
}

int command__find(const char *name, char **ret)
{
	const char *folder = getenv("PATH") ?: DEFAULT_PATH;
	int err, not_found = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/'))
		return take_if_executable(name, ret);
	for (;;) {
		size_t nr_chars = strcspn(folder, ":");

		err = find_in_folder(folder, nr_chars, name, ret);
		if (!err || err == -ENOMEM)
			return err;
		/* As execvp(): look on, but remember that there was one. */
		if (err == -EACCES)
			not_found = err;
		if (!folder[nr_chars])
			return not_found;
		folder += nr_chars + 1;
	}
}

int script__interpreter(const char *text, size_t nr_bytes, char **ret)
{
	static const char blanks[] = " \t";
	char line[HEAD_BYTES + 1] = "";
	char *name;

	if (nr_bytes < 2 || memcmp(text, "#!", 2))
		return -ENOEXEC;
	memcpy(line, text + 2, nr_bytes - 2 < HEAD_BYTES ? nr_bytes - 2 : HEAD_BYTES);
	line[strcspn(line, "\n")] = '\0';
	name = line + strspn(line, blanks);
	name[strcspn(name, blanks)] = '\0';
	if (!*name)
		return -ENOEXEC;
	*ret = strdup(name);
	return *ret ? 0 : -ENOMEM;
}

static ssize_t read_head(const char *path, char *buf, size_t nr_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t nr_read;

	if (fd < 0)
		return -errno;
	nr_read = read(fd, buf, nr_bytes);
	if (nr_read < 0)
		nr_read = -errno;
	close(fd);
	return nr_read;
}

static bool is_elf(const char *head, ssize_t nr_bytes)
{
	return nr_bytes >= 4 && !memcmp(head, "\177ELF", 4);
}

/*
 * Return: 1 with the name of the interpreter in @ret, 0 when @path is a program or cannot be read (the
 * kernel runs programs that we may not read), or -ENOMEM.
 */
static int name_interpreter(const char *path, char **ret)
{
	char head[HEAD_BYTES];
	ssize_t nr_bytes = read_head(path, head, sizeof(head));
	int err;

	if (nr_bytes < 0 || is_elf(head, nr_bytes))
		return 0;
	err = script__interpreter(head, nr_bytes, ret);
	if (err == -ENOEXEC) {
		*ret = strdup(SHELL);
		err = *ret ? 0 : -ENOMEM;
	}
	return err ?: 1;
}

/* As name_interpreter(), but it is one that can be run. */
static int next_interpreter(const char *path, char **ret)
{
	char *name;
	int found = name_interpreter(path, &name);
	int err;

	if (found <= 0)
		return found;
	err = take_if_executable(name, ret);
	free(name);
	return err ?: 1;
}

int command__program(const char *name, char **ret)
{
	char *path, *interpreter;
	int err = command__find(name, &path);

	if (err)
		return err;
	for (int depth = 0; depth <= MAX_INTERPRETERS; depth++) {
		err = next_interpreter(path, &interpreter);
		if (!err) {
			*ret = path;
			return 0;
		}
		free(path);
		if (err < 0)
			return err;
		path = interpreter;
	}
	free(path);
	return -ELOOP;
}

/* The last of the chain of interpreters, which need not be there; NULL for a program or without memory. */
static char *last_interpreter(const char *path)
{
	char *name = NULL, *next;
	int depth;

	for (depth = 0; depth <= MAX_INTERPRETERS; depth++) {
		if (name_interpreter(name ?: path, &next) <= 0)
			break;
		free(name);
		name = next;
	}
	return name;
}

void command__explain(const char *name, int err)
{
	char *path, *interpreter;

	if (command__find(name, &path)) {
		pr_err("%s: %s\n", name[0] ? name : "''",
		       err == -ENOENT ? "command not found" : strerror(-err));
		return;
	}
	interpreter = last_interpreter(path);
	if (interpreter)
		pr_err("%s: its interpreter %s: %s\n", name, interpreter,
		       err == -ENOENT ? "not found" : strerror(-err));
	else
		pr_err("%s: %s\n", name,
		       err == -ENOENT ? "the loader that it asks for is not there" : strerror(-err));
	free(interpreter);
	free(path);
}
