// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "kallsyms.h"
#include "symtab.h"

/*
 * "ffffffff81000000 T _text" and "ffffffffc0a01000 t kvm_init\t[kvm]"
 */
static int split_line(char *line, __u64 *addr, char *type, char **name, char **module)
{
	char *end;

	errno = 0;
	*addr = strtoull(line, &end, 16);
	if (errno || end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return -EINVAL;
	*type = end[1];
	*name = end + 3;
	(*name)[strcspn(*name, "\n")] = '\0';
	*module = strchr(*name, '\t');
	if (*module)
		*(*module)++ = '\0';
	return **name ? 0 : -EINVAL;
}

/* What perf keeps; data is needed, too: it ends the function before it. */
static bool is_kept(char type)
{
	return strchr("TWDB", toupper((unsigned char)type)) != NULL;
}

static __u8 binding_of(char type)
{
	if (type == 'W')
		return STB_WEAK;
	return isupper((unsigned char)type) ? STB_GLOBAL : STB_LOCAL;
}

static int parse_lines(FILE *file, const char *ref, __u64 *ref_addr, struct symtab *tab)
{
	char *line = NULL, *name, *module, type;
	bool any_addr = false;
	size_t cap = 0;
	__u64 addr;
	int err = 0;

	while (!err && getline(&line, &cap, file) >= 0) {
		if (split_line(line, &addr, &type, &name, &module) || !is_kept(type))
			continue;
		any_addr |= addr != 0;
		if (!*ref_addr && !strcmp(name, ref))
			*ref_addr = addr;
		err = symtab__add(tab, addr, 0, binding_of(type), name, module);
	}
	free(line);
	if (!err && ferror(file))
		err = -EIO;
	if (!err && !tab->nr)
		err = -ENOENT;
	if (!err && !any_addr)
		err = -EPERM;
	return err;
}

int kallsyms__parse(const char *path, const char *ref, __u64 *ref_addr, struct symtab *tab)
{
	FILE *file = fopen(path, "re");
	int err;

	*ref_addr = 0;
	if (!file)
		return -errno;
	err = parse_lines(file, ref, ref_addr, tab);
	fclose(file);
	if (err)
		symtab__exit(tab);
	else
		symtab__finish(tab, false);
	return err;
}
