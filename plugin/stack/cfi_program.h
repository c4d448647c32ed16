/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfi_program.h - runs call frame instructions (DWARF 5, 6.4.2) to the walker's rules.
 */
#ifndef PERF_CHURN_STACK_CFI_PROGRAM_H
#define PERF_CHURN_STACK_CFI_PROGRAM_H

#include <stdbool.h>
#include <linux/types.h>

#include "cfi_bytes.h"

#include "bpf/walk_tables.h"

/* DWARF's numbers of the registers that rules speak of. */
enum cfi_dwarf_reg {
	CFI_RAX	= 0,
	CFI_BX	= 3,
	CFI_RDI	= 5,
	CFI_BP	= 6,
	CFI_SP	= 7,
	CFI_R10	= 10,
	CFI_R11	= 11,
	CFI_RA	= 16,
};

enum cfi_kind {
	CFI_OTHER = 0,			/* in a way that rules cannot say */
	/* The CFA: */
	CFI_REG,			/* reg + off */
	CFI_AT,				/* *(reg + off) + add */
	CFI_PLT,			/* see WALK_CFA_PLT */
	/* A saved register: */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,			/* at CFA + off */
	CFI_AT_REG,			/* at reg + off */
	CFI_VAL_CFA,			/* it is CFA + off */
	CFI_IN_REG,			/* it is reg */
};

/** struct cfi_place - Where something is: as @kind says of the others. */
struct cfi_place {
	__u8 kind;			/* enum cfi_kind */
	__u64 reg;
	__s64 off, add;
};

/** struct cfi_state - Where all is, at one instruction. */
struct cfi_state {
	struct cfi_place cfa, bp, bx, sp, ra;
};

/** cfi_state__rule() - As a rule, in its one form: what a rule does not use is zero. */
struct walk_rule cfi_state__rule(const struct cfi_state *state, bool is_signal);

/** cfi_place__read_cfa() - The CFA that an expression stands for. */
struct cfi_place cfi_place__read_cfa(struct cfi_bytes expr);

/** cfi_place__read_saved() - Where a register is that was saved at an expression's address. */
struct cfi_place cfi_place__read_saved(struct cfi_bytes expr);

/**
 * struct cfi_cie - A common information entry.
 * @offset: In its section.
 * @encoding: Of the addresses in its FDEs.
 * @has_data: "z": FDEs have augmentation data, its size in front of it.
 * @is_signal: "S": the frame of a signal handler's caller.
 * @initial: As its instructions leave it.
 */
struct cfi_cie {
	size_t offset;
	__u64 code_align;
	__s64 data_align;
	__u8 encoding;
	bool has_data, is_signal;
	struct cfi_state initial;
};

/** cfi_cie__run() - Fill @initial. Return: 0, or -EINVAL for instructions nobody can follow. */
int cfi_cie__run(struct cfi_cie *cie, struct cfi_bytes code);

/**
 * struct cfi_program - The instructions of an FDE, for addresses [@start, @end).
 * @base: Of the section that @code is in.
 */
struct cfi_program {
	const struct cfi_cie *cie;
	struct cfi_base base;
	struct cfi_bytes code;
	__u64 start, end;
};

typedef int (*cfi_emit_fn)(void *ctx, __u64 vaddr, const struct walk_rule *rule);

/**
 * cfi_program__run() - Run it.
 * @emit: Called for each address from which a rule holds, ascending, the first one @prog->start.
 *	Where the instructions make no sense, from there on rule 0 holds.
 *
 * Return: 0, or the first other value of @emit.
 */
int cfi_program__run(const struct cfi_program *prog, cfi_emit_fn emit, void *ctx);

#endif /* PERF_CHURN_STACK_CFI_PROGRAM_H */
