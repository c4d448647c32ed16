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
 * struct cfi_fde - A frame description entry: code [@start, @end).
 * @code, @code_bytes: Its instructions in the section.
 * @cie: Index.
 * @is_debug: Out of .debug_frame.
 */
struct cfi_fde {
	__u64 start, end;
	__u32 code, code_bytes;
	__u32 cie;
	__u32 is_debug;
};

/**
 * struct cfi_frames - What the sections of a file hold; all zero: nothing yet.
 * @fdes: Those of code that is in an executable segment, in the order of the file.
 */
struct cfi_frames {
	struct cfi_cie *cies;
	size_t nr_cies, room_cies;
	struct cfi_fde *fdes;
	size_t nr_fdes, room_fdes;
};

/**
 * cfi_frames__read() - Add the entries of one of @elf's sections.
 *
 * Entries that make no sense are left out; behind a length that makes none, nothing is read.
 *
 * Return: 0, -E2BIG, -ENOMEM.
 */
int cfi_frames__read(struct cfi_frames *frames, const struct cfi_elf *elf, bool is_debug);
void cfi_frames__exit(struct cfi_frames *frames);

/** cfi_frames__run() - Run an FDE's instructions; see struct cfi_program for @emit. */
int cfi_frames__run(const struct cfi_frames *frames, const struct cfi_elf *elf,
		    const struct cfi_fde *fde,
		    int (*emit)(void *ctx, __u64 vaddr, const struct walk_rule *rule), void *ctx);

#endif /* PERF_CHURN_STACK_CFI_READ_H */
