// SPDX-License-Identifier: GPL-2.0-only
/*
 * An entry of .plt, .plt.sec or .plt.got jumps through a slot of the GOT; a relocation of that
 * slot says for which function. Reading the jump works for every layout that linkers make.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "plt.h"
#include "symtab.h"

#define MAX_NAME_CHARS	1024
#define MAX_SLOTS	(16U << 20)

/* A GOT slot and what it points to: a symbol's name, or an indirect function's resolver. */
struct slot {
	__u64 addr;
	const char *name;
	__u64 resolver;
};

struct slots {
	struct slot *slots;
	size_t nr;
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot *sa = a, *sb = b;

	return sa->addr < sb->addr ? -1 : sa->addr > sb->addr;
}

/* Number of entries that are there, whatever the header claims. */
static size_t nr_entries(const Elf_Data *data, size_t entry_bytes)
{
	return data && data->d_buf ? data->d_size / entry_bytes : 0;
}

/* The relocation's symbol, in the table that its section links to. */
static const char *symbol_name(Elf *elf, const GElf_Shdr *rela_shdr, size_t idx)
{
	Elf_Scn *scn = elf_getscn(elf, rela_shdr->sh_link);
	GElf_Shdr shdr;
	GElf_Sym sym;

	if (!idx || !gelf_getshdr(scn, &shdr) || idx > INT32_MAX ||
	    !gelf_getsym(elf_getdata(scn, NULL), idx, &sym))
		return NULL;
	return elf_strptr(elf, shdr.sh_link, sym.st_name);
}

static int add_relocations(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct slots *slots)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = nr_entries(data, sizeof(Elf64_Rela));
	struct slot *grown;
	Elf64_Rela rela;

	if (!nr)
		return 0;
	if (slots->nr + nr > MAX_SLOTS)		/* many sections may show the same bytes */
		return -E2BIG;
	grown = reallocarray(slots->slots, slots->nr + nr, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	slots->slots = grown;
	for (size_t i = 0; i < nr; i++) {
		struct slot slot = {};

		memcpy(&rela, (const Elf64_Rela *)data->d_buf + i, sizeof(rela));
		slot.addr = rela.r_offset;
		switch (ELF64_R_TYPE(rela.r_info)) {
		case R_X86_64_IRELATIVE:
			slot.resolver = rela.r_addend;
			break;
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_GLOB_DAT:
			slot.name = symbol_name(elf, shdr, ELF64_R_SYM(rela.r_info));
			break;
		default:		/* no slot of the GOT: in a big object, a million of them */
			break;
		}
		if (slot.name || slot.resolver)
			slots->slots[slots->nr++] = slot;
	}
	return 0;
}

/* "jmp *disp(%rip)", after endbr64 and bnd where they are; 0: something else. */
static __u64 jump_slot(const __u8 *code, size_t bytes, __u64 addr)
{
	static const __u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	__s32 disp;

	if (bytes >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (at < bytes && code[at] == 0xf2)
		at++;
	if (at + 6 > bytes || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&disp, code + at + 2, sizeof(disp));
	return addr + at + 6 + disp;
}

static const char *slot_name(const struct slots *slots, const struct symtab *tab, __u64 addr)
{
	struct slot key = { .addr = addr };
	const struct slot *slot = bsearch(&key, slots->slots, slots->nr, sizeof(key),
					  compare_slots);
	const struct symbol *sym;

	if (!slot || slot->name)
		return slot ? slot->name : NULL;
	sym = symtab__find(tab, slot->resolver);
	return sym && sym->start == slot->resolver ? symtab__name(tab, sym) : NULL;
}

static int add_entries(const Elf_Data *data, const GElf_Shdr *shdr, const struct slots *slots,
		       const struct symtab *known, struct symtab *tab)
{
	size_t step = shdr->sh_entsize == 8 ? 8 : 16, bytes = nr_entries(data, 1);
	int err = 0;

	for (size_t at = 0; at + step <= bytes && !err; at += step) {
		char shown[MAX_NAME_CHARS];
		const char *name;
		__u64 slot;

		slot = jump_slot((const __u8 *)data->d_buf + at, step, shdr->sh_addr + at);
		name = slot ? slot_name(slots, known, slot) : NULL;
		if (!name || !*name)
			continue;
		snprintf(shown, sizeof(shown), "%s@plt", name);
		err = symtab__add(tab, shdr->sh_addr + at, step, STB_GLOBAL, shown, NULL);
	}
	return err;
}

static int for_each_section(Elf *elf, int (*fn)(Elf *, Elf_Scn *, GElf_Shdr *, void *), void *ctx)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr))
			err = fn(elf, scn, &shdr, ctx);
	return err;
}

struct plt_job {
	struct slots slots;
	struct symtab found;		/* names move when a table grows: collect apart */
	const struct symtab *known;
};

static int collect_slots(Elf *elf, Elf_Scn *scn, GElf_Shdr *shdr, void *ctx)
{
	struct plt_job *job = ctx;

	return shdr->sh_type == SHT_RELA ? add_relocations(elf, scn, shdr, &job->slots) : 0;
}

static int collect_entries(Elf *elf, Elf_Scn *scn, GElf_Shdr *shdr, void *ctx)
{
	struct plt_job *job = ctx;
	const char *name = NULL;
	size_t shstrndx;

	if (shdr->sh_type != SHT_PROGBITS || !(shdr->sh_flags & SHF_EXECINSTR))
		return 0;
	if (!elf_getshdrstrndx(elf, &shstrndx))
		name = elf_strptr(elf, shstrndx, shdr->sh_name);
	if (!name || strncmp(name, ".plt", 4))
		return 0;
	return add_entries(elf_getdata(scn, NULL), shdr, &job->slots, job->known, &job->found);
}

int plt__load(Dwfl_Module *mod, struct symtab *tab)
{
	struct plt_job job = { .known = tab };
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	GElf_Ehdr ehdr;
	int err;

	if (!elf || !gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_X86_64 ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	err = for_each_section(elf, collect_slots, &job);
	if (job.slots.nr)
		qsort(job.slots.slots, job.slots.nr, sizeof(struct slot), compare_slots);
	if (!err && job.slots.nr)
		err = for_each_section(elf, collect_entries, &job);
	for (size_t i = 0; i < job.found.nr && !err; i++) {
		const struct symbol *sym = &job.found.syms[i];

		err = symtab__add(tab, sym->start, sym->end - sym->start, sym->bind,
				  symtab__name(&job.found, sym), NULL);
	}
	symtab__exit(&job.found);
	free(job.slots.slots);
	return err;
}
