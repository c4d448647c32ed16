/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfi_bytes.h - reads numbers out of bytes that may end anywhere.
 */
#ifndef PERF_CHURN_STACK_CFI_BYTES_H
#define PERF_CHURN_STACK_CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

/**
 * struct cfi_bytes - What is still to be read.
 * @bad: Something was read that is not there: all that came out since is 0.
 */
struct cfi_bytes {
	const __u8 *pos, *end;
	bool bad;
};

static inline size_t cfi_bytes__left(const struct cfi_bytes *b)
{
	return b->end - b->pos;
}

static inline void cfi_bytes__set_bad(struct cfi_bytes *b)
{
	b->pos = b->end;
	b->bad = true;
}

/** cfi_bytes__take() - The next @nr bytes as bytes of their own. */
static inline struct cfi_bytes cfi_bytes__take(struct cfi_bytes *b, __u64 nr)
{
	struct cfi_bytes taken = { b->pos, b->pos, false };

	if (nr > cfi_bytes__left(b)) {
		cfi_bytes__set_bad(b);
		taken.bad = true;
		return taken;
	}
	b->pos += nr;
	taken.end = b->pos;
	return taken;
}

#define CFI_BYTES_NUMBER(type)						\
static inline __##type cfi_bytes__##type(struct cfi_bytes *b)		\
{									\
	__##type value;							\
									\
	if (cfi_bytes__left(b) < sizeof(value)) {			\
		cfi_bytes__set_bad(b);					\
		return 0;						\
	}								\
	memcpy(&value, b->pos, sizeof(value));				\
	b->pos += sizeof(value);					\
	return value;							\
}

/* cfi_bytes__u8() and so on: a number as this machine stores it (x86-64 only). */
CFI_BYTES_NUMBER(u8)
CFI_BYTES_NUMBER(u16)
CFI_BYTES_NUMBER(u32)
CFI_BYTES_NUMBER(u64)
#undef CFI_BYTES_NUMBER

/* Bits past the 64th are dropped. */
static inline __u64 cfi_bytes__leb128(struct cfi_bytes *b, bool is_signed)
{
	unsigned int shift = 0;
	__u64 value = 0;
	__u8 byte;

	do {
		byte = cfi_bytes__u8(b);
		if (shift < 64)
			value |= (__u64)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ULL << shift;
	return value;
}

static inline __u64 cfi_bytes__uleb(struct cfi_bytes *b)
{
	/* Nearly all are of one byte. */
	if (b->pos < b->end && !(*b->pos & 0x80))
		return *b->pos++;
	return cfi_bytes__leb128(b, false);
}

static inline __s64 cfi_bytes__sleb(struct cfi_bytes *b)
{
	return cfi_bytes__leb128(b, true);
}

/**
 * struct cfi_base - What encoded pointers (DW_EH_PE_*) count from.
 * @bytes, @vaddr: The section, and its virtual address.
 * @data: Base of DW_EH_PE_datarel; 0: there is none.
 */
struct cfi_base {
	const __u8 *bytes;
	__u64 vaddr;
	__u64 data;
};

/**
 * cfi_bytes__pointer() - Read a pointer.
 * @encoding: DW_EH_PE_*; one that says nothing on its own (textrel, indirect ...) makes @b bad.
 *
 * Return: The address; 0 where 0 is written, whatever it counts from.
 */
__u64 cfi_bytes__pointer(struct cfi_bytes *b, __u8 encoding, const struct cfi_base *base);

/** cfi_bytes__skip_pointer() - Step over one, of any kind. */
void cfi_bytes__skip_pointer(struct cfi_bytes *b, __u8 encoding, const struct cfi_base *base);

#endif /* PERF_CHURN_STACK_CFI_BYTES_H */
