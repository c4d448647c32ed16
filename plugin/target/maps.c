// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "maps.h"

/* The kernel writes a newline in a name as \012, and escapes nothing else: no backslash either. */
static void unescape_newlines(char *text)
{
	static const char escape[] = "\\012";
	char *to = text;

	while (*text) {
		bool is_escape = !strncmp(text, escape, strlen(escape));

		*to++ = is_escape ? '\n' : *text;
		text += is_escape ? strlen(escape) : 1;
	}
	*to = '\0';
}

bool maps_entry__parse(char *line, struct maps_entry *ret)
{
	unsigned long long start, end, pgoff, ino;
	unsigned int dev_major, dev_minor;
	char prot[5], *path;
	int path_pos = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, prot,
		   &pgoff, &dev_major, &dev_minor, &ino, &path_pos) < 7 || !path_pos)
		return false;
	path = line + path_pos;
	/* One blank ends the inode; the padding after it is blanks, too, but no path starts so. */
	path += strspn(path, " ");
	unescape_newlines(path);
	*ret = (struct maps_entry){
		.start = start, .end = end, .pgoff = pgoff,
		.is_writable = prot[1] == 'w', .is_executable = prot[2] == 'x',
		.dev = makedev(dev_major, dev_minor), .ino = ino, .path = path,
	};
	return true;
}
