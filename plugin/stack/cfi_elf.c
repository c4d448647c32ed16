// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cfi_bytes.h"
#include "cfi_elf.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD	2		/* since glibc 2.37 */
#endif

/* Real files have about a dozen. */
#define MAX_PHDRS		256
#define MAX_SHDRS		65536
/* Call frames shrink to a fifth, not to a hundredth. */
#define MAX_INFLATION		128
/* Of .eh_frame_hdr: a version, three encodings, a pointer. */
#define HDR_BYTES		12

struct input {
	int fd;
	const __u8 *image;
	__u64 bytes;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[MAX_PHDRS];
	size_t nr_phdrs;
};

/* All of it or an error: -ENODATA where the file ends before. */
static int read_at(const struct input *in, __u64 offset, void *buf, size_t bytes)
{
	size_t done = 0;
	ssize_t ret;

	if (offset > in->bytes || bytes > in->bytes - offset)
		return -ENODATA;
	if (in->fd < 0) {
		memcpy(buf, in->image + offset, bytes);
		return 0;
	}
	while (done < bytes) {
		ret = pread(in->fd, (char *)buf + done, bytes - done, offset + done);
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret < 0 ? -errno : -ENODATA;
		done += ret;
	}
	return 0;
}

/* The same, into memory of its own. */
static int read_new(const struct input *in, __u64 offset, __u64 bytes, __u8 **ret)
{
	__u8 *data;
	int err;

	if (offset > in->bytes || bytes > in->bytes - offset)
		return -ENODATA;
	if (bytes > CFI_MAX_SECTION_BYTES)
		return -E2BIG;
	data = malloc(bytes ?: 1);
	if (!data)
		return -ENOMEM;
	err = read_at(in, offset, data, bytes);
	if (err) {
		free(data);
		return err;
	}
	*ret = data;
	return 0;
}

static bool is_x86_64_code(const Elf64_Ehdr *ehdr)
{
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) &&
	       ehdr->e_ident[EI_CLASS] == ELFCLASS64 && ehdr->e_ident[EI_DATA] == ELFDATA2LSB &&
	       ehdr->e_machine == EM_X86_64 &&
	       (ehdr->e_type == ET_EXEC || ehdr->e_type == ET_DYN) &&
	       ehdr->e_phentsize == sizeof(Elf64_Phdr);
}

static int read_headers(struct input *in)
{
	int err = read_at(in, 0, &in->ehdr, sizeof(in->ehdr));

	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	if (!is_x86_64_code(&in->ehdr))
		return -ENOEXEC;
	in->nr_phdrs = in->ehdr.e_phnum < MAX_PHDRS ? in->ehdr.e_phnum : MAX_PHDRS;
	err = read_at(in, in->ehdr.e_phoff, in->phdrs, in->nr_phdrs * sizeof(in->phdrs[0]));
	return err == -ENODATA ? -ENOEXEC : err;
}

static void find_segments(const struct input *in, struct cfi_elf *elf)
{
	for (size_t i = 0; i < in->nr_phdrs && elf->nr_segments < CFI_MAX_SEGMENTS; i++) {
		const Elf64_Phdr *phdr = &in->phdrs[i];

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X) ||
		    phdr->p_vaddr + phdr->p_memsz <= phdr->p_vaddr)
			continue;
		elf->segments[elf->nr_segments++] = (struct cfi_segment) {
			phdr->p_vaddr, phdr->p_vaddr + phdr->p_memsz
		};
	}
	elf->entry = in->ehdr.e_entry;
}

const struct cfi_segment *cfi_elf__segment(const struct cfi_elf *elf, __u64 vaddr)
{
	for (size_t i = 0; i < elf->nr_segments; i++)
		if (vaddr >= elf->segments[i].start && vaddr < elf->segments[i].end)
			return &elf->segments[i];
	return NULL;
}

static int inflate_section(const struct cfi_bytes *packed, __u32 type, __u8 *data, size_t bytes)
{
	uLongf filled = bytes;

	if (type == ELFCOMPRESS_ZLIB)
		return uncompress(data, &filled, packed->pos, cfi_bytes__left(packed)) == Z_OK &&
		       filled == bytes ? 0 : -ENODATA;
	if (type == ELFCOMPRESS_ZSTD)
		return ZSTD_decompress(data, bytes, packed->pos, cfi_bytes__left(packed)) == bytes ?
		       0 : -ENODATA;
	return -ENODATA;
}

/* SHF_COMPRESSED: replace the section's bytes by what is packed in them. */
static int decompress(struct cfi_section *sec)
{
	struct cfi_bytes packed = { sec->data, sec->data + sec->bytes, false };
	__u32 type = cfi_bytes__u32(&packed);
	__u8 *data;
	__u64 bytes;
	int err;

	cfi_bytes__u32(&packed);		/* ch_reserved */
	bytes = cfi_bytes__u64(&packed);
	cfi_bytes__u64(&packed);		/* ch_addralign */
	if (packed.bad || !bytes || bytes / MAX_INFLATION > sec->bytes)
		return -ENODATA;
	if (bytes > CFI_MAX_SECTION_BYTES)
		return -E2BIG;
	data = malloc(bytes);
	if (!data)
		return -ENOMEM;
	err = inflate_section(&packed, type, data, bytes);
	if (err) {
		free(data);
		return err;
	}
	free(sec->data);
	sec->data = data;
	sec->bytes = bytes;
	return 0;
}

static void drop_section(struct cfi_section *sec)
{
	free(sec->data);
	*sec = (struct cfi_section) {};
}

/* A section that cannot be read is one that the file does not have. */
static int read_section(const struct input *in, const Elf64_Shdr *shdr, struct cfi_section *ret)
{
	int err;

	if (shdr->sh_type == SHT_NOBITS || !shdr->sh_size || ret->data)
		return 0;			/* NOBITS: in a file of debug information */
	err = read_new(in, shdr->sh_offset, shdr->sh_size, &ret->data);
	if (err)
		return err == -ENODATA ? 0 : err;
	ret->bytes = shdr->sh_size;
	ret->vaddr = shdr->sh_addr;
	if (shdr->sh_flags & SHF_COMPRESSED)
		err = decompress(ret);
	if (err)
		drop_section(ret);
	return err == -ENODATA ? 0 : err;
}

static bool is_named(const struct input *in, const Elf64_Shdr *strtab, const Elf64_Shdr *shdr,
		     const char *name)
{
	size_t bytes = strlen(name) + 1;
	char found[16];

	return shdr->sh_name < strtab->sh_size && bytes <= strtab->sh_size - shdr->sh_name &&
	       strtab->sh_offset <= in->bytes &&
	       !read_at(in, strtab->sh_offset + shdr->sh_name, found, bytes) &&
	       !memcmp(found, name, bytes);
}

static int read_named(const struct input *in, const Elf64_Shdr *strtab, const Elf64_Shdr *shdr,
		      struct cfi_elf *elf)
{
	/* Only these are looked up by name: it costs a pread(2) each. */
	if (shdr->sh_type != SHT_PROGBITS && shdr->sh_type != SHT_X86_64_UNWIND)
		return 0;
	if (is_named(in, strtab, shdr, ".eh_frame"))
		return read_section(in, shdr, &elf->eh_frame);
	if (is_named(in, strtab, shdr, ".debug_frame"))
		return read_section(in, shdr, &elf->debug_frame);
	return 0;
}

/* More than 65279 sections: their number and the names' index stand in the first one. */
static int read_shdrs(const struct input *in, Elf64_Shdr **ret, __u64 *nr, __u64 *names)
{
	Elf64_Shdr first;
	__u8 *data;
	int err;

	if (!in->ehdr.e_shoff || in->ehdr.e_shentsize != sizeof(first))
		return -ENODATA;
	err = read_at(in, in->ehdr.e_shoff, &first, sizeof(first));
	if (err)
		return err;
	*nr = in->ehdr.e_shnum ?: first.sh_size;
	*names = in->ehdr.e_shstrndx == SHN_XINDEX ? first.sh_link : in->ehdr.e_shstrndx;
	if (*nr > MAX_SHDRS || *names >= *nr)
		return -ENODATA;
	err = read_new(in, in->ehdr.e_shoff, *nr * sizeof(first), &data);
	if (!err)
		*ret = (Elf64_Shdr *)data;
	return err;
}

/* Return: -ENODATA when the file has no usable section headers. */
static int find_by_sections(const struct input *in, struct cfi_elf *elf)
{
	Elf64_Shdr *shdrs;
	__u64 nr, names;
	int err;

	err = read_shdrs(in, &shdrs, &nr, &names);
	if (err)
		return err;
	for (__u64 i = 1; i < nr && !err; i++)
		err = read_named(in, &shdrs[names], &shdrs[i], elf);
	free(shdrs);
	return err;
}

static const Elf64_Phdr *find_phdr(const struct input *in, __u32 type, __u64 vaddr)
{
	for (size_t i = 0; i < in->nr_phdrs; i++) {
		const Elf64_Phdr *phdr = &in->phdrs[i];

		if (phdr->p_type == type &&
		    (type != PT_LOAD || (vaddr >= phdr->p_vaddr &&
					 vaddr - phdr->p_vaddr < phdr->p_filesz)))
			return phdr;
	}
	return NULL;
}

/* .eh_frame_hdr says where .eh_frame starts; it ends by itself, at the latest with its segment. */
static int find_by_segment(const struct input *in, struct cfi_elf *elf)
{
	const Elf64_Phdr *hdr = find_phdr(in, PT_GNU_EH_FRAME, 0), *load;
	struct cfi_section *sec = &elf->eh_frame;
	struct cfi_base base;
	struct cfi_bytes b;
	__u8 buf[HDR_BYTES] = {};
	__u64 bytes;
	int err;

	err = hdr ? read_at(in, hdr->p_offset, buf, sizeof(buf)) : -ENODATA;
	if (err || buf[0] != 1)
		return err == -ENODATA ? 0 : err;
	b = (struct cfi_bytes) { buf + 4, buf + sizeof(buf), false };
	base = (struct cfi_base) { buf, hdr->p_vaddr, hdr->p_vaddr };
	sec->vaddr = cfi_bytes__pointer(&b, buf[1], &base);
	load = b.bad ? NULL : find_phdr(in, PT_LOAD, sec->vaddr);
	if (!load)
		return 0;
	bytes = load->p_filesz - (sec->vaddr - load->p_vaddr);
	if (bytes > CFI_MAX_SECTION_BYTES)
		bytes = CFI_MAX_SECTION_BYTES;
	err = read_new(in, load->p_offset + (sec->vaddr - load->p_vaddr), bytes, &sec->data);
	sec->bytes = err ? 0 : bytes;
	sec->ends_itself = true;
	return err == -ENODATA ? 0 : err;
}

int cfi_elf__init(struct cfi_elf *elf, int fd, const void *image, size_t bytes)
{
	struct input in = { .fd = fd, .image = image, .bytes = bytes };
	struct stat st;
	int err;

	*elf = (struct cfi_elf) {};
	if (fd >= 0) {
		if (fstat(fd, &st) < 0)
			return -errno;
		if (!S_ISREG(st.st_mode))
			return -ENOEXEC;
		in.bytes = st.st_size;
	}
	err = read_headers(&in);
	if (err)
		return err;
	find_segments(&in, elf);
	err = find_by_sections(&in, elf);
	if (err == -ENODATA)
		err = find_by_segment(&in, elf);
	return err;
}

void cfi_elf__exit(struct cfi_elf *elf)
{
	drop_section(&elf->eh_frame);
	drop_section(&elf->debug_frame);
}
