// SPDX-License-Identifier: GPL-2.0-only
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "probe/elf_file.h"

/* Browsers and compilers have some 500 K. */
#define MAX_FUNCTIONS	(4U << 20)

/*
 * @encoding: Of addresses in the FDEs of the CIE at @cie.
 */
struct scan {
	struct functions *out;
	size_t room;
	bool (*is_known)(const char *name);
	int err;
	struct elf_section section;
	Elf_Data data;
	Dwarf_Off cie;
	__u8 encoding;
};

static const unsigned char ident[EI_NIDENT] = {
	ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
};

static int add_function(struct scan *scan, const struct code_function *fn)
{
	struct functions *out = scan->out;

	if (fn->end <= fn->start)
		return 0;
	if (out->nr == MAX_FUNCTIONS)
		return -E2BIG;
	if (out->nr == scan->room) {
		size_t room = scan->room ? 2 * scan->room : 4096;
		struct code_function *fns = reallocarray(out->fns, room, sizeof(*fns));

		if (!fns)
			return -ENOMEM;
		out->fns = fns;
		scan->room = room;
	}
	out->fns[out->nr++] = *fn;
	return 0;
}

/* Read a value of an encoding's size; false: cut short, or of a kind not met in FDEs. */
static bool take_value(const __u8 **pos, const __u8 *end, __u8 encoding, __u64 *ret)
{
	union { __u16 u16; __s16 s16; __u32 u32; __s32 s32; __u64 u64; } v = {};
	static const __u8 sizes[16] = {
		[DW_EH_PE_absptr] = 8, [DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4,
		[DW_EH_PE_udata8] = 8, [DW_EH_PE_sdata2] = 2, [DW_EH_PE_sdata4] = 4,
		[DW_EH_PE_sdata8] = 8,
	};
	__u8 bytes = sizes[encoding & 0xf];

	if (!bytes || end - *pos < bytes)
		return false;
	memcpy(&v, *pos, bytes);
	*pos += bytes;
	if ((encoding & 0xf) == DW_EH_PE_sdata2)
		*ret = v.s16;
	else if ((encoding & 0xf) == DW_EH_PE_sdata4)
		*ret = v.s32;
	else
		*ret = v.u64;
	return true;
}

/* The letter R of "zPLR" announces the encoding of the addresses in FDEs. */
static __u8 address_encoding(const Dwarf_CIE *cie)
{
	const __u8 *pos = cie->augmentation_data, *end = pos + cie->augmentation_data_size;
	const char *letter = cie->augmentation;
	__u8 encoding;
	__u64 value;

	if (*letter != 'z' || !pos)
		return DW_EH_PE_absptr;
	while (*++letter && pos < end) {
		if (*letter == 'R')
			return *pos;
		if (*letter == 'P') {
			encoding = *pos++;
			if (!take_value(&pos, end, encoding, &value))
				return DW_EH_PE_omit;
		} else if (*letter == 'L') {
			pos++;
		}
	}
	return DW_EH_PE_absptr;
}

static bool find_cie(struct scan *scan, Dwarf_Off at)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (scan->cie == at)
		return true;
	if (dwarf_next_cfi(ident, &scan->data, true, at, &next, &entry) || !dwarf_cfi_cie_p(&entry))
		return false;
	scan->cie = at;
	scan->encoding = address_encoding(&entry.cie);
	return true;
}

static int add_fde(struct scan *scan, const Dwarf_FDE *fde)
{
	const __u8 *pos = fde->start;
	struct code_function fn = {};
	__u64 place, bytes;

	if (!find_cie(scan, fde->CIE_pointer))
		return 0;
	place = scan->section.vaddr + (pos - scan->section.bytes);
	if (!take_value(&pos, fde->end, scan->encoding, &fn.start) ||
	    !take_value(&pos, fde->end, scan->encoding & 0x7, &bytes))
		return 0;
	if ((scan->encoding & 0x70) == DW_EH_PE_pcrel)
		fn.start += place;
	else if (scan->encoding & 0x70)
		return 0;
	fn.end = fn.start + bytes;
	return add_function(scan, &fn);
}

static int add_fdes(struct scan *scan, const struct elf_file *file)
{
	Dwarf_Off off = 0, next;
	Dwarf_CFI_Entry entry;
	int rc, err = 0;

	if (!elf_file__section(file, ".eh_frame", &scan->section))
		return 0;
	scan->data = (Elf_Data){
		.d_buf = (void *)scan->section.bytes, .d_size = scan->section.nr_bytes,
		.d_type = ELF_T_BYTE, .d_version = EV_CURRENT,
	};
	scan->cie = ~0ULL;
	while (!err && !(rc = dwarf_next_cfi(ident, &scan->data, true, off, &next, &entry))) {
		if (!dwarf_cfi_cie_p(&entry))
			err = add_fde(scan, &entry.fde);
		if (next <= off)
			break;
		off = next;
	}
	return err;
}

static int compare_functions(const void *a, const void *b)
{
	const struct code_function *fa = a, *fb = b;

	if (fa->start != fb->start)
		return fa->start < fb->start ? -1 : 1;
	return fa->end > fb->end ? -1 : fa->end < fb->end;
}

/* One function an address, cut where the next one begins. */
static void tidy(struct functions *fns)
{
	size_t nr = 0;

	qsort(fns->fns, fns->nr, sizeof(*fns->fns), compare_functions);
	for (size_t i = 0; i < fns->nr; i++) {
		struct code_function *fn = &fns->fns[i], *last = nr ? &fns->fns[nr - 1] : NULL;

		if (last && last->start == fn->start) {
			last->is_exported |= fn->is_exported;
			last->is_known |= fn->is_known;
			continue;
		}
		if (last && last->end > fn->start)
			last->end = fn->start;
		fns->fns[nr++] = *fn;
	}
	fns->nr = nr;
}

static int add_symbol(void *ctx, const struct elf_function *fn)
{
	struct scan *scan = ctx;
	struct code_function known = {
		.start = fn->vaddr, .end = fn->vaddr + fn->size_bytes,
		.is_exported = fn->is_exported, .is_known = scan->is_known(fn->name),
	};

	/* A size that is not told is the FDE's, which is sorted in front. */
	if (known.end == known.start)
		known.end++;
	return add_function(scan, &known);
}

int functions__new(const struct elf_file *file, bool (*is_known)(const char *name),
		   struct functions **ret)
{
	struct scan scan = { .is_known = is_known };
	int err;

	scan.out = calloc(1, sizeof(*scan.out));
	if (!scan.out)
		return -ENOMEM;
	err = add_fdes(&scan, file);
	err = err ?: elf_file__each_function(file, add_symbol, &scan);
	if (!err && !scan.out->nr)
		err = -ENODATA;
	if (err) {
		functions__free(scan.out);
		return err;
	}
	tidy(scan.out);
	*ret = scan.out;
	return 0;
}

void functions__free(struct functions *fns)
{
	if (!fns)
		return;
	free(fns->fns);
	free(fns);
}

struct code_function *functions__find(const struct functions *fns, __u64 addr)
{
	size_t lo = 0, hi = fns->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (fns->fns[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < fns->fns[lo - 1].end ? &fns->fns[lo - 1] : NULL;
}

static bool is_foreign(const struct code_function *fn)
{
	return fn->is_exported && !fn->is_known;
}

bool functions__piece(const struct functions *fns, __u64 addr, struct function_piece *ret)
{
	const struct code_function *anchor = functions__find(fns, addr);

	if (!anchor || !anchor->is_known)
		return false;
	ret->first = ret->last = anchor - fns->fns;
	while (ret->first > 0 && !is_foreign(&fns->fns[ret->first - 1]))
		ret->first--;
	while (ret->last + 1 < fns->nr && !is_foreign(&fns->fns[ret->last + 1]))
		ret->last++;
	return true;
}
