// SPDX-License-Identifier: GPL-2.0-only
#include "object.h"

/* libdwfl's own search asks debuginfod servers, too, and waits for them without an end. */
static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word crc, char **ret)
{
	const struct object_file *file = *userdata;

	(void)mod;
	(void)modname;
	(void)base;
	(void)file_name;
	if (!file)
		return -1;
	return locate__debug(file->env, file->path, &file->build_id, link, crc, ret);
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
	/* no .find_elf: modules come with their file */
};

Dwfl *object__begin(void)
{
	return dwfl_begin(&callbacks);
}

Dwfl_Module *object__report(Dwfl *dwfl, const struct object_file *file, __u64 bias)
{
	Dwfl_Module *mod = dwfl_report_elf(dwfl, file->path, file->path, -1, bias, true);
	void **userdata;

	if (!mod)
		return NULL;
	dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = (void *)file;
	return mod;
}
