/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu_class.h - what a CPU sample was spent on, told by its stack. Each sample is of one class.
 */
#ifndef PERF_CHURN_CHURN_CPU_CLASS_H
#define PERF_CHURN_CHURN_CPU_CLASS_H

#include <stddef.h>
#include <linux/types.h>

#include "names.h"
#include "report.h"

struct frame;

/** enum model_cpu_flags - What was on a CPU sample's stack. */
enum model_cpu_flags {
	CPU_ALLOCATOR		= 1 << 0,	/* an allocator function */
	CPU_PROBE		= 1 << 1,	/* the kernel handled our probes, or our library ran */
	CPU_CHAINED		= 1 << 2,	/* more than one user frame */
	CPU_UNNAMED_LIBC	= 1 << 3,
	CPU_KERNEL		= 1 << 4,
	CPU_UNDER_FREE		= 1 << 5,	/* kernel work that freeing caused */
	CPU_FIRST_TOUCH		= 1 << 6,	/* a fault on fresh memory, outside the allocator */
	CPU_OTHER_FAULT		= 1 << 7,	/* on a file's page, or one that is copied */
	CPU_SOME_FAULT		= 1 << 8,	/* the stack does not say on what */
	CPU_SIDE_UNKNOWN	= 1 << 9,	/* the allocator's functions have no names */
	CPU_UNNAMED_KERNEL	= 1 << 10,
	CPU_MEMSET		= 1 << 11,	/* in memset(), which calloc() ends with a jump to */
	CPU_ZEROING		= 1 << 12,	/* calloc() clears the block */
};

/** CPU_NEEDS_STACK - Flags of samples of class CLASS_COMPUTE whose stack matters all the same. */
#define CPU_NEEDS_STACK	(CPU_OTHER_FAULT | CPU_SOME_FAULT | CPU_MEMSET)

/**
 * cpu_class__of() - Class of a stack.
 * @frames, @kinds: Innermost first, kernel frames included; frames of the recorder's preload
 *	library that are not the innermost ones are taken for the allocator's.
 * @flags: Set.
 */
enum cpu_class cpu_class__of(const struct frame *frames, const enum frame_kind *kinds, size_t nr,
			     __u32 *flags);

/**
 * cpu_class__cut() - Leave out what a sample's site does not depend on.
 *
 * Kernel frames go, and what the allocator calls, like munmap(), which is in no allocation's stack;
 * what the preload library does on the way to the allocator is its caller's.
 *
 * Return: how many frames are left.
 */
size_t cpu_class__cut(struct frame *frames, enum frame_kind *kinds, size_t nr);

#endif /* PERF_CHURN_CHURN_CPU_CLASS_H */
