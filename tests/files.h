/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * files.h - what the tests of plugin/target share.
 */
#ifndef PERF_CHURN_TESTS_FILES_H
#define PERF_CHURN_TESTS_FILES_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/process.h"

#define LIBC	"/lib/x86_64-linux-gnu/libc.so.6"

static inline void write_file(const char *path, mode_t mode, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode))
		abort();
	close(fd);
}

static inline const struct process_image *find_file(const struct process_image *images, size_t nr,
					     const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		if (images[i].dev == st.st_dev && images[i].ino == st.st_ino)
			return &images[i];
	}
	return NULL;
}

#endif /* PERF_CHURN_TESTS_FILES_H */
