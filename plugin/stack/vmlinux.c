// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "object.h"
#include "symbols.h"
#include "symtab.h"
#include "vmlinux.h"

/* Of names at one address the table keeps only one, so that this looks at all. */
static __u64 find_address(Dwfl_Module *mod, const char *ref)
{
	int nr = dwfl_module_getsymtab(mod);

	for (int i = 1; i < nr; i++) {
		GElf_Addr addr;
		GElf_Sym sym;
		const char *name;

		name = dwfl_module_getsym_info(mod, i, &sym, &addr, NULL, NULL, NULL);
		if (name && !strcmp(name, ref))
			return addr;
	}
	return 0;
}

static int load_module(const struct object_file *file, const char *ref, __u64 *ref_addr,
		       struct symtab *tab)
{
	Dwfl *dwfl = object__begin();
	Dwfl_Module *mod = dwfl ? object__report(dwfl, file, 0) : NULL;
	int err = mod ? symbols__load(mod, false, tab) : -ENOEXEC;

	if (!err && !tab->nr)
		err = -ENODATA;
	if (err)
		symtab__exit(tab);
	else
		*ref_addr = find_address(mod, ref);
	dwfl_end(dwfl);
	return err;
}

int vmlinux__load(const struct locate_env *env, const char *path, const struct build_id *build_id,
		  const char *ref, __u64 *ref_addr, struct symtab *tab)
{
	struct object_file file = { .path = (char *)path, .env = env };
	int fd = locate__open(path);

	*ref_addr = 0;
	if (fd < 0)
		return fd;
	file.build_id = locate__build_id(fd);
	close(fd);
	if (build_id->bytes && file.build_id.bytes && !build_id__equal(build_id, &file.build_id))
		return -ESTALE;
	return load_module(&file, ref, ref_addr, tab);
}
