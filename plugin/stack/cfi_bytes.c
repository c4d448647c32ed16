// SPDX-License-Identifier: GPL-2.0-only
#include <dwarf.h>

#include "cfi_bytes.h"

#define FORMAT(encoding)	((encoding) & 0x0f)
#define COUNTS_FROM(encoding)	((encoding) & 0x70)

static __u64 read_value(struct cfi_bytes *b, __u8 encoding)
{
	switch (FORMAT(encoding)) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
	case DW_EH_PE_signed:
		return cfi_bytes__u64(b);
	case DW_EH_PE_udata2:
		return cfi_bytes__u16(b);
	case DW_EH_PE_sdata2:
		return (__s64)(__s16)cfi_bytes__u16(b);
	case DW_EH_PE_udata4:
		return cfi_bytes__u32(b);
	case DW_EH_PE_sdata4:
		return (__s64)(__s32)cfi_bytes__u32(b);
	case DW_EH_PE_uleb128:
		return cfi_bytes__uleb(b);
	case DW_EH_PE_sleb128:
		return cfi_bytes__sleb(b);
	default:
		cfi_bytes__set_bad(b);
		return 0;
	}
}

/* DW_EH_PE_aligned: a whole address at the next multiple of 8. */
static __u64 read_aligned(struct cfi_bytes *b, const struct cfi_base *base)
{
	cfi_bytes__take(b, -(base->vaddr + (b->pos - base->bytes)) & 7);
	return cfi_bytes__u64(b);
}

__u64 cfi_bytes__pointer(struct cfi_bytes *b, __u8 encoding, const struct cfi_base *base)
{
	__u64 from = 0, value;

	switch (COUNTS_FROM(encoding)) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		from = base->vaddr + (b->pos - base->bytes);
		break;
	case DW_EH_PE_datarel:
		from = base->data;
		if (!from)
			cfi_bytes__set_bad(b);
		break;
	case DW_EH_PE_aligned:
		return read_aligned(b, base);
	default:
		cfi_bytes__set_bad(b);
		break;
	}
	if (encoding & DW_EH_PE_indirect)
		cfi_bytes__set_bad(b);
	value = read_value(b, encoding);
	return value && !b->bad ? from + value : 0;
}

void cfi_bytes__skip_pointer(struct cfi_bytes *b, __u8 encoding, const struct cfi_base *base)
{
	if (encoding == DW_EH_PE_omit)
		return;
	if (COUNTS_FROM(encoding) == DW_EH_PE_aligned)
		read_aligned(b, base);
	else
		read_value(b, encoding);
}
