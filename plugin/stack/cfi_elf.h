/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfi_elf.h - the call frame sections of an x86-64 ELF file. Any byte of it may be hostile.
 */
#ifndef PERF_CHURN_STACK_CFI_ELF_H
#define PERF_CHURN_STACK_CFI_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define CFI_MAX_SECTION_BYTES	(256U << 20)
#define CFI_MAX_SEGMENTS	16

/**
 * struct cfi_section - Bytes of one.
 * @data: NULL where the file has none; else the owner frees it.
 * @ends_itself: Nobody said where it ends: an entry of length 0 does.
 */
struct cfi_section {
	__u8 *data;
	size_t bytes;
	__u64 vaddr;
	bool ends_itself;
};

/** struct cfi_segment - Code: [@start, @end). */
struct cfi_segment {
	__u64 start, end;
};

/**
 * struct cfi_elf - What the compiler needs of the file.
 * @eh_frame: .eh_frame; found through PT_GNU_EH_FRAME where there are no section headers.
 * @debug_frame: .debug_frame, decompressed.
 * @segments: Executable ones.
 * @entry: Where the program starts; 0: nowhere.
 */
struct cfi_elf {
	struct cfi_section eh_frame, debug_frame;
	struct cfi_segment segments[CFI_MAX_SEGMENTS];
	size_t nr_segments;
	__u64 entry;
};

/**
 * cfi_elf__init() - Read headers and sections.
 * @fd: The file; -1: it is in memory, @bytes at @image.
 * @elf: To be released with cfi_elf__exit() even if this fails.
 *
 * Return: 0, also when both sections are missing; -ENOEXEC, -E2BIG, -ENOMEM, the errno of
 * fstat(2) or pread(2).
 */
int cfi_elf__init(struct cfi_elf *elf, int fd, const void *image, size_t bytes);
void cfi_elf__exit(struct cfi_elf *elf);

/** cfi_elf__segment() - The executable segment that holds @vaddr, or NULL. */
const struct cfi_segment *cfi_elf__segment(const struct cfi_elf *elf, __u64 vaddr);

#endif /* PERF_CHURN_STACK_CFI_ELF_H */
