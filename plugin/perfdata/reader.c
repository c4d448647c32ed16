// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "read.h"
#include "util/msg.h"

int pdreader__pread(const struct pdreader *r, void *buf, __u64 bytes, __u64 offset)
{
	char *pos = buf;

	while (bytes) {
		ssize_t got_bytes = pread(r->fd, pos, bytes, offset);

		if (got_bytes < 0 && errno == EINTR)
			continue;
		if (got_bytes < 0)
			return -errno;
		if (!got_bytes)
			return -EINVAL;
		pos += got_bytes;
		offset += got_bytes;
		bytes -= got_bytes;
	}
	return 0;
}

static int refuse_open(const char *path, int err)
{
	pr_err("cannot open %s: %s%s\n", path, strerror(-err),
	       err == -ENOENT ? " (try 'perf churn record' first)" : "");
	return err;
}

/* O_NONBLOCK, or a FIFO would keep us waiting for its writer. */
static int open_file(struct pdreader *r)
{
	struct stat st;
	int err;

	r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0)
		return refuse_open(r->path, -errno);
	if (fstat(r->fd, &st)) {
		err = -errno;
		return refuse_open(r->path, err);
	}
	if (S_ISDIR(st.st_mode)) {
		pr_err("%s: is a folder: recordings of several files (perf record --threads) "
		       "cannot be read, record without it\n", r->path);
		return -EISDIR;
	}
	if (!S_ISREG(st.st_mode)) {
		pr_err("%s: is no regular file: record with -o FILE and read that\n", r->path);
		return -EINVAL;
	}
	r->file_bytes = st.st_size;
	return 0;
}

int pdreader__open(const char *path, struct pdreader **ret)
{
	struct pdreader *r = calloc(1, sizeof(*r));
	struct file_header hdr;
	int err;

	if (!r)
		return refuse_open(path, -ENOMEM);
	r->fd = -1;
	r->path = strdup(path);
	err = r->path ? open_file(r) : refuse_open(path, -ENOMEM);
	err = err ?: pdreader__read_header(r, &hdr);
	err = err ?: pdreader__read_features(r, &hdr);
	if (err) {
		pdreader__close(r);
		return err;
	}
	*ret = r;
	return 0;
}

void pdreader__close(struct pdreader *r)
{
	if (!r)
		return;
	pdreader__free_features(r);
	tep_free(r->tep);
	idmap__exit(&r->ids);
	free(r->events);
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	free(r);
}

const struct pdinfo *pdreader__info(const struct pdreader *r)
{
	return &r->info;
}

size_t pdreader__nr_events(const struct pdreader *r)
{
	return r->nr_events;
}

const struct pdevent *pdreader__event(const struct pdreader *r, size_t idx)
{
	return idx < r->nr_events ? &r->events[idx].pub : NULL;
}
