// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "images.h"

bool image_list__has(const struct image_list *list, __u64 dev, __u64 ino)
{
	for (size_t i = 0; i < list->nr_images; i++) {
		if (list->images[i].dev == dev && list->images[i].ino == ino)
			return true;
	}
	return false;
}

static void free_strings(const struct process_image *image)
{
	free(image->path);
	free(image->open_path);
}

static int append(struct image_list *list, const struct process_image *image)
{
	struct process_image *images;

	if (!image->path || !image->open_path)
		return -ENOMEM;
	images = reallocarray(list->images, list->nr_images + 1, sizeof(*images));
	if (!images)
		return -ENOMEM;
	images[list->nr_images++] = *image;
	list->images = images;
	return 0;
}

int image_list__add(struct image_list *list, const struct process_image *image)
{
	int err = 0;

	if (!image_list__has(list, image->dev, image->ino)) {
		err = append(list, image);
		if (!err)
			return 0;
	}
	free_strings(image);
	return err;
}

int image_list__add_file(struct image_list *list, const char *path)
{
	struct process_image image = {};
	char real_path[PATH_MAX];
	struct stat st;

	if (!realpath(path, real_path) || stat(real_path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	image.path = strdup(real_path);
	image.open_path = strdup(real_path);
	image.dev = st.st_dev;
	image.ino = st.st_ino;
	return image_list__add(list, &image);
}

void image_list__exit(struct image_list *list)
{
	process_images__free(list->images, list->nr_images);
	*list = (struct image_list){};
}

void process_images__free(struct process_image *images, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free_strings(&images[i]);
	free(images);
}
