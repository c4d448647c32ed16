// SPDX-License-Identifier: GPL-2.0-only
#include <linux/types.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "confined.h"
#include "filter.h"
#include "hook.h"
#include "next.h"
#include "period.h"
#include "process.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK	18
#endif

#define SEQ_PID_SHIFT	42
#define SEQ_PID_MASK	((1ULL << 22) - 1)
#define SEQ_MASK	((1ULL << SEQ_PID_SHIFT) - 1)
#define SEQ_TICK_NS	1024

/* For half a million blocks: 28 MB of addresses, with the filter; memory where they are used. */
#define NR_SLOTS	4096
#define NR_BUCKETS	(1UL << 16)
/* Where the program's address space is limited, or that much cannot be had: 2 MB. */
#define NR_SLOTS_SMALL	1024
#define NR_BUCKETS_SMALL (1UL << 11)

static struct process *process;
static bool is_impossible;

/* Bit 0: some thread counts; above that, the number of trials. */
__u32 process_is_busy __attribute__((visibility("hidden")));

#define COUNTS		1U
#define ONE_TRIAL	2U

__u64 process__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

__u64 process__coarse_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static size_t bytes_of(size_t nr_slots, size_t nr_buckets)
{
	return PROCESS_HEAD_BYTES + PROCESS_HEAD_BYTES + nr_slots * sizeof(struct slot) +
	       nr_buckets * sizeof(struct block_bucket);
}

_Static_assert(sizeof(struct wiped) <= PROCESS_HEAD_BYTES, "slots begin behind it");

static struct process *map_sized(size_t nr_slots, size_t nr_buckets)
{
	size_t bytes = bytes_of(nr_slots, nr_buckets);
	char *mem;
	struct process *p;

	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (mem == MAP_FAILED)
		return NULL;
	madvise(mem, bytes, MADV_NOHUGEPAGE);
	/* Linux 4.14; probes have had their reference counters since 4.20. */
	if (madvise(mem + PROCESS_HEAD_BYTES, bytes - PROCESS_HEAD_BYTES, MADV_WIPEONFORK)) {
		munmap(mem, bytes);
		return NULL;
	}
	p = (struct process *)mem;
	p->wiped = (struct wiped *)(mem + PROCESS_HEAD_BYTES);
	p->slots = (struct slot *)(mem + PROCESS_HEAD_BYTES + PROCESS_HEAD_BYTES);
	p->nr_slots = nr_slots;
	p->table.buckets = (struct block_bucket *)(p->slots + nr_slots);
	p->table.nr_buckets = nr_buckets;
	p->table.nr_levels = &p->wiped->nr_levels;
	return p;
}

static bool is_limited(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

static struct process *map_process(const struct settings *settings)
{
	struct process *p = NULL, *expected = NULL;

	if (!filter__map())
		return NULL;
	if (!is_limited())
		p = map_sized(NR_SLOTS, NR_BUCKETS);
	if (!p)
		p = map_sized(NR_SLOTS_SMALL, NR_BUCKETS_SMALL);
	if (!p)
		return NULL;
	p->settings = settings;
	p->period = settings->period ?: 1;
	if (__atomic_compare_exchange_n(&process, &expected, p, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return p;
	munmap(p, bytes_of(p->nr_slots, p->table.nr_buckets));
	return expected;
}

/* In a process that has not counted yet, or no longer knows that it has. */
static void begin(struct process *p)
{
	__u64 no_seq = 0, seq = process__now() / SEQ_TICK_NS & SEQ_MASK;

	if (p->has_begun) {
		p->is_forked = true;
		filter__clear(is_confined());
		boot__stick();
	}
	p->has_begun = true;
	period__begin(p);
	__atomic_compare_exchange_n(&p->wiped->seq, &no_seq, seq, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	__atomic_store_n(&p->wiped->pid, is_confined() ? confined__tid() : (__u32)getpid(), __ATOMIC_RELEASE);
}

struct process *process__peek(void)
{
	return __atomic_load_n(&process, __ATOMIC_ACQUIRE);
}

struct process *process__get(void)
{
	struct process *p = process__peek();
	const struct settings *settings;

	if (!p) {
		settings = settings__get();
		if (!settings || next__is_shadowed() || is_confined() ||
		    __atomic_load_n(&is_impossible, __ATOMIC_RELAXED))
			return NULL;
		p = map_process(settings);
		if (!p) {
			__atomic_store_n(&is_impossible, true, __ATOMIC_RELAXED);
			return NULL;
		}
	}
	if (!__atomic_load_n(&p->wiped->pid, __ATOMIC_ACQUIRE))
		begin(p);
	__atomic_fetch_or(&process_is_busy, COUNTS, __ATOMIC_RELAXED);
	return p;
}

void process__begin_trial(void)
{
	__atomic_fetch_add(&process_is_busy, ONE_TRIAL, __ATOMIC_RELAXED);
}

void process__end_trial(void)
{
	__atomic_fetch_sub(&process_is_busy, ONE_TRIAL, __ATOMIC_RELAXED);
}

void process__idle(void)
{
	struct process *p = process__peek();

	if (!(__atomic_fetch_and(&process_is_busy, ~COUNTS, __ATOMIC_RELAXED) & COUNTS) || !p)
		return;
	__atomic_fetch_add(&p->recording, 1, __ATOMIC_RELAXED);
	hook__next_epoch();
}

__u64 process__next_seq(struct process *p)
{
	__u64 nr = __atomic_fetch_add(&p->wiped->seq, 1, __ATOMIC_RELAXED);

	return (p->wiped->pid & SEQ_PID_MASK) << SEQ_PID_SHIFT | (nr & SEQ_MASK);
}
