// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>

#include "hook.h"

/* The kernel changes it through the file's mapping: not in .bss, even though it is almost zero. */
union hook_switch perf_churn_listeners __attribute__((section(".data"))) = { .epoch = 1 };

/*
 * In assembly, for the first instruction and for what it is aligned to. No endbr64 may come before
 * it; we call them directly.
 */
#define HOOK(name, nop)			\
	".balign 64\n"			\
	".globl " name "\n"		\
	".protected " name "\n"		\
	".type " name ", %function\n"	\
	name ":\n"			\
	".cfi_startproc\n"		\
	nop "\n"			\
	"ret\n"				\
	".cfi_endproc\n"		\
	".size " name ", . - " name "\n"

__asm__(".pushsection .text\n"
	HOOK("perf_churn_hook", "nop")
#ifdef __x86_64__
	HOOK("perf_churn_hook_fast", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00")
#else
	HOOK("perf_churn_hook_fast", "nop")
#endif
	".popsection\n");

void hook__last_epoch(void)
{
	__atomic_store_n(&perf_churn_listeners.epoch, PRELOAD_EPOCH_SHADOWED, __ATOMIC_RELAXED);
}

void hook__next_epoch(void)
{
	__u16 old = __atomic_load_n(&perf_churn_listeners.epoch, __ATOMIC_RELAXED), epoch;

	do {
		epoch = old + 1 < PRELOAD_EPOCH_SHADOWED ? old + 1 : 1;
	} while (!__atomic_compare_exchange_n(&perf_churn_listeners.epoch, &old, epoch, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}
