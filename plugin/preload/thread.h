/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * thread.h - a thread's own part: whether it has noticed who listens, and its slot.
 */
#ifndef PERF_CHURN_PRELOAD_THREAD_H
#define PERF_CHURN_PRELOAD_THREAD_H

#include <linux/types.h>
#include <stdbool.h>

#include "process.h"

/**
 * struct thread - In thread-local storage; zero in a new thread.
 * @seen: The switch's word (hook.h) when the thread looked up; never of one that has no listeners.
 * @rounds: Of thread-specific data's destructors that have been.
 * @is_ended: The last round was: slots are no longer for this thread.
 * @is_trying, @was_reached: Of thread__begin_trial().
 * @tid: Its id, since it has had a slot.
 * @slot: Valid while @seen is the switch's word.
 */
struct thread {
	__u32 seen;
	__u16 rounds;
	bool is_ended;
	bool is_trying;
	bool was_reached;
	__u32 tid;
	struct slot *slot;
};

extern __thread struct thread thread __attribute__((visibility("hidden")));

/**
 * thread__slot() - Look up: is anybody there, is there a new period?
 * @ret: The process, where there is a slot.
 *
 * Return: Where to count, or NULL: nobody listens.
 */
struct slot *thread__slot(struct process **ret);

/**
 * thread__begin_trial(), thread__end_trial() - Does what this thread calls in between come to us? It is
 * not counted.
 *
 * Return: It does.
 */
void thread__begin_trial(void);
bool thread__end_trial(void);

/**
 * thread__draw() - Is this call a sample? Moves the countdowns, but does not count the call.
 * @size: Bytes asked for.
 *
 * Return: Its weight; 0: it is not.
 */
__u64 thread__draw(struct process *p, struct slot *slot, __u64 size);

/**
 * thread__end() - What is called from now on is reported at once.
 */
void thread__end(void);

/**
 * slot__count() - Count what the fast path has not.
 */
void slot__count(struct countdown *countdown, __u64 n);

/**
 * slot__is_orphans() - Is this the one whose calls are reported at once?
 */
static inline bool slot__is_orphans(const struct process *p, const struct slot *slot)
{
	return slot == &p->wiped->orphans;
}

/**
 * slot__reload_frees() - Where free() has come to look up, let it do so again after a while.
 */
void slot__reload_frees(struct process *p, struct slot *slot);

/**
 * slot__take() - What was counted and not reported yet is reported now. By any thread.
 * @ret: All of it.
 *
 * Return: false: nothing.
 */
bool slot__take(struct slot *slot, struct preload_totals *ret);

#endif /* PERF_CHURN_PRELOAD_THREAD_H */
