// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "plt.h"
#include "symbols.h"
#include "symtab.h"

static bool is_code_section(Elf *elf, GElf_Word shndx)
{
	const GElf_Xword want = SHF_ALLOC | SHF_EXECINSTR;
	GElf_Shdr shdr;

	if (shndx == SHN_UNDEF || shndx == SHN_ABS || shndx == SHN_COMMON)
		return false;
	return gelf_getshdr(elf_getscn(elf, shndx), &shdr) && (shdr.sh_flags & want) == want;
}

static bool is_function(const GElf_Sym *sym)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:		/* a label: hand-written assembly */
		return GELF_ST_VISIBILITY(sym->st_other) != STV_HIDDEN &&
		       GELF_ST_VISIBILITY(sym->st_other) != STV_INTERNAL;
	default:
		return false;
	}
}

static int load_functions(Dwfl_Module *mod, struct symtab *tab)
{
	int nr = dwfl_module_getsymtab(mod), err = 0;

	for (int i = 1; i < nr && !err; i++) {
		GElf_Word shndx = SHN_UNDEF;
		GElf_Addr addr;
		GElf_Sym sym;
		Elf *elf = NULL;
		const char *name;

		name = dwfl_module_getsym_info(mod, i, &sym, &addr, &shndx, &elf, NULL);
		if (name && *name && is_function(&sym) && elf && is_code_section(elf, shndx))
			err = symtab__add(tab, addr, sym.st_size, GELF_ST_BIND(sym.st_info), name,
					  NULL);
	}
	return err;
}

int symbols__load(Dwfl_Module *mod, bool demangle, struct symtab *tab)
{
	int err = load_functions(mod, tab);

	symtab__finish(tab, demangle);
	if (err)
		return err;
	err = plt__load(mod, tab);
	symtab__finish(tab, demangle);
	return err;
}
