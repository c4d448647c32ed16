/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * preload.h - what libperf-churn.so and its BPF program tell each other. Not in the file, no ABI: both
 * are built and installed together. Includes nothing, like churn.h.
 *
 * The library counts calls in each thread, picks some of them, and calls perf_churn_hook() for those
 * and for the frees of their blocks: an empty function with a probe on it. The kernel itself tells the
 * library whether anybody listens: the probe comes with a reference counter
 * (PRELOAD_COUNTER_SYMBOL), which is 0 again when the recorder is gone, however.
 */
#ifndef PERF_CHURN_BPF_PRELOAD_H
#define PERF_CHURN_BPF_PRELOAD_H

#define PRELOAD_LIBRARY		"libperf-churn.so"
#define PRELOAD_HOOK_SYMBOL	"perf_churn_hook"	/* void (const struct preload_call *) */
#define PRELOAD_FAST_SYMBOL	"perf_churn_hook_fast"	/* likewise; called instead where it is probed, too */
#define PRELOAD_COUNTER_SYMBOL	"perf_churn_listeners"	/* unsigned short, in file-backed .data */
#define PRELOAD_EPOCH_OFFSET	2	/* from it: unsigned short */
#define PRELOAD_EPOCH_SHADOWED	0xffff	/* for ever: PRELOAD_SHADOWED */

/* Environment of the program; unknown or damaged values count as not given. */
#define PRELOAD_ENV_SESSION	"PERF_CHURN_SESSION"	/* hex; preload_call.session */
#define PRELOAD_ENV_COUNT	"PERF_CHURN_COUNT"	/* sample one call in N; not given: adapt */
#define PRELOAD_ENV_BYTES	"PERF_CHURN_BYTES"	/* sample one byte in N instead */
#define PRELOAD_ENV_RATE	"PERF_CHURN_RATE"	/* samples per second of CPU time to adapt to */

#define PRELOAD_DEFAULT_RATE	1000
#define PRELOAD_MAX_FRAMES	4	/* of the library, from the hook to the program's call, at most */

/* 0: nothing was said, a recorder tries its probe. */
enum preload_kind {
	PRELOAD_ALLOC	= 1,
	PRELOAD_FREE	= 2,	/* of a sampled block; called before the block is given back */
	PRELOAD_TOTALS	= 3,	/* nothing but @since: at the end of a thread or of the process */
	PRELOAD_SHADOWED = 4,	/* another's malloc comes before ours: there will be nothing more */
};

/* Of one thread, since its hook call before; the fields are those of struct churn_totals. */
struct preload_totals {
	__u64 nr_allocs;
	__u64 alloc_bytes;
	__u64 nr_frees;
	__u64 nr_failed;
	__u64 nr_free_null;
	__u64 nr_reallocs;
	__u64 nr_lost_map;		/* sampled blocks that cannot be followed: table full */
	__u64 nr_lost_inflight;		/* samples not taken: in a signal handler on top of another */
};

/**
 * struct preload_call - The hook's argument, on the caller's stack.
 * @session: Of the recording that started the program, 0: started by `perf churn run`.
 * @kind: enum preload_kind.
 * @fn: enum churn_fn.
 * @ptr, @size, @weight, @old_ptr, @seq: As in struct churn_alloc; of a free, those of its allocation,
 *	without @old_ptr.
 * @caller: Return address into the program that called the allocator.
 * @alloc_ns: Of a free: CLOCK_MONOTONIC at its allocation.
 * @alloc_tid: Of a free: thread that allocated it.
 * @flags: enum churn_flags.
 * @period: Mean gap between samples in force, in calls; 0 with PRELOAD_ENV_BYTES.
 * @since: Counted up to this call, and with it.
 */
struct preload_call {
	__u64 session;
	__u32 kind;
	__u32 fn;
	__u64 ptr;
	__u64 size;
	__u64 weight;
	__u64 old_ptr;
	__u64 seq;
	__u64 caller;
	__u64 alloc_ns;
	__u32 alloc_tid;
	__u32 flags;
	__u64 period;
	struct preload_totals since;
};
_Static_assert(sizeof(struct preload_call) == 152, "no holes");

#endif /* PERF_CHURN_BPF_PRELOAD_H */
