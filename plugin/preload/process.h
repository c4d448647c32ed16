/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process.h - what a process has while it is recorded: one mapping, made when the first thread
 * learns that somebody listens.
 *
 * All of it but its head is wiped by the kernel in a forked child, however it was forked: there the
 * counts begin at 0, nothing is followed, and the next call that counts down finds itself without
 * an owner and begins anew. So nobody has to be told of forks. A child of vfork shares it with its
 * parent.
 */
#ifndef PERF_CHURN_PRELOAD_PROCESS_H
#define PERF_CHURN_PRELOAD_PROCESS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "blocks.h"
#include "bpf/preload.h"
#include "settings.h"

#define PROCESS_HEAD_BYTES	65536		/* a multiple of any page size */

/**
 * struct countdown - Counts, and says when to look up.
 * @left: Counted down by the thread alone; below 0 it looks up.
 * @base: @base - @left have been counted, ever.
 */
struct countdown {
	__s64 left;
	__u64 base;
};

/**
 * struct slot - One thread. What is counted here only grows, over all threads that have it in turn.
 * @calls, @bytes: Allocations and what they asked for.
 * @frees: Frees, those of NULL and of realloc not included.
 * @nr_free_null, @nr_reallocs: Likewise.
 * @owner: Thread id, 0: free.
 * @recording: What was counted before this one of process.recording is not to be reported.
 * @changes: Odd while the slow path moves the countdowns.
 * @rest: Calls or bytes to the next sample beyond @calls.left or @bytes.left.
 * @period, @scale: In force since the gap was drawn; 0: none was drawn yet.
 * @metered: Calls that the meter knows of.
 * @random: State of gaps__random().
 * @reported_ms: Coarse time of the last call of the hook.
 * @rare: Counted by the slow path only: nr_failed, nr_lost_map and nr_lost_inflight.
 * @reported: What the hook was told.
 */
struct slot {
	struct countdown calls;
	struct countdown bytes;
	struct countdown frees;
	__u64 nr_free_null;
	__u64 nr_reallocs;
	__u32 owner;
	__u32 recording;
	__u32 changes;
	__u32 pad;
	__u64 rest;
	__u64 period;
	__u64 scale;
	__u64 metered;
	__u64 random;
	__u64 reported_ms;
	struct preload_totals rare;
	struct preload_totals reported;
} __attribute__((aligned(128)));

/**
 * struct wiped - The part that a forked child does not inherit.
 * @pid: 0: nobody has begun.
 * @first_free: No slot before it is free, or nearly so.
 * @nr_used: No slot from here on has ever had an owner.
 * @seq: Number of the next sample, without the process's bits.
 * @nr_samples: Since the period was last looked at.
 * @nr_calls: Likewise, as far as threads have told.
 * @cpu_ns: CPU time of the process then.
 * @checked_ms: Coarse time of that.
 * @nr_levels: Of the table of blocks.
 * @orphans: Shared by threads that have no slot (any more); each call is reported at once.
 */
struct wiped {
	__u32 pid;
	__u32 first_free;
	__u32 nr_used;
	__u32 nr_levels;
	__u64 seq;
	__u64 nr_samples;
	__u64 nr_calls;
	__u64 cpu_ns;
	__u64 checked_ms;
	struct slot orphans;
};

/**
 * struct process - The head, which a forked child inherits.
 * @settings: Of the environment.
 * @period: Mean gap in force.
 * @is_measured: The period was found by measuring; until then it grows with each few samples.
 * @has_begun: Some process has counted here.
 * @is_forked: A parent of this one.
 * @recording: Goes up when a recording is seen to have ended.
 * @wiped, @slots, @table: Behind the head.
 */
struct process {
	const struct settings *settings;
	__u64 period;
	bool is_measured;
	bool has_begun;
	bool is_forked;
	__u32 recording;
	struct wiped *wiped;
	struct slot *slots;
	size_t nr_slots;
	struct block_table table;
};

/**
 * process__get() - The process, begun (anew after a fork) if need be.
 *
 * Return: NULL: there is no memory, or no environment yet.
 */
struct process *process__get(void);

/**
 * process__peek() - The same, or NULL if it was never begun.
 */
struct process *process__peek(void);

/**
 * process__idle() - A thread has seen that nobody listens.
 */
void process__idle(void);

/* Nobody listens, and nobody has to be told. */
static inline bool process__is_idle(void)
{
	extern __u32 process_is_busy __attribute__((visibility("hidden")));

	return !__atomic_load_n(&process_is_busy, __ATOMIC_RELAXED);
}

/**
 * process__begin_trial(), process__end_trial() - It is not idle meanwhile.
 */
void process__begin_trial(void);
void process__end_trial(void);

/**
 * process__next_seq() - A number that no other sample of the recording has.
 */
__u64 process__next_seq(struct process *p);

/**
 * process__now() - CLOCK_MONOTONIC in ns.
 */
__u64 process__now(void);

/**
 * process__coarse_ms() - The time, to some ms, for little.
 */
__u64 process__coarse_ms(void);

#endif /* PERF_CHURN_PRELOAD_PROCESS_H */
