// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined.h"
#include "gaps.h"
#include "hook.h"
#include "period.h"
#include "report.h"
#include "thread.h"

#define PLENTY		(1LL << 62)	/* of what is not counted down to a sample */
#define MIN_FREES	64
#define FREES_BY_BYTES	1024
#define LAST_ROUND	4		/* PTHREAD_DESTRUCTOR_ITERATIONS of glibc and musl */

__thread struct thread thread __attribute__((visibility("hidden")));

static pthread_key_t end_key;
static bool has_end_key;

/*
 * Each move is one instruction that adds, so that a signal handler's counting in between stays.
 * Where one moves, too, the gap comes out wrong once, but no count.
 */
static void set_left(struct slot *s, struct countdown *c, __s64 left)
{
	__s64 by = left - __atomic_load_n(&c->left, __ATOMIC_RELAXED);

	__atomic_fetch_add(&s->changes, 1, __ATOMIC_ACQ_REL);
	__atomic_fetch_add(&c->base, by, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->left, by, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->changes, 1, __ATOMIC_ACQ_REL);
}

void slot__reload_frees(struct process *p, struct slot *s)
{
	__u64 chunk = s->period / 16;

	if (s->frees.left > 0)
		return;
	/* As many as period__chunk() has calls, or so: no more than that may be unreported. */
	if (chunk < MIN_FREES)
		chunk = MIN_FREES;
	if (p->settings->by_bytes)
		chunk = FREES_BY_BYTES;
	if (p->settings->period == 1)
		chunk = 1;
	set_left(s, &s->frees, chunk - 1);
}

/* @gap: Up to the sample, with it. */
static void set_gap(struct process *p, struct slot *s, __u64 gap)
{
	bool by_bytes = p->settings->by_bytes;
	struct countdown *down = by_bytes ? &s->bytes : &s->calls;
	struct countdown *other = by_bytes ? &s->calls : &s->bytes;
	__u64 chunk = period__chunk(p, s->period), left = (gap < chunk ? gap : chunk) - 1;

	s->rest = gap - 1 - left;
	set_left(s, down, left);
	if (other->left < PLENTY / 2)
		set_left(s, other, PLENTY);
}

static __u64 draw_gap(struct slot *s)
{
	return gaps__draw(s->scale, gaps__random(&s->random));
}

static void set_period(const struct process *p, struct slot *s)
{
	__u64 period = __atomic_load_n(&p->period, __ATOMIC_ACQUIRE);

	if (s->period == period)
		return;
	s->scale = p->settings->by_bytes ? gaps__scale_bytes(period) : gaps__scale_calls(period);
	s->period = period;
}

static void seed(struct slot *s)
{
	/* Where the loader has put the stack is random, too. */
	s->random = process__now() ^ (__u64)thread.tid << 32 ^ (__u64)&s * 0x9e3779b97f4a7c15ULL;
	gaps__random(&s->random);
}

static bool own(struct slot *s)
{
	__u32 nobody = 0;

	return __atomic_compare_exchange_n(&s->owner, &nobody, thread.tid, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static struct slot *claim_slot(struct process *p)
{
	__u32 i = __atomic_load_n(&p->wiped->first_free, __ATOMIC_RELAXED), nr;

	/* After a fork the thread's own has been wiped, and has counted since then. */
	if (thread.slot && own(thread.slot)) {
		i = thread.slot - p->slots;
	} else {
		while (i < p->nr_slots && !own(&p->slots[i]))
			i++;
		__atomic_store_n(&p->wiped->first_free, i + 1, __ATOMIC_RELAXED);
	}
	if (i >= p->nr_slots)
		return NULL;
	nr = __atomic_load_n(&p->wiped->nr_used, __ATOMIC_RELAXED);
	while (nr < i + 1 && !__atomic_compare_exchange_n(&p->wiped->nr_used, &nr, i + 1, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return &p->slots[i];
}

/* @slot may be somebody else's a moment later. */
static void release_slot(struct process *p, struct slot *slot)
{
	__u32 i = slot - p->slots;

	__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
	if (i < __atomic_load_n(&p->wiped->first_free, __ATOMIC_RELAXED))
		__atomic_store_n(&p->wiped->first_free, i, __ATOMIC_RELAXED);
}

/* In a forked child the slot's owner is 0 again, or a thread that was faster. */
static bool has_slot(void)
{
	return thread.slot &&
	       __atomic_load_n(&thread.slot->owner, __ATOMIC_RELAXED) == thread.tid;
}

static __u32 own_tid(void)
{
	return is_confined() ? confined__tid() : (__u32)syscall(SYS_gettid);
}

static struct slot *get_slot(struct process *p)
{
	struct slot *s;

	if (has_slot())
		return thread.slot;
	if (thread.is_ended)
		return NULL;
	thread.tid = own_tid();
	s = claim_slot(p);
	if (!s)
		return NULL;
	seed(s);
	s->reported_ms = process__coarse_ms();
	thread.slot = s;
	/* May allocate, which comes here again and finds the slot. */
	if (has_end_key)
		pthread_setspecific(end_key, &thread);
	return s;
}

/* Nobody has these alone: a new period is looked for with each call. */
static struct slot *get_orphans(struct process *p)
{
	struct slot *s = &p->wiped->orphans;

	if (!thread.tid)
		thread.tid = own_tid();
	if (!s->random)
		seed(s);
	set_period(p, s);
	return s;
}

static void begin_recording(struct process *p, struct slot *s)
{
	struct preload_totals before;
	__u32 recording = __atomic_load_n(&p->recording, __ATOMIC_RELAXED);

	if (s->recording == recording)
		return;
	s->recording = recording;
	slot__take(s, &before);
	period__begin(p);
}

void thread__begin_trial(void)
{
	thread.is_trying = true;
	thread.was_reached = false;
	/* All calls take the slow path. */
	thread.seen = 0;
	process__begin_trial();
}

bool thread__end_trial(void)
{
	process__end_trial();
	thread.is_trying = false;
	return thread.was_reached;
}

struct slot *thread__slot(struct process **ret)
{
	__u32 word = hook__word();
	struct process *p;
	struct slot *s;

	if (thread.is_trying) {
		thread.was_reached = true;
		return NULL;
	}
	if (!hook__listeners(word)) {
		process__idle();
		return NULL;
	}
	*ret = p = process__get();
	if (!p)
		return NULL;
	if (thread.seen == word && has_slot())
		return thread.slot;
	s = get_slot(p);
	if (!s)
		return get_orphans(p);
	begin_recording(p, s);
	set_period(p, s);
	set_gap(p, s, draw_gap(s));
	slot__reload_frees(p, s);
	__atomic_store_n(&thread.seen, word, __ATOMIC_RELEASE);
	return s;
}

static void meter(struct process *p, struct slot *s, __u64 nr_samples)
{
	__u64 calls = s->calls.base - s->calls.left, before = s->metered;

	s->metered = calls;
	period__meter(p, calls - before, nr_samples);
}

/* Gaps have no memory: who has none pending draws one for each call. */
static bool is_due(struct process *p, struct slot *s, __u64 cost)
{
	__u64 gap;

	if (slot__is_orphans(p, s))
		return cost >= draw_gap(s);
	gap = (p->settings->by_bytes ? s->bytes.left : s->calls.left) + 1 + s->rest;
	if (cost >= gap)
		return true;
	set_gap(p, s, gap - cost);
	return false;
}

__u64 thread__draw(struct process *p, struct slot *s, __u64 size)
{
	__u64 cost = 1, weight = s->period;

	if (p->settings->by_bytes)
		cost = size ?: 1;
	if (!is_due(p, s, cost)) {
		meter(p, s, 0);
		return 0;
	}
	if (p->settings->by_bytes)
		weight = gaps__byte_weight(cost, s->period, gaps__random(&s->random));
	if (!slot__is_orphans(p, s))
		set_gap(p, s, draw_gap(s));
	meter(p, s, 1);
	return weight;
}

void thread__end(void)
{
	struct slot *s = thread.slot;

	thread.seen = 0;
	thread.is_ended = true;
	if (!s)
		return;
	thread.slot = NULL;
	report__totals(s);
	release_slot(process__peek(), s);
}

/* In the last round, so that other destructors have freed what they hold. */
static void on_thread_end(void *arg)
{
	if (++thread.rounds < LAST_ROUND && !pthread_setspecific(end_key, arg))
		return;
	thread__end();
}

/* Early, since the first keys need no memory. */
__attribute__((constructor)) static void make_end_key(void)
{
	has_end_key = !pthread_key_create(&end_key, on_thread_end);
}
