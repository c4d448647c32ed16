/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * images.h - a list of files, each once, as process__images() and workload__images() hand it out.
 */
#ifndef PERF_CHURN_TARGET_IMAGES_H
#define PERF_CHURN_TARGET_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "process.h"

struct image_list {
	struct process_image *images;
	size_t nr_images;
};

/** image_list__has() - Is the file with this identity in the list? */
bool image_list__has(const struct image_list *list, __u64 dev, __u64 ino);

/**
 * image_list__add() - Append a file; nothing happens when it is there.
 * @image: Its strings are the list's from now on, freed here on failure and when it is there.
 *
 * Return: 0 or -ENOMEM (also when a string is NULL, which is how strdup() fails).
 */
int image_list__add(struct image_list *list, const struct process_image *image);

/**
 * image_list__add_file() - Append a file by a path that opens here.
 *
 * Symbolic links are resolved, so that the path is the one /proc/PID/maps will show.
 *
 * Return: 0, -ENOMEM, -ENOENT when it is no regular file, or the errno of stat(2).
 */
int image_list__add_file(struct image_list *list, const char *path);

/** image_list__exit() - Free what the list holds. */
void image_list__exit(struct image_list *list);

#endif /* PERF_CHURN_TARGET_IMAGES_H */
