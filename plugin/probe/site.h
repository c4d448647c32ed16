/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * site.h - which instruction of a function a uprobe costs least at, and what else its code tells.
 */
#ifndef PERF_CHURN_PROBE_SITE_H
#define PERF_CHURN_PROBE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* How far from the entry a site is looked for. */
#define SITE_MAX_DELTA	64

/**
 * struct site_code - The machine code of a function.
 * @bytes: From its entry on.
 * @nr_bytes: Bytes there are; may end before the function does, or go on behind it.
 * @fn_bytes: Length of the function itself; 0 when unknown.
 * @vaddr: Address of the first byte.
 */
struct site_code {
	const __u8 *bytes;
	size_t nr_bytes;
	size_t fn_bytes;
	__u64 vaddr;
};

/**
 * struct site - The instruction to probe.
 * @delta: Bytes from the entry.
 * @emulated: The kernel emulates it; else it is single-stepped.
 * @insn: Its text, AT&T syntax.
 */
struct site {
	__u32 delta;
	bool emulated;
	char insn[32];
};

/**
 * site__choose() - The first emulated instruction that every call passes exactly once, with the
 *	arguments still in their registers and the stack pointer at the return address.
 * @nr_args: Arguments that must be there yet (rdi, rsi, rdx), 0 to 3.
 * @ret: Always filled: the entry itself where there is no such instruction, or what follows the nops of
 *	5 bytes and more that stand there.
 */
void site__choose(const struct site_code *code, unsigned int nr_args, struct site *ret);

/**
 * site__each_branch() - Visit the targets of a function's direct calls and jumps.
 * @visit: Called with the target; true ends the walk. @is_slot: the target is not the code but
 *	the address of the pointer to it (`call *slot(%rip)`).
 *
 * Return: What the last @visit returned; false when there was none.
 */
bool site__each_branch(const struct site_code *code,
		       bool (*visit)(void *ctx, __u64 target, bool is_slot), void *ctx);

/**
 * enum site_reference - How an instruction names an address.
 * @SITE_BRANCH: A direct call or jump goes there.
 * @SITE_SLOT: A call or jump goes where the pointer stored there says.
 * @SITE_ADDRESS: The address itself is taken (`lea fn(%rip), %reg`).
 */
enum site_reference {
	SITE_BRANCH,
	SITE_SLOT,
	SITE_ADDRESS,
};

/**
 * site__each_reference() - Visit the addresses that a function's instructions name.
 * @visit: As for site__each_branch().
 *
 * Return: What the last @visit returned; false when there was none.
 */
bool site__each_reference(const struct site_code *code,
			  bool (*visit)(void *ctx, __u64 target, enum site_reference kind),
			  void *ctx);

/**
 * site__sets_args() - Does the code call a function right after it has set its arguments?
 * @target: The function.
 * @nr_args: As many, 0 to 3, are written between the last branch and the call.
 */
bool site__sets_args(const struct site_code *code, __u64 target, unsigned int nr_args);

/**
 * site__tail_jump() - Where a function goes on that does nothing but jump there.
 * @ret: Target of its first branch, if that is an unconditional direct jump: written then only.
 * @is_slot: As for site__each_branch().
 *
 * Return: Is it such a function?
 */
bool site__tail_jump(const struct site_code *code, __u64 *ret, bool *is_slot);

#endif /* PERF_CHURN_PROBE_SITE_H */
