/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * advice.h - what to do about a site: rules over its shape and what it costs.
 *
 * A rule speaks only where each figure it rests on is past its threshold by two standard errors.
 * Thresholds are documented in perf-churn-report(1).
 */
#ifndef PERF_CHURN_CHURN_ADVICE_H
#define PERF_CHURN_CHURN_ADVICE_H

#include "shape.h"

/** ADVICE_MAX - Pieces of advice for a site. */
#define ADVICE_MAX		2

/* Per cent of the CPU: below, a site is not worth a change. */
#define ADVICE_SITE_CPU		1.0
/* A buffer on the stack: largest size, share freed while its frame, or its caller's, is there. */
#define ADVICE_STACK_BYTES	1024
#define ADVICE_STACK_SHARE	0.95
/* A pool: share of blocks of one size, 90 % of them dead after this, allocations a second. */
#define ADVICE_POOL_SHARE	0.95
#define ADVICE_POOL_LIFE_NS	10e6
#define ADVICE_POOL_RATE	10000.0
/* Growth: share of allocations that only replace a smaller block. */
#define ADVICE_GROWTH_SHARE	0.3
/* An arena: blocks freed together. */
#define ADVICE_ARENA_BLOCKS	16
/* Large blocks: mean size; per cent of the CPU in page faults and syscalls for them. */
#define ADVICE_LARGE_BYTES	32768
#define ADVICE_KERNEL_CPU	1.0
/* Threads: share of frees by another one. */
#define ADVICE_CROSS_SHARE	0.5
/* calloc: share of allocations. */
#define ADVICE_CALLOC_SHARE	0.9

/** enum advice_kind - In the order of the table: of two that save the same the first is given. */
enum advice_kind {
	ADVICE_STACK,
	ADVICE_RESERVE,
	ADVICE_REUSE,
	ADVICE_ARENA,
	ADVICE_POOL,
	ADVICE_CALLOC,
	ADVICE_CROSS_THREAD,
};

/**
 * struct advice_cost - What a site costs: per cent of all CPU time.
 * @cpu: Of its whole life; of this:
 * @malloc, @free: In the allocator, reallocs with @malloc.
 * @fault, @syscall: In page faults on heap memory and in syscalls for it. Unknown ones are NAN.
 */
struct advice_cost {
	struct estimate cpu, malloc, free, fault, syscall;
};

/**
 * struct advice_input - A site.
 * @function, @freed_by: Names of the site's function and of the one at shape.freed_at; NULL:
 *	unknown.
 */
struct advice_input {
	const struct report_shape *shape;
	struct advice_cost cost;
	struct estimate allocs_per_s, avg_bytes;
	const char *function, *freed_by;
};

/**
 * struct report_advice - A piece of advice.
 * @text: What to do, and the figures that say so.
 * @saving: Per cent of the CPU that what it does away with takes now; NAN: not known.
 */
struct report_advice {
	enum advice_kind kind;
	char text[256];
	struct estimate saving;
};

/** advice__name() - As in JSON: "stack", "reserve", "pool", ... */
const char *advice__name(enum advice_kind kind);

/**
 * advice__find() - For a site of a program that does churn.
 * @ret: Room for ADVICE_MAX, the one that saves most first.
 *
 * Return: How many there are.
 */
size_t advice__find(const struct advice_input *in, struct report_advice *ret);

#endif /* PERF_CHURN_CHURN_ADVICE_H */
