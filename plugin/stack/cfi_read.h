/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfi_read.h - takes .eh_frame and .debug_frame apart into their entries (DWARF 5, 6.4.1).
 */
#ifndef PERF_CHURN_STACK_CFI_READ_H
#define PERF_CHURN_STACK_CFI_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "cfi_elf.h"
#include "cfi_program.h"

/**
 * struct cfi_fde - A frame description entry, of code from @start on.
 * @offset: In its section; small, because a large file has a million of them.
 * @is_debug: That is .debug_frame.
 */
struct cfi_fde {
	__u64 start;
	__u32 offset;
	__u32 is_debug;
};

/**
 * struct cfi_frames - What the sections of a file hold.
 * @cies: Those of .eh_frame, then those of .debug_frame, the first of which is @first_debug_cie.
 * @fdes: Those of code that is in an executable segment, in the order of the file.
 */
struct cfi_frames {
	const struct cfi_elf *elf;
	struct cfi_cie *cies;
	size_t nr_cies, room_cies, first_debug_cie;
	struct cfi_fde *fdes;
	size_t nr_fdes;
};

/**
 * cfi_frames__init() - Read the entries of both sections.
 * @elf: Must outlive @frames.
 * @frames: To be released with cfi_frames__exit() even if this fails.
 *
 * Entries that make no sense are left out; behind a length that makes none, nothing is read.
 *
 * Return: 0, -E2BIG, -ENOMEM.
 */
int cfi_frames__init(struct cfi_frames *frames, const struct cfi_elf *elf);
void cfi_frames__exit(struct cfi_frames *frames);

/** cfi_frames__program() - An FDE's instructions, for code that is in an executable segment. */
struct cfi_program cfi_frames__program(const struct cfi_frames *frames, const struct cfi_fde *fde);

#endif /* PERF_CHURN_STACK_CFI_READ_H */
