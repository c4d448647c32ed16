// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "locate.h"
#include "vdso.h"

/* The range of our own [vdso]; the auxiliary vector would not tell its size. */
static int find_range(unsigned long *start, unsigned long *end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int err = -ENOENT;

	if (!maps)
		return -errno;
	while (err && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", start, end) == 2)
			err = 0;
	fclose(maps);
	return err;
}

static int copy_to_file(unsigned long start, unsigned long end)
{
	ssize_t bytes = end - start;
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, (const void *)start, bytes) == bytes)
		return fd;
	close(fd);
	return -EIO;
}

int vdso__open(const struct build_id *want, char **file)
{
	unsigned long start, end;
	struct build_id found;
	int fd, err;

	err = find_range(&start, &end);
	if (err)
		return err;
	fd = copy_to_file(start, end);
	if (fd < 0)
		return fd;
	found = locate__build_id(fd);
	err = -ESTALE;
	if (want->bytes && (found.bytes != want->bytes ||
			    memcmp(found.bits, want->bits, want->bytes)))
		goto err_close;
	err = -ENOMEM;
	if (asprintf(file, "/proc/self/fd/%d", fd) >= 0)
		return fd;
err_close:
	close(fd);
	return err;
}
