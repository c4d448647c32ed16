/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * churn.h - the event ABI, shared by the BPF programs, the recorder and readers.
 *
 * Each struct below is the raw payload of one sample in a perf.data file. It
 * begins with the trace common header, so that a perf tracepoint evsel whose
 * format text describes it (plugin/perfdata/formats.c) decodes it.
 *
 * Append only. Documentation/churn-events.txt is this file in words and
 * changes in the same commit. This header includes nothing: BPF programs bring
 * the types from vmlinux.h, C code includes <linux/types.h> first.
 */
#ifndef PERF_CHURN_BPF_CHURN_H
#define PERF_CHURN_BPF_CHURN_H

/* Version of this ABI: the file's VERSION string ends in "churn-abi/1". */
#define CHURN_ABI_VERSION	1

/*
 * Tracepoint ids (attr.config and common_type): above what kernels hand out,
 * and 16 bits wide, since common_type is.
 */
enum churn_event_id {
	CHURN_ALLOC_ID	= 65001,
	CHURN_FREE_ID	= 65002,
	CHURN_LOCK_ID	= 65003,	/* reserved: waits for arena locks */
	CHURN_WINDOW_ID	= 65004,
	CHURN_PROBE_ID	= 65005,
	CHURN_RANGE_ID	= 65006,
	CHURN_STACKS_ID	= 65007,
};

/* The entry point that was called. Append only. */
enum churn_fn {
	CHURN_FN_NONE		= 0,
	CHURN_FN_MALLOC		= 1,
	CHURN_FN_CALLOC		= 2,
	CHURN_FN_REALLOC	= 3,
	CHURN_FN_MEMALIGN	= 4,
	CHURN_FN_ALIGNED_ALLOC	= 5,
	CHURN_FN_POSIX_MEMALIGN	= 6,
	CHURN_FN_VALLOC		= 7,
	CHURN_FN_PVALLOC	= 8,
	CHURN_FN_FREE		= 9,
	/* Inside the allocator, for --slow-path: no entry points. */
	CHURN_FN_REFILL		= 10,	/* serves what its caches could not */
	CHURN_FN_OS_ALLOC	= 11,	/* gets memory from the system */
	CHURN_FN_OS_FREE	= 12,	/* gives memory back to it */
	CHURN_FN_NR,
};

/* churn_alloc.flags and churn_free.flags */
enum churn_flags {
	CHURN_F_MOVED		= 1 << 0,	/* realloc handed out another address */
	CHURN_F_UNSEEN		= 1 << 1,	/* free: its allocation was not seen */
	CHURN_F_CROSS_THREAD	= 1 << 2,	/* free: by another thread than allocated */
	CHURN_F_REPAIRED	= 1 << 3,	/* the recorder put the caller into the callchain */
	CHURN_F_INHERITED	= 1 << 4,	/* unseen, but live in the parent: from before a fork */
	CHURN_F_PRELOAD		= 1 << 5,	/* taken by the preload library, not by a uprobe */
	CHURN_F_OS		= 1 << 6,	/* refill: it got memory from the system */
};

/* churn_window.flags */
enum churn_window_flags {
	CHURN_W_SAMPLED	= 1 << 0,	/* stands for @between_ns, too, which was not counted */
	CHURN_W_ALL	= 1 << 1,	/* of all processes together (-a) */
	CHURN_W_COST	= 1 << 2,	/* @cpu_ns and the costs are known */
	CHURN_W_OFF	= 1 << 3,	/* no probes were wanted */
};

/* How the address ranges of an allocator were found. Append only. */
enum churn_range_how {
	CHURN_RANGE_SYMTAB	= 1,	/* by the object's own symbols */
	CHURN_RANGE_DEBUG	= 2,	/* by the symbols of its separate debug file */
	CHURN_RANGE_CALLS	= 3,	/* by following calls from its entry points */
	CHURN_RANGE_OBJECT	= 4,	/* all code of an allocator's own library */
};

struct churn_common {
	__u16 type;			/* enum churn_event_id */
	__u8 flags;
	__u8 preempt_count;
	__s32 pid;			/* thread id, as in trace events */
};

/**
 * struct churn_alloc - One sampled allocation that succeeded, emitted at its return.
 * @ptr: Address handed out.
 * @size: Bytes asked for; for calloc the product; for a refill, by the allocator of itself.
 * @size_class: Smallest power of two >= @size (1 for size 0).
 * @old_ptr: For realloc the block it was called with, else 0.
 * @seq: Number of this sample, unique in the recording; churn_free.seq refers to it.
 * @weight: Allocations this sample stands for (1 / the probability it was taken with).
 * @caller: Return address into the caller.
 * @fn: enum churn_fn.
 * @flags: enum churn_flags.
 */
struct churn_alloc {
	struct churn_common common;
	__u64 ptr;
	__u64 size;
	__u64 size_class;
	__u64 old_ptr;
	__u64 seq;
	__u64 weight;
	__u64 caller;
	__u32 fn;
	__u32 flags;
};
_Static_assert(sizeof(struct churn_alloc) == 72, "churn_alloc is ABI");

/**
 * struct churn_free - The free of a sampled block, or (flag UNSEEN, exact mode only) of an unknown one.
 * @ptr: Address given back.
 * @size: Bytes asked for when it was allocated; 0 when unseen.
 * @lifetime_ns: From the allocation's return to this call; 0 when unseen.
 * @life_class: Smallest power of two >= @lifetime_ns; 0 when unseen.
 * @weight: Frees this sample stands for: the weight of its allocation.
 * @seq: seq of its allocation; 0 when unseen.
 * @caller: Return address into the caller of free or realloc.
 * @alloc_tid: Thread that allocated it; 0 when unseen.
 * @fn: CHURN_FN_FREE, or CHURN_FN_REALLOC where realloc gave the block back.
 * @flags: enum churn_flags.
 * @pad: Zero.
 */
struct churn_free {
	struct churn_common common;
	__u64 ptr;
	__u64 size;
	__u64 lifetime_ns;
	__u64 life_class;
	__u64 weight;
	__u64 seq;
	__u64 caller;
	__u32 alloc_tid;
	__u32 fn;
	__u32 flags;
	__u32 pad;
};
_Static_assert(sizeof(struct churn_free) == 80, "churn_free is ABI");

/**
 * struct churn_window - Totals of one process since its previous window record.
 * @start_ns: CLOCK_MONOTONIC at the start of the window.
 * @end_ns: CLOCK_MONOTONIC at its end; the sample's own time, when it was written, is later.
 * @nr_allocs: Allocation calls counted, failed ones not included where they
 *	could be told (always with weight 1; see @nr_failed).
 * @alloc_bytes: Bytes those calls asked for.
 * @nr_frees: Frees of a block by the program: free of non-NULL, and every
 *	successful realloc of a non-NULL block.
 * @nr_failed: Allocations seen to fail. With @sample_period > 1 only sampled
 *	calls can be seen to, each counts as its weight.
 * @nr_free_null: free(NULL) calls.
 * @nr_free_unseen: Frees of blocks whose allocation this recording cannot have
 *	seen ("allocated before"); exact mode only.
 * @nr_free_internal: Frees the allocator did for itself (thread cache emptied at
 *	thread exit), not in @nr_frees.
 * @nr_reallocs: Successful reallocs of a non-NULL block (each is in @nr_allocs
 *	and @nr_frees, too).
 * @nr_lost_output: Churn samples lost because a ring was full.
 * @nr_lost_map: Samples lost because a BPF map was full.
 * @nr_lost_inflight: Samples lost between entry and return of a call.
 * @nr_hits: Probe hits.
 * @sample_period: Mean period N in force at the window's end (1: exact; 0: bytes are sampled, not
 *	calls).
 * @gap_ns: Time this process ran, or may have run, before its probes were
 *	in place, in ns (a forked child whose links came late).
 *
 * What follows is 0 unless probes were on in windows only, or the cost was measured:
 * @between_ns: From the end of the process's last window to @start_ns: that time was not counted.
 * @cpu_ns: CPU time of the process from @start_ns to @end_ns, the probes' cost included.
 * @cpu_between_ns: Its CPU time in @between_ns.
 * @user_clock, @user_clock_between: The same by a hardware counter that stands still in the kernel
 *	(instructions:u or cycles:u); 0: there is none.
 * @cost_ns: What the hits in the window cost the process: hits times the measured cost of each.
 * @cost_err_ns: That is right within +- this, at 95 %.
 * @nr_stray, @stray_cost_ns: Hits while probes were planted or removed, and of threads, users and
 *	CPUs that were not asked for.
 * @stall_ns: How long planting and removing probes stopped the process, about.
 * @probed_start_ns, @probed_end_ns: The process had breakpoints.
 * @budget_ppm: The budget, in millionths of the CPU time; 0: none.
 * @flags: enum churn_window_flags.
 */
struct churn_window {
	struct churn_common common;
	__u64 start_ns;
	__u64 end_ns;
	__u64 nr_allocs;
	__u64 alloc_bytes;
	__u64 nr_frees;
	__u64 nr_failed;
	__u64 nr_free_null;
	__u64 nr_free_unseen;
	__u64 nr_free_internal;
	__u64 nr_reallocs;
	__u64 nr_lost_output;
	__u64 nr_lost_map;
	__u64 nr_lost_inflight;
	__u64 nr_hits;
	__u64 sample_period;
	__u64 gap_ns;
	__u64 between_ns;
	__u64 cpu_ns;
	__u64 cpu_between_ns;
	__u64 user_clock;
	__u64 user_clock_between;
	__u64 cost_ns;
	__u64 cost_err_ns;
	__u64 nr_stray;
	__u64 stray_cost_ns;
	__u64 stall_ns;
	__u64 probed_start_ns;
	__u64 probed_end_ns;
	__u32 budget_ppm;
	__u32 flags;
};
_Static_assert(sizeof(struct churn_window) == 240, "churn_window is ABI");

/**
 * struct churn_probe - One probed entry point, written when the recording ends.
 * @offset: File offset of the probed instruction.
 * @nr_hits: Hits in all traced processes.
 * @site_delta: Bytes from the function's entry to the probed instruction.
 * @fn: enum churn_fn; CHURN_FN_NONE: the hook of the preload library.
 * @emulated: 1: the kernel emulates the instruction; 0: it is single-stepped.
 * @pad: Zero.
 * @symbol: Function name, NUL-terminated.
 * @object: Path of the object file, NUL-terminated, cut from the left if long.
 */
struct churn_probe {
	struct churn_common common;
	__u64 offset;
	__u64 nr_hits;
	__u32 site_delta;
	__u32 fn;
	__u32 emulated;
	__u32 pad;
	char symbol[32];
	char object[128];
};
_Static_assert(sizeof(struct churn_probe) == 200, "churn_probe is ABI");

/**
 * struct churn_range - Code of a probed allocator, written when the recording ends.
 * @start: Its first address in the object, as linked (st_value).
 * @end: The address behind it.
 * @offset: File offset of @start; all of the range is mapped as the file has it.
 * @how: enum churn_range_how.
 * @build_id_bytes: Length of @build_id; 0: the object has none.
 * @build_id: GNU build-id of the object, the rest zero.
 * @pad: Zero.
 * @object: Path of the object file, NUL-terminated, cut from the left if long.
 */
struct churn_range {
	struct churn_common common;
	__u64 start;
	__u64 end;
	__u64 offset;
	__u32 how;
	__u32 build_id_bytes;
	__u8 build_id[20];
	__u32 pad;
	char object[128];
};
_Static_assert(sizeof(struct churn_range) == 192, "churn_range is ABI");

/**
 * struct churn_stacks - Where user stacks ended that were walked by call frame information, since the
 *	recording began: the last of these samples counts. Its event is there in such recordings only.
 * @nr_complete: At the thread's start.
 * @nr_max: As deep as was asked for (--max-stack).
 * @nr_no_map: At an address in no known mapping.
 * @nr_no_table: In a file whose call frame information was not read in time.
 * @nr_no_cfi: In code without call frame information, of a file that has some.
 * @nr_fault: Where the stack could not be read.
 * @nr_stuck: At a frame that is not above the one it has called.
 * @nr_no_reg: At a frame that only a register tells which is not followed.
 * @nr_no_user: There was no user stack: kernel threads.
 * @nr_copied: Of all these, walked by the recorder from a copy.
 */
struct churn_stacks {
	struct churn_common common;
	__u64 nr_complete;
	__u64 nr_max;
	__u64 nr_no_map;
	__u64 nr_no_table;
	__u64 nr_no_cfi;
	__u64 nr_fault;
	__u64 nr_stuck;
	__u64 nr_no_reg;
	__u64 nr_no_user;
	__u64 nr_copied;
};
_Static_assert(sizeof(struct churn_stacks) == 88, "churn_stacks is ABI");

#endif /* PERF_CHURN_BPF_CHURN_H */
