/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook.h - where the kernel meets the library: the probed function, and the word that says who
 * listens.
 */
#ifndef PERF_CHURN_PRELOAD_HOOK_H
#define PERF_CHURN_PRELOAD_HOOK_H

#include <linux/types.h>
#include <stdbool.h>

#include <stddef.h>

#include "bpf/preload.h"

#ifdef __x86_64__
#define HOOK_FAST_NOP	0x0f	/* its first byte */
#endif

/*
 * The kernel writes @listeners, when a probe on the hook comes or goes; we write @epoch (never 0),
 * when all threads are to look up from their work: the period has changed, or a recording
 * has ended. Both are compared at once.
 */
union hook_switch {
	struct {
		__u16 listeners;
		__u16 epoch;
	};
	__u32 word;
};
_Static_assert(offsetof(union hook_switch, epoch) == PRELOAD_EPOCH_OFFSET, "recorders read it");

extern union hook_switch perf_churn_listeners __attribute__((visibility("protected")));

/**
 * perf_churn_hook() - Does nothing, but for the probe on it.
 * @call: What there is to say.
 *
 * Begins with a nop of one byte, which all kernels emulate.
 */
void perf_churn_hook(const struct preload_call *call) __attribute__((visibility("protected")));

/**
 * perf_churn_hook_fast() - The same, with a nop of 5 bytes.
 *
 * Linux 6.18 replaces it by a call, which costs less than half of a trap. But a child that such a
 * process forks has the call and not what it calls (seen on 6.18.44), so it must not come here.
 */
void perf_churn_hook_fast(const struct preload_call *call)
	__attribute__((visibility("protected")));

/* Is there a probe? Else it begins as it was built. */
static inline bool hook__has_fast(void)
{
#ifdef HOOK_FAST_NOP
	return *(const volatile __u8 *)perf_churn_hook_fast != HOOK_FAST_NOP;
#else
	return false;
#endif
}

static inline __u32 hook__word(void)
{
	return __atomic_load_n(&perf_churn_listeners.word, __ATOMIC_RELAXED);
}

static inline __u16 hook__listeners(__u32 word)
{
	return ((union hook_switch){ .word = word }).listeners;
}

/**
 * hook__next_epoch() - Let all threads come to the slow path with their next call.
 */
void hook__next_epoch(void);

/**
 * hook__last_epoch() - Nothing will ever be counted: for recorders that look at the process.
 */
void hook__last_epoch(void);

#endif /* PERF_CHURN_PRELOAD_HOOK_H */
