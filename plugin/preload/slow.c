// SPDX-License-Identifier: GPL-2.0-only
/*
 * Between the program and the hook there are two frames of ours: the function that was jumped to,
 * and the one that reports. No flag says that a thread is in here: a signal handler that allocates,
 * or jumps away, finds nothing half done that it would have to wait for.
 */
#include <errno.h>
#include <linux/types.h>

#include "boot.h"
#include "bpf/churn.h"
#include "next.h"
#include "report.h"
#include "slow.h"
#include "thread.h"

#define CALLER()	((__u64)__builtin_return_address(0))
#define INLINE		inline __attribute__((always_inline))
#define NOINLINE	__attribute__((noinline))

/**
 * struct slow_call - A call on its way.
 * @slot: NULL: nobody listens.
 * @weight: 0: no sample.
 * @is_watched: A failure counts, sample or not.
 */
struct slow_call {
	struct process *p;
	struct slot *slot;
	__u64 size;
	__u64 weight;
	__u64 caller;
	__u32 fn;
	bool is_watched;
};

static void add(__u64 *counter, __u64 n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static void begin(struct slow_call *c, __u32 fn, __u64 size, __u64 caller)
{
	int saved_errno = errno;

	c->slot = thread__slot(&c->p);
	c->size = size;
	c->fn = fn;
	c->caller = caller;
	c->is_watched = size - 1 >= SLOW_MIN_BYTES;
	c->weight = c->slot ? thread__draw(c->p, c->slot, size) : 0;
	errno = saved_errno;
}

static INLINE void report_alloc(const struct slow_call *c, __u64 ptr, __u64 old)
{
	struct preload_call call = {
		.kind = PRELOAD_ALLOC,
		.fn = c->fn,
		.ptr = ptr,
		.size = c->size,
		.weight = c->weight,
		.old_ptr = old,
		.caller = c->caller,
		.flags = old && old != ptr ? CHURN_F_MOVED : 0,
	};
	struct block_record rec = {
		.size = c->size,
		.weight = c->weight,
		.tid = thread.tid,
		.recording = c->p->recording,
	};

	if (report__is_borrowed(c->p)) {
		add(&c->slot->rare.nr_lost_inflight, 1);
		return;
	}
	rec.seq = call.seq = process__next_seq(c->p);
	rec.alloc_ns = process__now();
	if (!blocks__put(&c->p->table, ptr, &rec))
		add(&c->slot->rare.nr_lost_map, 1);
	report__fill(c->p, c->slot, &call);
	report__call(c->p, &call);
}

static INLINE void report_free(const struct slow_call *c, __u64 ptr, const struct block_record *rec)
{
	struct preload_call call = {
		.kind = PRELOAD_FREE,
		.fn = c->fn,
		.ptr = ptr,
		.size = rec->size,
		.weight = rec->weight,
		.seq = rec->seq,
		.caller = c->caller,
		.alloc_ns = rec->alloc_ns,
		.alloc_tid = rec->tid,
		.flags = rec->tid != thread.tid ? CHURN_F_CROSS_THREAD : 0,
	};

	if (report__is_borrowed(c->p)) {
		add(&c->slot->rare.nr_lost_inflight, 1);
		return;
	}
	report__fill(c->p, c->slot, &call);
	report__call(c->p, &call);
}

static void report_if_late(const struct slow_call *c)
{
	if (slot__is_orphans(c->p, c->slot) || report__is_late(c->p, c->slot))
		report__totals(c->slot);
}

static void count_alloc(const struct slow_call *c)
{
	slot__count(&c->slot->calls, 1);
	slot__count(&c->slot->bytes, c->size);
}

/* Without a sample it counts as a success, as one on the fast path does. */
static bool is_seen_to_fail(const struct slow_call *c, const void *ptr)
{
	return !ptr && (c->is_watched || c->weight);
}

static void count_failure(const struct slow_call *c)
{
	add(&c->slot->rare.nr_failed, c->is_watched ? 1 : c->weight);
}

static NOINLINE void finish_alloc(const struct slow_call *c, const void *ptr)
{
	int saved_errno = errno;

	if (!c->slot)
		return;
	if (is_seen_to_fail(c, ptr))
		count_failure(c);
	else
		count_alloc(c);
	if (ptr && c->weight)
		report_alloc(c, (__u64)ptr, 0);
	else
		report_if_late(c);
	errno = saved_errno;
}

void *slow_malloc(size_t size)
{
	struct slow_call c;
	void *p;

	begin(&c, CHURN_FN_MALLOC, size, CALLER());
	p = next.malloc(size);
	finish_alloc(&c, p);
	return p;
}

void *slow_calloc(size_t nr, size_t size)
{
	struct slow_call c;
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(nr, size, &bytes))
		bytes = ~0UL;
	begin(&c, CHURN_FN_CALLOC, bytes, CALLER());
	p = next.calloc(nr, size);
	finish_alloc(&c, p);
	return p;
}

void *slow_memalign(size_t align, size_t size)
{
	struct slow_call c;
	void *p;

	begin(&c, CHURN_FN_MEMALIGN, size, CALLER());
	p = next.memalign(align, size);
	finish_alloc(&c, p);
	return p;
}

void *slow_aligned_alloc(size_t align, size_t size)
{
	struct slow_call c;
	void *p;

	begin(&c, CHURN_FN_ALIGNED_ALLOC, size, CALLER());
	p = next.aligned_alloc(align, size);
	finish_alloc(&c, p);
	return p;
}

int slow_posix_memalign(void **ret, size_t align, size_t size)
{
	struct slow_call c;
	int err;

	begin(&c, CHURN_FN_POSIX_MEMALIGN, size, CALLER());
	err = next.posix_memalign(ret, align, size);
	finish_alloc(&c, err ? NULL : *ret);
	return err;
}

void *slow_valloc(size_t size)
{
	struct slow_call c;
	void *p;

	begin(&c, CHURN_FN_VALLOC, size, CALLER());
	p = next.valloc(size);
	finish_alloc(&c, p);
	return p;
}

void *slow_pvalloc(size_t size)
{
	struct slow_call c;
	void *p;

	begin(&c, CHURN_FN_PVALLOC, size, CALLER());
	p = next.pvalloc(size);
	finish_alloc(&c, p);
	return p;
}

void *slow_new(size_t size, size_t arg1, size_t arg2, new_function fn, __u32 churn_fn)
{
	struct slow_call c;
	void *p;

	begin(&c, churn_fn, size, CALLER());
	p = fn(size, arg1, arg2);
	finish_alloc(&c, p);
	return p;
}

/* Before the block is given back. What was followed for an earlier recording is only forgotten. */
static bool take_block(const struct slow_call *c, const void *ptr, struct block_record *rec)
{
	struct process *p = process__peek();

	return ptr && p && blocks__take(&p->table, (__u64)ptr, rec) && c->slot &&
	       rec->recording == p->recording;
}

static NOINLINE void finish_realloc(struct slow_call *c, void *old, const struct block_record *rec,
				    const void *ptr)
{
	int saved_errno = errno;
	bool is_freed = !ptr && old && !c->size;

	if (!c->slot)
		return;
	c->is_watched |= rec != NULL;
	if (is_freed) {
		slot__count(&c->slot->frees, 1);
	} else if (is_seen_to_fail(c, ptr)) {
		count_failure(c);
		if (rec && !blocks__put(&c->p->table, (__u64)old, rec))
			add(&c->slot->rare.nr_lost_map, 1);
	} else {
		count_alloc(c);
		if (old)
			add(&c->slot->nr_reallocs, 1);
	}
	if (rec && (ptr || is_freed))
		report_free(c, (__u64)old, rec);
	if (ptr && c->weight)
		report_alloc(c, (__u64)ptr, (__u64)old);
	else
		report_if_late(c);
	errno = saved_errno;
}

void *slow_realloc(void *old, size_t size)
{
	struct block_record rec;
	struct slow_call c;
	bool is_followed;
	void *p;

	if (boot__owns(old))
		return boot_realloc(old, size);
	begin(&c, CHURN_FN_REALLOC, size, CALLER());
	is_followed = take_block(&c, old, &rec);
	p = next.realloc(old, size);
	finish_realloc(&c, old, is_followed ? &rec : NULL, p);
	return p;
}

static void count_free(const struct slow_call *c, const void *ptr)
{
	slot__reload_frees(c->p, c->slot);
	if (ptr)
		slot__count(&c->slot->frees, 1);
	else
		add(&c->slot->nr_free_null, 1);
}

static NOINLINE void begin_free(const void *ptr, __u64 caller)
{
	struct slow_call c = { .fn = CHURN_FN_FREE, .caller = caller };
	int saved_errno = errno;
	struct block_record rec;
	bool is_followed;

	c.slot = thread__slot(&c.p);
	is_followed = take_block(&c, ptr, &rec);
	if (c.slot)
		count_free(&c, ptr);
	if (is_followed)
		report_free(&c, (__u64)ptr, &rec);
	else if (c.slot)
		report_if_late(&c);
	errno = saved_errno;
}

void slow_free(void *ptr)
{
	if (boot__owns(ptr))
		return;
	begin_free(ptr, CALLER());
	next.free(ptr);
}

void slow_delete(void *ptr, size_t arg1, size_t arg2, delete_function fn)
{
	begin_free(ptr, CALLER());
	fn(ptr, arg1, arg2);
}
