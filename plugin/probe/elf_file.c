// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"

/* A table larger than this is a trap, not a symbol table (Chromium's has some 100 MB). */
#define MAX_TABLE_BYTES		(1UL << 30)
/* Linkers write .rela.dyn and .rela.plt. */
#define MAX_RELA_TABLES		4
/* Real files have about a dozen. */
#define MAX_PHDRS		256

struct elf_file {
	int fd;
	Elf *elf;
	GElf_Ehdr ehdr;
	size_t nr_phdrs;
};

static bool is_x86_64_code(const GElf_Ehdr *ehdr)
{
	return ehdr->e_ident[EI_CLASS] == ELFCLASS64 && ehdr->e_ident[EI_DATA] == ELFDATA2LSB &&
	       ehdr->e_machine == EM_X86_64 && (ehdr->e_type == ET_EXEC || ehdr->e_type == ET_DYN);
}

static int open_regular(const char *path)
{
	struct stat st;
	int fd, err;

	/* Opening a device may do something; opening a fifo that took the file's place may hang. */
	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	return fd;
}

static int read_headers(struct elf_file *file)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	/* Not the MMAP variant: it dies of SIGBUS when the file shrinks. */
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF)
		return -ENOEXEC;
	if (!gelf_getehdr(file->elf, &file->ehdr) || !is_x86_64_code(&file->ehdr))
		return -ENOEXEC;
	if (elf_getphdrnum(file->elf, &file->nr_phdrs) < 0)
		return -ENOEXEC;
	if (file->nr_phdrs > MAX_PHDRS)
		file->nr_phdrs = MAX_PHDRS;
	return 0;
}

int elf_file__open(const char *path, struct elf_file **ret)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	file->fd = open_regular(path);
	err = file->fd < 0 ? file->fd : read_headers(file);
	if (err) {
		elf_file__close(file);
		return err;
	}
	*ret = file;
	return 0;
}

void elf_file__close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

/* Next section of a type after @scn, its entries readable and of the size they should have. */
static Elf_Scn *next_table(const struct elf_file *file, Elf_Scn *scn, GElf_Word type,
			   size_t entry_bytes, GElf_Shdr *shdr)
{
	while ((scn = elf_nextscn(file->elf, scn))) {
		if (gelf_getshdr(scn, shdr) && shdr->sh_type == type &&
		    shdr->sh_entsize == entry_bytes && shdr->sh_size <= MAX_TABLE_BYTES)
			return scn;
	}
	return NULL;
}

static bool is_defined_function(const GElf_Sym *sym)
{
	return GELF_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx != SHN_UNDEF &&
	       sym->st_value;
}

static int visit_table(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *shdr,
		       int (*visit)(void *ctx, const struct elf_function *fn), void *ctx)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr_syms = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	struct elf_function fn = { .is_exported = shdr->sh_type == SHT_DYNSYM };
	unsigned int unit = 0;
	GElf_Sym sym;
	int ret;

	for (size_t i = 0; i < nr_syms; i++) {
		if (!gelf_getsym(data, i, &sym))
			continue;
		unit += GELF_ST_TYPE(sym.st_info) == STT_FILE;
		if (!is_defined_function(&sym))
			continue;
		fn.name = elf_strptr(file->elf, shdr->sh_link, sym.st_name);
		if (!fn.name)
			continue;
		fn.vaddr = sym.st_value;
		fn.size_bytes = sym.st_size;
		fn.is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL;
		fn.unit = fn.is_local ? unit : 0;
		ret = visit(ctx, &fn);
		if (ret)
			return ret;
	}
	return 0;
}

int elf_file__each_function(const struct elf_file *file,
			    int (*visit)(void *ctx, const struct elf_function *fn), void *ctx)
{
	static const GElf_Word types[] = { SHT_DYNSYM, SHT_SYMTAB };
	GElf_Shdr shdr;
	int ret;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		/* There is one of each; a thousand that overlap are a trap. */
		Elf_Scn *scn = next_table(file, NULL, types[i], sizeof(Elf64_Sym), &shdr);

		ret = scn ? visit_table(file, scn, &shdr, visit, ctx) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

/* The @idx-th entry of .dynamic with a tag; its string table's section in @link. */
static bool find_dynamic(const struct elf_file *file, GElf_Sxword tag, size_t idx, GElf_Dyn *dyn,
			 GElf_Word *link)
{
	Elf_Data *data;
	Elf_Scn *scn;
	GElf_Shdr shdr;

	scn = next_table(file, NULL, SHT_DYNAMIC, sizeof(Elf64_Dyn), &shdr);
	data = scn ? elf_getdata(scn, NULL) : NULL;
	for (int i = 0; data && gelf_getdyn(data, i, dyn) && dyn->d_tag != DT_NULL; i++) {
		if (dyn->d_tag == tag && !idx--) {
			*link = shdr.sh_link;
			return true;
		}
	}
	return false;
}

const char *elf_file__soname(const struct elf_file *file)
{
	GElf_Word link;
	GElf_Dyn dyn;

	if (!find_dynamic(file, DT_SONAME, 0, &dyn, &link))
		return NULL;
	return elf_strptr(file->elf, link, dyn.d_un.d_val);
}

const char *elf_file__needed(const struct elf_file *file, size_t idx)
{
	GElf_Word link;
	GElf_Dyn dyn;

	if (!find_dynamic(file, DT_NEEDED, idx, &dyn, &link))
		return NULL;
	return elf_strptr(file->elf, link, dyn.d_un.d_val);
}

bool elf_file__section(const struct elf_file *file, const char *name, struct elf_section *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names) < 0)
		return false;
	while ((scn = elf_nextscn(file->elf, scn))) {
		const char *found;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_ALLOC) ||
		    shdr.sh_type == SHT_NOBITS || shdr.sh_size > MAX_TABLE_BYTES)
			continue;
		found = elf_strptr(file->elf, names, shdr.sh_name);
		data = found && !strcmp(found, name) ? elf_rawdata(scn, NULL) : NULL;
		if (!data || !data->d_buf)
			continue;
		*ret = (struct elf_section){ data->d_buf, data->d_size, shdr.sh_addr };
		return true;
	}
	return false;
}

static bool find_segment(const struct elf_file *file, GElf_Word type, GElf_Phdr *phdr)
{
	for (size_t i = 0; i < file->nr_phdrs; i++) {
		if (gelf_getphdr(file->elf, i, phdr) && phdr->p_type == type)
			return true;
	}
	return false;
}

bool elf_file__loader(const struct elf_file *file, char *buf, size_t buf_bytes)
{
	GElf_Phdr phdr;

	if (!find_segment(file, PT_INTERP, &phdr) || phdr.p_filesz >= buf_bytes)
		return false;
	memset(buf, 0, buf_bytes);
	return pread(file->fd, buf, phdr.p_filesz, phdr.p_offset) > 0 && *buf;
}

/* Neither test is enough: libc.so.6 has an interpreter, and old linkers did not mark PIEs. */
bool elf_file__is_shared(const struct elf_file *file)
{
	GElf_Phdr phdr;
	GElf_Word link;
	GElf_Dyn dyn;

	if (file->ehdr.e_type != ET_DYN)
		return false;
	if (elf_file__soname(file))
		return true;
	if (find_dynamic(file, DT_FLAGS_1, 0, &dyn, &link) && (dyn.d_un.d_val & DF_1_PIE))
		return false;
	return !find_segment(file, PT_INTERP, &phdr);
}

static bool is_code_segment(const struct elf_file *file, size_t idx, GElf_Phdr *phdr)
{
	return gelf_getphdr(file->elf, idx, phdr) && phdr->p_type == PT_LOAD &&
	       (phdr->p_flags & PF_X) && phdr->p_filesz &&
	       phdr->p_vaddr + phdr->p_filesz > phdr->p_vaddr &&
	       phdr->p_offset + phdr->p_filesz > phdr->p_offset &&
	       phdr->p_offset + phdr->p_filesz <= INT64_MAX;
}

static bool find_code_segment(const struct elf_file *file, __u64 vaddr, GElf_Phdr *phdr)
{
	for (size_t i = 0; i < file->nr_phdrs; i++) {
		if (is_code_segment(file, i, phdr) && vaddr >= phdr->p_vaddr &&
		    vaddr - phdr->p_vaddr < phdr->p_filesz)
			return true;
	}
	return false;
}

bool elf_file__segment(const struct elf_file *file, size_t idx, __u64 *vaddr, __u64 *nr_bytes)
{
	GElf_Phdr phdr;

	for (size_t i = 0; i < file->nr_phdrs; i++) {
		if (!is_code_segment(file, i, &phdr) || idx--)
			continue;
		*vaddr = phdr.p_vaddr;
		*nr_bytes = phdr.p_filesz;
		return true;
	}
	return false;
}

int elf_file__offset(const struct elf_file *file, __u64 vaddr, __u64 *ret)
{
	GElf_Phdr phdr;

	if (!find_code_segment(file, vaddr, &phdr))
		return -EINVAL;
	*ret = vaddr - phdr.p_vaddr + phdr.p_offset;
	return 0;
}

static int data_offset(const struct elf_file *file, const GElf_Sym *sym, __u64 *ret)
{
	GElf_Phdr phdr;

	for (size_t i = 0; i < file->nr_phdrs; i++) {
		if (!gelf_getphdr(file->elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    sym->st_value < phdr.p_vaddr || phdr.p_filesz < sym->st_size ||
		    sym->st_value - phdr.p_vaddr > phdr.p_filesz - sym->st_size)
			continue;
		*ret = sym->st_value - phdr.p_vaddr + phdr.p_offset;
		return 0;
	}
	return -ENOENT;
}

int elf_file__variable(const struct elf_file *file, const char *name, __u64 *ret)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = next_table(file, NULL, SHT_DYNSYM, sizeof(Elf64_Sym), &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		const char *found = elf_strptr(file->elf, shdr.sh_link, sym.st_name);

		if (GELF_ST_TYPE(sym.st_info) == STT_OBJECT && sym.st_shndx != SHN_UNDEF && found &&
		    !strcmp(found, name))
			return data_offset(file, &sym, ret);
	}
	return -ENOENT;
}

long elf_file__read(const struct elf_file *file, __u64 vaddr, void *buf, size_t nr_bytes)
{
	GElf_Phdr phdr;
	__u64 nr_left;
	ssize_t ret;

	if (!find_code_segment(file, vaddr, &phdr))
		return 0;
	nr_left = phdr.p_filesz - (vaddr - phdr.p_vaddr);
	if (nr_bytes > nr_left)
		nr_bytes = nr_left;
	ret = pread(file->fd, buf, nr_bytes, vaddr - phdr.p_vaddr + phdr.p_offset);
	return ret < 0 ? -errno : ret;
}

/* Name of a relocation's symbol, through the symbol table the relocations belong to. */
static const char *reloc_name(const struct elf_file *file, GElf_Word symtab_idx,
			      const GElf_Rela *rela)
{
	Elf_Scn *scn = elf_getscn(file->elf, symtab_idx);
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_size > MAX_TABLE_BYTES)
		return NULL;
	if (shdr.sh_type != SHT_DYNSYM && shdr.sh_type != SHT_SYMTAB)
		return NULL;
	data = elf_getdata(scn, NULL);
	if (!data || !gelf_getsym(data, GELF_R_SYM(rela->r_info), &sym))
		return NULL;
	return elf_strptr(file->elf, shdr.sh_link, sym.st_name);
}

const char *elf_file__slot_name(const struct elf_file *file, __u64 slot_vaddr)
{
	Elf_Scn *scn = NULL;
	int nr_tables = 0;
	GElf_Shdr shdr;
	GElf_Rela rela;

	while (nr_tables++ < MAX_RELA_TABLES &&
	       (scn = next_table(file, scn, SHT_RELA, sizeof(Elf64_Rela), &shdr))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
			__u32 type = GELF_R_TYPE(rela.r_info);

			if (rela.r_offset == slot_vaddr &&
			    (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT))
				return reloc_name(file, shdr.sh_link, &rela);
		}
	}
	return NULL;
}
