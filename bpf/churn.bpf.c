// SPDX-License-Identifier: GPL-2.0-only
/*
 * The uprobe programs: count every call, pick some at random, follow those from allocation to free.
 *
 * One pair of functions, on_entry() and on_return(), serves all ways to attach; the programs at the
 * end only differ in how the kernel calls them. The recorder loads those that its method needs.
 *
 *   malloc, calloc ...  entry: draw; unsampled calls end here. Return: count, emit churn:alloc.
 *   free                entry: look the block up, emit churn:free if it was a sampled one.
 *   realloc, memalign   always entry and return: glibc calls or jumps to its own malloc and free
 *                       inside, which must not count a second time. The same for all functions
 *                       of an image that may forward to another (an interposer's malloc).
 *   refill              --slow-path, in place of all these: as malloc, but its block is not
 *                       followed. A call in it for memory of the system leaves a mark in its slot.
 *
 * uprobe programs may be preempted by other ones on the same CPU: counters are atomic even where
 * they are per CPU.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "blocks.h"
#include "call.h"
#include "churn.h"
#include "control.h"
#include "cpu_sample.h"
#include "idle.h"
#include "inflight.h"
#include "walker.h"
#include "walker_procs.h"

#define COOKIE_BIG_SIZE		(1ULL << 40)

char LICENSE[] SEC("license") = "GPL";

/* Settings, written between open and load. */
const volatile bool exact;		/* period 1: every call is a sample */

/* The period in force; the recorder changes it while we run. */
struct churn_period {
	__u64 weight;
	__u64 threshold;		/* 2^32 / weight */
	__s64 exact_left;		/* calls still to be taken with weight 1 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct churn_period);
} period SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} alloc_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} free_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CHURN_MAX_IMAGES);
	__type(key, __u32);
	__type(value, struct churn_image_cfg);
} images SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seq_numbers SEC(".maps");

/*
 * Set by the recorder while it records: probes are planted before the rings are enabled, and take
 * up to seconds to go away.
 */
bool recording;

static __always_inline __u64 pow2_class(__u64 n)
{
	__u64 v = n ? n - 1 : 0;

	v |= v >> 1;
	v |= v >> 2;
	v |= v >> 4;
	v |= v >> 8;
	v |= v >> 16;
	v |= v >> 32;
	return v + 1 ?: 1ULL << 63;
}

/* calloc's product; all ones where it does not fit, which no allocator can satisfy. */
static __always_inline __u64 mul_saturated(__u64 a, __u64 b)
{
	__u64 big = a > b ? a : b, small = a > b ? b : a;
	__u64 high, low;

	if (small >> 32)
		return ~0ULL;
	high = (big >> 32) * small;
	low = (big & 0xffffffff) * small;
	if (high >> 32 || (high << 32) + low < low)
		return ~0ULL;
	return (high << 32) + low;
}

static __always_inline __u64 next_seq(void)
{
	__u64 cpu = bpf_get_smp_processor_id();
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&seq_numbers, &zero);

	return n ? cpu << 48 | (ADD(*n, 1) + 1) : 0;
}

/* Draw: the weight of a sampled call, 0 for one that is passed over. */
static __always_inline __u64 draw_weight(const struct call *call)
{
	__u32 zero = 0;
	struct churn_period *p;

	if (call->calibration)
		return call->calibration == CHURN_CALIBRATE_SAMPLED;
	if (exact)
		return 1;
	p = bpf_map_lookup_elem(&period, &zero);
	if (!p)
		return 0;
	if (p->weight <= 1)
		return 1;
	if (p->exact_left > 0 && ADD(p->exact_left, -1) > 0)
		return 1;
	return bpf_get_prandom_u32() < p->threshold ? p->weight : 0;
}

static __always_inline __u64 read_caller(const struct call *call)
{
	__u64 caller = 0;

	bpf_probe_read_user(&caller, sizeof(caller), (void *)call->sp);
	return caller;
}

/* Does the allocator free for itself here (glibc empties its thread cache at thread exit)? */
static __always_inline bool is_internal_free(const struct call *call, __u64 caller)
{
	__u32 image = CHURN_COOKIE_IMAGE(call->cookie);
	struct churn_image_cfg *cfg = bpf_map_lookup_elem(&images, &image);
	__s64 delta = caller - call->ip;
	int i;

	if (!cfg)
		return false;
	for (i = 0; i < CHURN_MAX_INTERNAL; i++) {
		if (i < cfg->nr_internal_free && cfg->internal_free[i] == delta)
			return true;
	}
	return false;
}

/* Where the walk starts, read as read_registers() does. */
static __always_inline void start_walk(struct pt_regs *ctx, const struct call *call,
				       struct walk_regs *regs)
{
	regs->ip = call->ip;
	regs->sp = call->sp;
	regs->rdi = call->arg1;
	regs->rax = call->result;
	regs->bp = call->bp;
	regs->bx = call->bx;
	regs->r10 = regs->r11 = 0;
}

/* An event in the slot's record goes out, with the stack of the caller. */
static __always_inline void emit(struct pt_regs *ctx, const struct call *call,
				 struct walk_slot *slot, void *events, const __u32 bytes)
{
	__u64 start_ns = gated ? bpf_ktime_get_ns() : 0;
	long err;

	if (walking) {
		slot->head.event_id = slot->head.period = 0;
		start_walk(ctx, call, &slot->state.regs);
		walk_slot__walk(slot, call->at_entry, call->at_entry);
		err = walk_slot__emit(ctx, slot, events, bytes);
	} else {
		err = bpf_perf_event_output(ctx, events, BPF_F_CURRENT_CPU,
					    slot->record + WALKER_RECORD_BYTES - bytes, bytes);
	}
	if (err)
		ADD(call->totals->nr_lost_output, 1);
	walk_slot__give(slot);
	if (gated)
		ADD(call->totals->cost_ns, bpf_ktime_get_ns() - start_ns);
}

static __noinline int emit_free(struct pt_regs *ctx, const struct call *call, __u64 ptr,
				const struct churn_live *rec, __u64 caller)
{
	struct walk_slot *slot = walk_slot__take();
	struct churn_free *out;

	if (!slot) {
		ADD(call->totals->nr_lost_output, 1);
		return 0;
	}
	out = (void *)(slot->record + WALKER_RECORD_BYTES - sizeof(*out));
	__builtin_memset(out, 0, sizeof(*out));
	out->common.type = CHURN_FREE_ID;
	out->common.pid = call->tid;
	out->ptr = ptr;
	out->caller = caller;
	out->fn = call->fn;
	if (rec) {
		out->size = rec->size;
		out->lifetime_ns = bpf_ktime_get_ns() - rec->time_ns;
		out->life_class = pow2_class(out->lifetime_ns);
		out->weight = rec->weight;
		out->seq = rec->seq;
		out->alloc_tid = rec->tid;
		if (rec->tid != call->tid)
			out->flags |= CHURN_F_CROSS_THREAD;
	} else {
		out->weight = 1;
		out->flags |= CHURN_F_UNSEEN;
		if (is_live_in_parent(ptr))
			out->flags |= CHURN_F_INHERITED;
	}
	emit(ctx, call, slot, &free_events, sizeof(*out));
	return 0;
}

/* A block goes: count it, and say so if it was a sampled one or if everything is said. */
static __always_inline void count_free(struct pt_regs *ctx, const struct call *call, __u64 ptr,
				       const struct churn_live *rec, __u64 caller)
{
	ADD(call->totals->nr_frees, 1);
	if (!rec && !exact)
		return;
	if (!rec)
		ADD(call->totals->nr_free_unseen, 1);
	emit_free(ctx, call, ptr, rec, caller);
}

static __noinline int emit_alloc(struct pt_regs *ctx, const struct call *call, __u64 ptr,
				 const struct inflight *in, __u64 seq)
{
	struct walk_slot *slot = walk_slot__take();
	struct churn_alloc *out;

	if (!slot) {
		ADD(call->totals->nr_lost_output, 1);
		return 0;
	}
	out = (void *)(slot->record + WALKER_RECORD_BYTES - sizeof(*out));
	__builtin_memset(out, 0, sizeof(*out));
	out->common.type = CHURN_ALLOC_ID;
	out->common.pid = call->tid;
	out->ptr = ptr;
	out->size = in->size;
	out->size_class = pow2_class(in->size);
	out->old_ptr = in->old_ptr;
	out->seq = seq;
	out->weight = in->weight;
	out->caller = call->ip;
	out->fn = call->fn;
	out->flags = in->flags;
	if (in->old_ptr && in->old_ptr != ptr)
		out->flags |= CHURN_F_MOVED;
	emit(ctx, call, slot, &alloc_events, sizeof(*out));
	return 0;
}

static __always_inline void count_alloc(struct pt_regs *ctx, const struct call *call, __u64 ptr,
					const struct inflight *in)
{
	struct churn_live rec = {};

	ADD(call->totals->nr_allocs, 1);
	ADD(call->totals->alloc_bytes, in->size);
	if (!in->weight)
		return;

	rec.size = in->size;
	rec.seq = next_seq();
	rec.weight = in->weight;
	rec.exec_id = exec_id();
	rec.tid = call->tid;
	rec.time_ns = bpf_ktime_get_ns();
	/* Who frees a block that the slow path has cut out is not seen. */
	if (call->fn != CHURN_FN_REFILL)
		put_live(call, ptr, &rec);

	emit_alloc(ctx, call, ptr, in, rec.seq);
}

static __always_inline int on_free(struct pt_regs *ctx, const struct call *call)
{
	__u64 ptr = call->arg1;
	struct churn_live rec;
	__u64 caller;
	bool seen;

	if (!ptr) {
		ADD(call->totals->nr_free_null, 1);
		return 1;
	}
	caller = read_caller(call);
	if (is_internal_free(call, caller)) {
		ADD(call->totals->nr_free_internal, 1);
		return 1;
	}
	seen = take_live(call, ptr, &rec);
	if (cpu_is_selected())
		count_free(ctx, call, ptr, seen ? &rec : NULL, caller);
	return 1;
}

static __always_inline __u64 refill_bytes(const struct call *call)
{
	__u32 arg = call->cookie >> 60 & 3;
	__u64 bytes = arg == 1 ? call->arg1 : arg == 2 ? call->arg2 : call->arg3;

	return call->cookie & CHURN_COOKIE_SIZE_IS_INT ? (__u32)bytes : bytes;
}

static __always_inline __u64 asked_bytes(const struct call *call)
{
	switch (call->fn) {
	case CHURN_FN_CALLOC:
		return mul_saturated(call->arg1, call->arg2);
	case CHURN_FN_REALLOC:
	case CHURN_FN_MEMALIGN:
	case CHURN_FN_ALIGNED_ALLOC:
		return call->arg2;
	case CHURN_FN_POSIX_MEMALIGN:
		return call->arg3;
	case CHURN_FN_REFILL:
		return refill_bytes(call);
	default:
		return call->arg1;
	}
}

/*
 * Entry of realloc and the aligned family. The old block's record is taken out now: once realloc
 * has freed it, another thread may get its address before we see the return.
 */
static __always_inline int on_wrapping_entry(struct pt_regs *ctx, const struct call *call)
{
	struct inflight in = {};

	in.size = asked_bytes(call);
	in.sp = call->sp;
	in.window = call->window;
	if (call->fn == CHURN_FN_FREE) {
		on_free(ctx, call);
		remember(call, &in);
		return 0;
	}
	in.uncounted = !cpu_is_selected();
	in.weight = in.uncounted ? 0 : draw_weight(call);
	if (call->fn == CHURN_FN_POSIX_MEMALIGN)
		in.memptr = call->arg1;
	if (call->fn == CHURN_FN_REALLOC) {
		in.old_ptr = call->arg1;
		if (in.old_ptr && !take_live(call, in.old_ptr, &in.old))
			in.old.weight = 0;
	}
	remember(call, &in);
	return 0;
}

/* It is counted as a hit. A sampled refill that is under way is told that it came to this. */
static __always_inline int on_os_call(const struct call *call)
{
	struct inflight_key key = { .tid = call->tid, .fn = CHURN_FN_REFILL };
	struct inflight *refill;

	refill = call->fn == CHURN_FN_OS_ALLOC ? bpf_map_lookup_elem(&inflight, &key) : NULL;
	if (refill && is_below(call, refill))
		refill->flags |= CHURN_F_OS;
	return 1;
}

/* Return 1 when the call is done with, 0 when its return matters. */
static __always_inline int on_entry(struct pt_regs *ctx, const struct call *call,
				    __u64 *session_cookie)
{
	struct inflight in = {};

	if (call->fn == CHURN_FN_OS_ALLOC || call->fn == CHURN_FN_OS_FREE)
		return on_os_call(call);
	if (is_nested(call))
		return 1;
	if (call->wraps)
		return on_wrapping_entry(ctx, call);
	if (call->fn == CHURN_FN_FREE)
		return on_free(ctx, call);
	if (!cpu_is_selected())
		return 1;

	in.size = asked_bytes(call);
	in.window = call->window;
	in.weight = draw_weight(call);
	if (!in.weight) {
		ADD(call->totals->nr_allocs, 1);
		ADD(call->totals->alloc_bytes, in.size);
		return 1;
	}
	in.sp = call->sp;
	if (session_cookie) {
		*session_cookie = call->fn != CHURN_FN_REFILL && in.size < COOKIE_BIG_SIZE &&
				  in.weight < 1 << 24 ? in.size << 24 | in.weight : 0;
		if (*session_cookie)
			return 0;
	}
	remember(call, &in);
	return 0;
}

static __always_inline __u64 returned_ptr(const struct call *call, const struct inflight *in)
{
	__u64 ptr = 0;

	if (call->fn != CHURN_FN_POSIX_MEMALIGN)
		return call->result;
	if ((int)call->result)
		return 0;
	bpf_probe_read_user(&ptr, sizeof(ptr), (void *)in->memptr);
	return ptr;
}

/* NULL came back: a failure, or realloc(ptr, 0) that freed. */
static __always_inline void on_null(struct pt_regs *ctx, const struct call *call,
				    const struct inflight *in)
{
	const struct churn_live *old = in->old.weight ? &in->old : NULL;

	if (in->old_ptr && !in->size) {
		if (!in->uncounted)
			count_free(ctx, call, in->old_ptr, old, call->ip);
		return;
	}
	if (!in->uncounted)
		ADD(call->totals->nr_failed, call->wraps ? 1 : in->weight);
	if (old)
		put_live(call, in->old_ptr, old);
}

static __always_inline void on_return(struct pt_regs *ctx, const struct call *call,
				      const __u64 *session_cookie)
{
	const struct churn_live *old;
	struct inflight in = {};
	__u64 ptr;

	if (session_cookie && *session_cookie && !call->wraps) {
		in.size = *session_cookie >> 24;
		in.weight = *session_cookie & 0xffffff;
	} else if (!recall(call, &in)) {
		return;
	}
	if (call->fn == CHURN_FN_FREE)
		return;
	ptr = returned_ptr(call, &in);
	if (!ptr) {
		on_null(ctx, call, &in);
		return;
	}
	if (in.uncounted)
		return;
	if (in.old_ptr) {
		old = in.old.weight ? &in.old : NULL;
		ADD(call->totals->nr_reallocs, 1);
		count_free(ctx, call, in.old_ptr, old, call->ip);
	}
	count_alloc(ctx, call, ptr, &in);
}

static __always_inline int handle_entry(struct pt_regs *ctx, __u64 *session_cookie)
{
	struct call call;
	int done;

	if (!recording || !call__init(ctx, &call, bpf_get_attach_cookie(ctx)))
		return 1;
	if (gated ? !call__enter(&call) : !call__take(&call))
		return 1;
	call.at_entry = true;
	count_hit(&call);
	done = on_entry(ctx, &call, session_cookie);
	if (walking && (!done || !session_cookie))
		note_call(call.tid, call.sp);
	return done;
}

static __always_inline int handle_return(struct pt_regs *ctx, const __u64 *session_cookie)
{
	struct call call;

	if (!call__init(ctx, &call, bpf_get_attach_cookie(ctx)))
		return 0;
	if (gated ? !call__leave(&call) : !call__take(&call))
		return 0;
	call.at_entry = false;
	on_return(ctx, &call, session_cookie);
	return 0;
}

#include "preloaded.h"

/* One link for entry and return, the return only where entry asks for it (6.13 and newer). */
extern bool bpf_session_is_return(void) __ksym __weak;
extern __u64 *bpf_session_cookie(void) __ksym __weak;

SEC("uprobe.multi")
int churn_session(struct pt_regs *ctx)
{
	__u64 *cookie = bpf_session_cookie();

	if (bpf_session_is_return())
		return handle_return(ctx, cookie);
	return handle_entry(ctx, cookie);
}

/* Two links, for kernels from 6.6 without sessions. */
SEC("uprobe.multi")
int churn_multi(struct pt_regs *ctx)
{
	handle_entry(ctx, NULL);
	return 0;
}

SEC("uprobe.multi")
int churn_multi_ret(struct pt_regs *ctx)
{
	return handle_return(ctx, NULL);
}

/* On trace events, which children inherit; 0 drops the trace event's own perf sample. */
SEC("kprobe")
int churn_event(struct pt_regs *ctx)
{
	handle_entry(ctx, NULL);
	return 0;
}

SEC("kprobe")
int churn_event_ret(struct pt_regs *ctx)
{
	return handle_return(ctx, NULL);
}
