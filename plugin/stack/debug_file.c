// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "debug_file.h"
#include "probe/elf_file.h"

struct build_id debug_file__build_id(const char *path)
{
	struct build_id id = {};
	int fd = locate__open(path);

	if (fd >= 0) {
		id = locate__build_id(fd);
		close(fd);
	}
	return id;
}

int debug_file__open(const char *path, const struct build_id *build_id, struct elf_file **ret)
{
	char *file;
	int err, fd = locate__debug(LOCATE_HERE, path, build_id, NULL, 0, &file);

	if (fd < 0)
		return -ENODATA;
	close(fd);
	err = elf_file__open(file, ret);
	free(file);
	return err && err != -ENOMEM ? -ENODATA : err;
}
