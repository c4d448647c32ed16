// SPDX-License-Identifier: GPL-2.0-only
// sources: plugin/stack/cfi*.c
// libs: -lz -lzstd
/*
 * cfi_fuzz.c - CFI of any bytes: an ELF file as a whole, else a section (the lowest bit of the
 * first byte says which one) in a file that is made for it.
 *
 * Seeds in corpus/cfi: what "as" and "ld -N" make of the directives in
 * tests/cfi_*test.c, and the sections alone behind a byte 0 or 1.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack/cfi.h"

#define CODE_BYTES	(1U << 20)
#define SECTION_VADDR	(2U << 20)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr code;
	Elf64_Shdr shdrs[3];
	char names[32];
	unsigned char section[];
};

static struct image *make_image(const unsigned char *data, size_t bytes, int is_debug)
{
	struct image *im = calloc(1, sizeof(*im) + bytes);

	if (!im)
		abort();
	memcpy(im->ehdr.e_ident, ELFMAG, SELFMAG);
	im->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	im->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	im->ehdr.e_machine = EM_X86_64;
	im->ehdr.e_type = ET_DYN;
	im->ehdr.e_entry = 0x100;
	im->ehdr.e_phentsize = sizeof(im->code);
	im->ehdr.e_phoff = offsetof(struct image, code);
	im->ehdr.e_phnum = 1;
	im->ehdr.e_shentsize = sizeof(im->shdrs[0]);
	im->ehdr.e_shoff = offsetof(struct image, shdrs);
	im->ehdr.e_shnum = 3;
	im->ehdr.e_shstrndx = 1;
	im->code = (Elf64_Phdr) { .p_type = PT_LOAD, .p_flags = PF_X, .p_memsz = CODE_BYTES };
	strcpy(im->names, is_debug ? ".debug_frame" : ".eh_frame");
	im->shdrs[1] = (Elf64_Shdr) { .sh_name = 31, .sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct image, names), .sh_size = sizeof(im->names) };
	im->shdrs[2] = (Elf64_Shdr) { .sh_type = SHT_PROGBITS, .sh_addr = SECTION_VADDR,
		.sh_offset = sizeof(*im), .sh_size = bytes };
	memcpy(im->section, data, bytes);
	return im;
}

#define MUST(what) do {							\
	if (!(what)) {							\
		fprintf(stderr, "violated: %s\n", #what);		\
		abort();						\
	}								\
} while (0)

/* What stack/cfi.h promises. */
static void check(const struct cfi_table *t)
{
	const struct walk_rule nothing = {};

	MUST(t->nr_rows && t->nr_rules && t->nr_rules <= WALK_MAX_RULES);
	MUST(!memcmp(&t->rules[0], &nothing, sizeof(nothing)));
	MUST(!t->rows[t->nr_rows - 1].rule);
	for (size_t i = 0; i < t->nr_rows; i++) {
		MUST(t->rows[i].rule < t->nr_rules);
		MUST(t->rows[i].rule != (i ? t->rows[i - 1].rule : 0));
		MUST(!i || t->rows[i].vaddr > t->rows[i - 1].vaddr);
	}
	for (size_t i = 0; i < t->nr_rules && i < 64; i++) {
		MUST(t->rules[i].cfa <= WALK_CFA_END && t->rules[i].ra <= WALK_RA_UNKNOWN);
		MUST(t->rules[i].bp <= WALK_REG_UNKNOWN && t->rules[i].bx <= WALK_REG_UNKNOWN);
		for (size_t j = 0; j < i; j++)
			MUST(memcmp(&t->rules[i], &t->rules[j], sizeof(nothing)));
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	struct cfi_table *t = NULL;
	struct image *im = NULL;
	int err;

	if (bytes && data[0] != ELFMAG0) {
		im = make_image(data + 1, bytes - 1, data[0] & 1);
		err = cfi_table__new_image(im, sizeof(*im) + bytes - 1, &t);
	} else {
		err = cfi_table__new_image(data, bytes, &t);
	}
	MUST(!err == !!t);
	if (t)
		check(t);
	cfi_table__free(t);
	free(im);
	return 0;
}
