// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write_file.h"

#include "util/files.h"
#include "util/msg.h"

/* In the same folder, so that it can be renamed. */
static int open_temp(struct write_file *f)
{
	int err;

	if (asprintf(&f->temp, "%s.XXXXXX", f->path) < 0) {
		f->temp = NULL;
		return -ENOMEM;
	}
	f->fd = mkostemp(f->temp, O_CLOEXEC);
	if (f->fd >= 0)
		return 0;
	err = -errno;
	free(f->temp);
	f->temp = NULL;
	return err;
}

static int open_in_place(struct write_file *f)
{
	struct stat st;

	f->fd = open(f->path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode))
		return 0;
	f->was_there = true;
	return -EINVAL;
}

static int open_file(struct write_file *f)
{
	struct stat st;

	f->was_there = !stat(f->path, &st);
	if (f->was_there && S_ISREG(st.st_mode) && st.st_size)
		return open_temp(f);
	return open_in_place(f);
}

int write_file__open(struct write_file *f, const char *path)
{
	int err;

	*f = (struct write_file){ .fd = -1 };
	if (!strcmp(path, "-")) {
		pr_err("-o -: writing to a pipe is not supported, give a file\n");
		return -EINVAL;
	}
	f->path = strdup(path);
	if (!f->path)
		return -ENOMEM;
	err = open_file(f);
	if (!err)
		return 0;
	if (err == -EMFILE)
		files__say_too_many();
	else
		pr_err("%s: cannot create: %s\n", path, err == -EINVAL ?
		       "not a regular file" : strerror(-err));
	write_file__exit(f);
	return err;
}

/* As perf record keeps it. */
static int keep_old(const char *path)
{
	char *old;
	int err = 0;

	if (asprintf(&old, "%s.old", path) < 0)
		return -ENOMEM;
	if (rename(path, old) && errno != ENOENT)
		err = -errno;
	free(old);
	return err;
}

int write_file__publish(struct write_file *f)
{
	int err;

	if (f->published || !f->temp) {
		f->published = true;
		return 0;
	}
	err = keep_old(f->path);
	if (!err && rename(f->temp, f->path))
		err = -errno;
	if (err)
		pr_err("%s: cannot replace: %s\n", f->path, strerror(-err));
	else
		f->published = true;
	return err;
}

static void remove_traces(struct write_file *f)
{
	if (f->temp)
		unlink(f->temp);
	else if (f->fd >= 0 && !f->was_there)
		unlink(f->path);
	else if (f->fd >= 0 && ftruncate(f->fd, 0))
		pr_debug("%s: cannot be emptied: %s\n", f->path, strerror(errno));
}

void write_file__exit(struct write_file *f)
{
	if (!f->published && f->path)
		remove_traces(f);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	free(f->temp);
	free(f->path);
	f->temp = f->path = NULL;
}
