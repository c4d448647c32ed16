// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gaps are as long as many calls, so samples alone would tell too late that a program has slowed
 * down: a gap drawn at ten million calls a second lasts for minutes at a thousand. So threads look
 * up CHUNKS times a gap, add their calls to the meter, and look at a cheap clock. Every few ms one
 * of them reads the process's CPU time and sets the period that the calls of this time ask for,
 * within a factor of MAX_STEP. When a program speeds up, samples themselves come fast: MAX_SAMPLES
 * of them, too, make a thread look.
 *
 * A new period comes with a new epoch, which all threads see at their next call; they draw their
 * gaps anew. That has no bias: gaps have no memory, what is left of one is distributed as a new
 * one, and whether to draw does not depend on what is left.
 */
#include <stdbool.h>
#include <time.h>

#include "confined.h"
#include "gaps.h"
#include "hook.h"
#include "period.h"

#define CHUNKS			32
#define CHUNKS_FIXED		4	/* nothing waits for these but totals */
#define MIN_CHUNK_FIXED		1024
#define RAMP_SAMPLES		16	/* before the first measurement: the period doubles then */
#define MAX_SAMPLES		64
#define CHECK_MS		4
#define MIN_CPU_NS		5000000
#define MAX_STEP		8
#define NSEC_PER_SEC		1000000000ULL

static __u64 cpu_time(void)
{
	struct timespec ts;

	/* Real time needs no system call. */
	if (is_confined())
		return process__now();
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts))
		return 0;
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void period__begin(struct process *p)
{
	__atomic_store_n(&p->wiped->cpu_ns, cpu_time(), __ATOMIC_RELAXED);
	__atomic_store_n(&p->wiped->nr_calls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->wiped->nr_samples, 0, __ATOMIC_RELAXED);
}

__u64 period__chunk(const struct process *p, __u64 period)
{
	if (!p->settings->period)
		return period / CHUNKS ?: 1;
	return period / CHUNKS_FIXED < MIN_CHUNK_FIXED ? MIN_CHUNK_FIXED : period / CHUNKS_FIXED;
}

static void set_period(struct process *p, __u64 period)
{
	__atomic_store_n(&p->period, period, __ATOMIC_RELEASE);
	hook__next_epoch();
}

static __u64 clamp(__u64 n, __u64 low, __u64 high)
{
	return n < low ? low : n > high ? high : n;
}

/* A little more or less is left alone: each change costs every thread a look. */
static void adapt(struct process *p, __u64 nr_calls, __u64 cpu_ns)
{
	__u64 period = __atomic_load_n(&p->period, __ATOMIC_RELAXED);
	__u64 wanted = (unsigned __int128)nr_calls * NSEC_PER_SEC / cpu_ns / p->settings->rate;

	wanted = clamp(wanted, period / MAX_STEP, period * MAX_STEP);
	wanted = clamp(wanted, 1, GAPS_MAX_PERIOD);
	if (wanted > period + period / 8 || wanted < period - period / 8)
		set_period(p, wanted);
}

static void measure(struct process *p, bool is_flooded)
{
	struct wiped *w = p->wiped;
	__u64 now = cpu_time(), before = __atomic_load_n(&w->cpu_ns, __ATOMIC_RELAXED);

	if (now <= before || (!is_flooded && now - before < MIN_CPU_NS))
		return;
	/* Whoever moves the time on has the calls of it. */
	if (!__atomic_compare_exchange_n(&w->cpu_ns, &before, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&w->nr_samples, 0, __ATOMIC_RELAXED);
	adapt(p, __atomic_exchange_n(&w->nr_calls, 0, __ATOMIC_RELAXED), now - before);
	p->is_measured = true;
}

static bool is_time(struct wiped *w)
{
	__u64 before = __atomic_load_n(&w->checked_ms, __ATOMIC_RELAXED);
	__u64 now = process__coarse_ms();

	return now - before >= CHECK_MS &&
	       __atomic_compare_exchange_n(&w->checked_ms, &before, now, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

void period__meter(struct process *p, __u64 nr_calls, __u64 nr_samples)
{
	struct wiped *w = p->wiped;
	__u64 samples;

	if (p->settings->period)
		return;
	__atomic_fetch_add(&w->nr_calls, nr_calls, __ATOMIC_RELAXED);
	samples = __atomic_add_fetch(&w->nr_samples, nr_samples, __ATOMIC_RELAXED);
	if (is_time(w))
		measure(p, false);
	else if (nr_samples && p->is_measured && samples % MAX_SAMPLES == 0)
		measure(p, true);
	else if (nr_samples && !p->is_measured && samples % RAMP_SAMPLES == 0)
		set_period(p, clamp(p->period * 2, 1, GAPS_MAX_PERIOD));
}
