/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * confined.h - a program may give up system calls (seccomp), and be killed by the kernel for one that it
 * did not make itself. From then on the library makes none: what it needs is there before.
 */
#ifndef PERF_CHURN_PRELOAD_CONFINED_H
#define PERF_CHURN_PRELOAD_CONFINED_H

#include <linux/types.h>
#include <stdbool.h>

/* Has it? */
static inline bool is_confined(void)
{
	extern bool process_is_confined __attribute__((visibility("hidden")));

	return __atomic_load_n(&process_is_confined, __ATOMIC_RELAXED);
}

/**
 * confined__begin() - From now on it has.
 */
void confined__begin(void);

/**
 * confined__tid() - The thread's id, as libc knows it: a child that was not made by libc has its
 * parent's.
 */
__u32 confined__tid(void);

#endif /* PERF_CHURN_PRELOAD_CONFINED_H */
