// SPDX-License-Identifier: GPL-2.0-only
#include "hook.h"

/* The kernel changes it through the file's mapping: not in .bss, even though it is almost zero. */
union hook_switch perf_churn_listeners __attribute__((section(".data"))) = { .epoch = 1 };

/*
 * In assembly, since the first instruction is to be a nop of one byte, which all kernels emulate.
 * One of 5 bytes would be a fifth cheaper from Linux 6.18 on, which replaces it by a call; but a
 * child that such a process forks does not inherit what is called, and crashes (seen on 6.18.44).
 */
__asm__(".pushsection .text\n"
	".balign 64\n"
	".globl perf_churn_hook\n"
	".protected perf_churn_hook\n"
	".type perf_churn_hook, %function\n"
	"perf_churn_hook:\n"
	".cfi_startproc\n"
	"nop\n"
	"ret\n"
	".cfi_endproc\n"
	".size perf_churn_hook, . - perf_churn_hook\n"
	".popsection\n");

void hook__next_epoch(void)
{
	__u16 old = __atomic_load_n(&perf_churn_listeners.epoch, __ATOMIC_RELAXED), epoch;

	do {
		epoch = old + 1 ?: 1;
	} while (!__atomic_compare_exchange_n(&perf_churn_listeners.epoch, &old, epoch, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}
