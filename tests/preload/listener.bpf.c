// SPDX-License-Identifier: GPL-2.0-only
/*
 * listener.bpf.c - what preload_listener has the kernel do at the hook of libperf-churn.so.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/preload.h"
#include "tests/preload/listener.h"

#define ADD(counter, n)	__sync_fetch_and_add(&(counter), n)

char LICENSE[] SEC("license") = "GPL";

const volatile bool wants_events;

__u64 nr_lost;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct listener_sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} events SEC(".maps");

static __always_inline void add_totals(struct preload_totals *to, const struct preload_totals *from)
{
	ADD(to->nr_allocs, from->nr_allocs);
	ADD(to->alloc_bytes, from->alloc_bytes);
	ADD(to->nr_frees, from->nr_frees);
	ADD(to->nr_failed, from->nr_failed);
	ADD(to->nr_free_null, from->nr_free_null);
	ADD(to->nr_reallocs, from->nr_reallocs);
	ADD(to->nr_lost_map, from->nr_lost_map);
	ADD(to->nr_lost_inflight, from->nr_lost_inflight);
}

static __always_inline struct listener_sums *sums_of(__u32 pid)
{
	static const struct listener_sums none;
	struct listener_sums *s = bpf_map_lookup_elem(&sums, &pid);

	if (s)
		return s;
	bpf_map_update_elem(&sums, &pid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sums, &pid);
}

static __always_inline void emit(struct pt_regs *ctx, const struct preload_call *call, __u64 id)
{
	struct listener_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		ADD(nr_lost, 1);
		return;
	}
	e->pid = id >> 32;
	e->tid = id;
	e->time_ns = bpf_ktime_get_ns();
	e->call = *call;
	__builtin_memset(e->ips, 0, sizeof(e->ips));
	bpf_get_stack(ctx, e->ips, sizeof(e->ips), BPF_F_USER_STACK);
	bpf_ringbuf_submit(e, 0);
}

SEC("uprobe.multi")
int on_hook(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct preload_call call;
	struct listener_sums *s = sums_of(id >> 32);

	if (!s || bpf_probe_read_user(&call, sizeof(call), (void *)PT_REGS_PARM1(ctx))) {
		ADD(nr_lost, 1);
		return 0;
	}
	add_totals(&s->since, &call.since);
	ADD(s->hits[call.kind & 3], 1);
	if (call.kind == PRELOAD_ALLOC) {
		ADD(s->weight, call.weight);
		ADD(s->weighted_bytes, call.weight * call.size);
	} else if (call.kind == PRELOAD_FREE) {
		ADD(s->freed_weight, call.weight);
	}
	if (wants_events)
		emit(ctx, &call, id);
	return 0;
}
