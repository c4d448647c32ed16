/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * write_file.h - the output file, and its name: what stood under that name is not touched before the
 * recording is under way.
 */
#ifndef PERF_CHURN_PERFDATA_WRITE_FILE_H
#define PERF_CHURN_PERFDATA_WRITE_FILE_H

#include <stdbool.h>

/**
 * struct write_file - An output file.
 * @path: Where it shall stand.
 * @temp: Where it stands until write_file__publish(); NULL: at @path, where there was nothing, or an
 *	empty file (@was_there).
 */
struct write_file {
	char *path, *temp;
	int fd;
	bool was_there, published;
};

/**
 * write_file__open() - Create it, for its owner only.
 *
 * Return: 0, or a negative errno, printed: -EINVAL for what is no regular file, or "-".
 */
int write_file__open(struct write_file *f, const char *path);

/** write_file__publish() - Take the name; what was there is kept as PATH.old. Errors are printed. */
int write_file__publish(struct write_file *f);

/** write_file__exit() - Close; unless it was published, everything is as before. */
void write_file__exit(struct write_file *f);

#endif /* PERF_CHURN_PERFDATA_WRITE_FILE_H */
