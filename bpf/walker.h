/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walker.h - the stack walker inside BPF programs: its maps, its scratch memory, and how stacks
 * are emitted.
 *
 * A walk that comes to code whose table is not there yet (a new process, a library just loaded) is
 * given up for a copy of the registers and the top of the stack, which the recorder walks when it
 * has the table.
 */
#ifndef PERF_CHURN_BPF_WALKER_H
#define PERF_CHURN_BPF_WALKER_H

#include <bpf/bpf_tracing.h>

#include "control.h"
#include "walk_tables.h"


#define WALKER_MAX_PROCS	8192
#define WALKER_NR_SLOTS		6		/* a CPU; the last two are the CPU events' */
#define WALKER_NR_CPU_SLOTS	2
#define WALKER_COPY_STEP	1024		/* bytes of stack copied at a time */
#define WALKER_COPY_BYTES	(32 * WALKER_COPY_STEP)
#define WALKER_NR_CALLS		4096
#define WALKER_RECORD_BYTES	80		/* the largest event that stacks are added to */

/* Settings, written between open and load. */
const volatile bool walking;			/* else the kernel's callchains are used */
const volatile __u32 max_stack = 127;


/*
 * Copies are larger than samples: more of them at a time than this would fill the rings, and samples
 * be lost for them. A stack without a copy ends where the walk did.
 */
const volatile __u64 copy_room[2];		/* of churn events, of CPU samples */
__u64 copied_bytes[2];
__u64 taken_bytes[2];				/* the recorder has read so many of them */

/* Set by the recorder while it has no room for copies. */
bool copies_off;

/* By enum walk_status; walks that ended with a copy are counted once, as such. */
__u64 walk_ends[WALK_STATUS_NR];
__u64 nr_copied;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALK_MAX_RULES);
	__type(key, __u32);
	__type(value, struct walk_rule);
} walk_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALK_MAX_PAGES);
	__type(key, __u32);
	__type(value, struct walk_page);
} walk_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALK_MAX_MAPS);
	__type(key, __u32);
	__type(value, struct walk_map);
} walk_maps SEC(".maps");

/* Inner maps are made when they are needed: memory by need, not by limit. */
struct walk_chunk {
	__u32 rows[WALK_CHUNK_ROWS];
};

struct walk_chunks {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALKER_CHUNKS_A_MAP);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct walk_chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WALKER_MAX_CHUNK_MAPS);
	__type(key, __u32);
	__array(values, struct walk_chunks);
} walk_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WALKER_MAX_PROCS);
	__type(key, __u32);			/* tgid */
	__type(value, struct walk_proc);
} walk_procs SEC(".maps");

/* Processes that have changed their program: when. */
struct walk_exec {
	__u64 rename_ns;			/* the leader got a new name: maybe an exec */
	__u64 exec_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WALKER_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct walk_exec);
} walk_execs SEC(".maps");

static __always_inline const struct walk_rule *walk__rule(void *env, __u32 idx)
{
	return bpf_map_lookup_elem(&walk_rules, &idx);
}

static __always_inline const struct walk_page *walk__page(void *env, __u32 idx)
{
	return bpf_map_lookup_elem(&walk_pages, &idx);
}

static __always_inline const __u32 *walk__rows(void *env, __u32 chunk)
{
	__u32 outer = chunk / WALKER_CHUNKS_A_MAP, inner = chunk % WALKER_CHUNKS_A_MAP;
	void *map = bpf_map_lookup_elem(&walk_rows, &outer);
	struct walk_chunk *c;

	if (!map)
		return NULL;
	c = bpf_map_lookup_elem(map, &inner);
	return c ? c->rows : NULL;
}

static __always_inline const struct walk_map *walk__map(void *env, __u32 idx)
{
	return bpf_map_lookup_elem(&walk_maps, &idx);
}

static __always_inline int walk__read(void *env, void *dst, __u32 bytes, __u64 addr)
{
	return bpf_probe_read_user(dst, bytes, (void *)addr);
}

#define WALK_INLINE __always_inline
#define WALK_UNROLL _Pragma("clang loop unroll(full)")
#include "walk.h"

/* Scratch for one walk. From record on it is what goes into the ring. */
struct walk_slot {
	__u32 busy;
	__u32 start_exact;
	struct walk_state state;
	struct walk_regs start;
	__u8 record[WALKER_RECORD_BYTES];	/* right-aligned */
	struct walk_head head;
	__u64 ips[WALK_MAX_FRAMES];
};

/* uprobe programs can be preempted by others on the same CPU, the CPU event interrupts them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALKER_NR_SLOTS);
	__type(key, __u32);
	__type(value, struct walk_slot);
} walk_slots SEC(".maps");

struct walk_copy_slot {
	__u32 busy;
	__u32 pad;
	__u8 record[WALKER_RECORD_BYTES];
	struct walk_head head;
	struct walk_copy copy;
	__u8 stack[WALKER_COPY_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALKER_COPIES);	/* times the number of CPUs */
	__type(key, __u32);
	__type(value, struct walk_copy_slot);
} walk_copies SEC(".maps");

static __always_inline struct walk_slot *walk_slot__take_of(__u32 first, __u32 nr)
{
	struct walk_slot *slot;
	__u32 i, idx;

	for (i = 0; i < nr; i++) {
		idx = first + i;
		slot = bpf_map_lookup_elem(&walk_slots, &idx);
		if (slot && !__sync_lock_test_and_set(&slot->busy, 1))
			return slot;
	}
	return NULL;
}

static __always_inline struct walk_slot *walk_slot__take(void)
{
	return walk_slot__take_of(0, WALKER_NR_SLOTS - WALKER_NR_CPU_SLOTS);
}

static __always_inline struct walk_slot *walk_slot__take_cpu(void)
{
	return walk_slot__take_of(WALKER_NR_SLOTS - WALKER_NR_CPU_SLOTS, WALKER_NR_CPU_SLOTS);
}

static __always_inline void walk_slot__give(struct walk_slot *slot)
{
	slot->busy = 0;
}

static __always_inline struct walk_copy_slot *walk_copy_slot__take(void)
{
	__u32 i, idx = bpf_get_smp_processor_id() * WALKER_COPIES;
	struct walk_copy_slot *slot;

	for (i = 0; i < WALKER_COPIES; i++, idx++) {
		slot = bpf_map_lookup_elem(&walk_copies, &idx);
		if (slot && !__sync_lock_test_and_set(&slot->busy, 1))
			return slot;
	}
	return NULL;
}

/* The last call of a thread that got a return probe. Threads may share a place; then one is forgotten. */
struct walk_call {
	__u64 tid;
	__u64 sp, ip;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALKER_NR_CALLS);
	__type(key, __u32);
	__type(value, struct walk_call);
} walk_calls SEC(".maps");

/* At the entry of a call whose return address the kernel is about to replace. */
static __always_inline void note_call(__u32 tid, __u64 sp)
{
	__u32 at = tid % WALKER_NR_CALLS;
	struct walk_call *call = bpf_map_lookup_elem(&walk_calls, &at);

	if (!call)
		return;
	call->tid = tid;
	call->sp = sp;
	bpf_probe_read_user(&call->ip, sizeof(call->ip), (void *)sp);
}

static __always_inline void read_hint(struct walk_state *s, __u32 tid)
{
	__u32 at = tid % WALKER_NR_CALLS;
	struct walk_call *call = bpf_map_lookup_elem(&walk_calls, &at);

	s->hint_sp = s->hint_ip = 0;
	if (!call || call->tid != tid)
		return;
	s->hint_sp = call->sp;
	s->hint_ip = call->ip;
}

/*
 * What uretprobes have put their address over: the true return addresses of the frames from @sp
 * on. Of chained ones (several probes on one function) the last to be left stands for the frame.
 */
static __always_inline void read_returns(struct walk_state *s, struct task_struct *task)
{
	struct return_instance *ri;
	struct uprobe_task *utask;
	bool chained = false;
	__u64 lowest = s->regs.sp, sp;
	__u32 i, n = 0;

	s->trampoline = 0;
	s->return_sp = 0;
	for (i = 0; i < WALK_NR_RETURNS; i++)
		s->returns[i] = 0;
	utask = BPF_CORE_READ(task, utask);
	if (!utask)
		return;
	ri = BPF_CORE_READ(utask, return_instances);
	s->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	if (s->trampoline && s->regs.ip - s->trampoline < WALK_TRAMPOLINE_BYTES)
		lowest -= 8;		/* returned, but not done with */
	for (i = 0; i < 2 * WALK_NR_RETURNS && ri; i++) {
		sp = BPF_CORE_READ(ri, stack);
		if (!n && sp >= lowest)
			s->return_sp = sp + 8;
		if (!chained && sp >= lowest && n < WALK_NR_RETURNS)
			s->returns[n++ & (WALK_NR_RETURNS - 1)] = BPF_CORE_READ(ri, orig_ret_vaddr);
		chained = BPF_CORE_READ(ri, chained);
		ri = BPF_CORE_READ(ri, next);
	}
}

static __always_inline void read_proc(struct walk_state *s, __u32 tgid)
{
	struct walk_proc *proc = bpf_map_lookup_elem(&walk_procs, &tgid);
	struct walk_exec *exec;

	s->proc.first = s->proc.nr = 0;
	if (!proc)
		return;
	exec = bpf_map_lookup_elem(&walk_execs, &tgid);
	if (exec && proc->since_ns < exec->exec_ns)
		return;				/* of the program before */
	s->proc = *proc;
}

struct walk_loop {
	struct walk_slot *slot;
	__u32 nr;
	__u32 status;
};

static long walk_one(__u64 i, void *ctx)
{
	struct walk_loop *loop = ctx;

	loop->status = walk__step(&loop->slot->state, NULL, loop->slot->ips, &loop->nr);
	return loop->status != WALK_RUNNING;
}

/**
 * walk_slot__walk() - Walk the current thread's stack.
 * @slot: state.regs is where to start.
 * @exact: They are those of the next instruction, not of behind a call.
 * @entry: The start is at the entry of a probed function, which is to be left out.
 *
 * Not static: a global function is verified once, not for each of its calls.
 */
__noinline int walk_slot__walk(struct walk_slot *slot, __u32 exact, __u32 entry)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct walk_loop loop = { .slot = slot, .status = WALK_RUNNING };
	struct walk_state *s;

	if (!slot)
		return 0;
	s = &slot->state;
	slot->start = s->regs;
	slot->start_exact = exact;
	s->bp_addr = s->bx_addr = 0;
	s->lost = 0;
	s->exact = exact;
	s->leaf = 1;
	s->skip_leaf = s->call_site = entry;
	s->by_fp = 0;
	s->nr_returns = 0;
	s->map.start = s->map.end = 0;
	s->window_addr = 0;
	s->max = max_stack;
	read_returns(s, task);
	read_hint(s, (__u32)bpf_get_current_pid_tgid());
	read_proc(s, bpf_get_current_pid_tgid() >> 32);
	bpf_loop(WALK_MAX_FRAMES + 1, walk_one, &loop, 0);
	slot->head.nr = loop.nr;
	slot->head.is_copy = 0;
	slot->head.status = loop.status == WALK_RUNNING ? WALK_MAX : loop.status;
	return 0;
}

struct copy_loop {
	struct walk_copy_slot *slot;
	__u64 sp;
	__u32 bytes;
};

/* Steps end at page borders, or the first would fault with the page that it reaches into. */
static long copy_one(__u64 i, void *ctx)
{
	struct copy_loop *loop = ctx;
	__u32 at = loop->bytes, step;
	__u64 addr = loop->sp + at;

	step = WALKER_COPY_STEP - (addr & (WALKER_COPY_STEP - 1));
	if (at > WALKER_COPY_BYTES - WALKER_COPY_STEP)
		return 1;
	if (bpf_probe_read_user(&loop->slot->stack[at & (WALKER_COPY_BYTES - 1)],
				step & (WALKER_COPY_STEP - 1) ?: WALKER_COPY_STEP, (void *)addr))
		return 1;
	loop->bytes = at + step;
	return 0;
}

/*
 * How much there is to copy: nothing of use lies above the first frame of the main thread, and other
 * threads have their thread-local storage above theirs, behind which the next mapping may follow.
 */
static __always_inline __u32 bytes_to_top(struct task_struct *task, __u64 sp)
{
	__u64 top = BPF_CORE_READ(task, mm, start_stack) + 16, tls = BPF_CORE_READ(task, thread.fsbase);

	if (tls > sp && tls - sp < top - sp)
		top = tls;
	return top > sp && top - sp < WALKER_COPY_BYTES ? (top - sp) & ~7ULL : WALKER_COPY_BYTES;
}

static __always_inline struct walk_copy_slot *copy_stack(const struct walk_slot *slot)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct walk_copy_slot *to = walk_copy_slot__take();
	struct copy_loop loop = { .slot = to, .sp = slot->start.sp };
	__u32 wanted, i;

	if (!to)
		return NULL;
	wanted = bytes_to_top(task, slot->start.sp);
	bpf_loop(wanted / WALKER_COPY_STEP + 2, copy_one, &loop, 0);
	to->head = slot->head;
	to->head.nr = 0;
	to->head.is_copy = 1;
	to->copy.regs = slot->start;
	to->copy.exact = slot->start_exact;
	to->copy.skip_leaf = to->copy.call_site = slot->state.call_site;
	to->copy.trampoline = slot->state.trampoline;
	for (i = 0; i < WALK_NR_RETURNS; i++)
		to->copy.returns[i] = slot->state.returns[i];
	to->copy.return_sp = slot->state.return_sp;
	to->copy.hint_sp = slot->state.hint_sp;
	to->copy.hint_ip = slot->state.hint_ip;
	to->copy.bytes = loop.bytes < wanted ? loop.bytes : wanted;
	__builtin_memcpy(to->record, slot->record, sizeof(to->record));
	__sync_fetch_and_add(&nr_copied, 1);
	return to;
}

static __always_inline bool wants_copy(const struct walk_slot *slot, const __u32 is_cpu)
{
	return (slot->head.status == WALK_NO_MAP || slot->head.status == WALK_PENDING) &&
	       !copies_off && copied_bytes[is_cpu] - taken_bytes[is_cpu] < copy_room[is_cpu];
}

static __always_inline void count_walk(const struct walk_slot *slot)
{
	__u32 status = slot->head.status;

	barrier_var(status);		/* what is compared is what is used */
	if (status < WALK_STATUS_NR)
		__sync_fetch_and_add(&walk_ends[status], 1);
}

/**
 * walk_slot__emit() - Put an event and its stack into a ring.
 * @events: Where to.
 * @event_bytes: Size of the event, which ends where slot->record does.
 *
 * Return: 0, or the error of bpf_perf_event_output().
 */
static __always_inline long walk_slot__emit(void *ctx, struct walk_slot *slot, void *events,
					    const __u32 event_bytes)
{
	const __u32 off = WALKER_RECORD_BYTES - event_bytes, is_cpu = !event_bytes;
	struct walk_copy_slot *copy;
	__u32 nr = slot->head.nr, bytes;
	long err;

	copy = wants_copy(slot, is_cpu) ? copy_stack(slot) : NULL;
	if (copy) {
		bytes = copy->copy.bytes;
		if (bytes > WALKER_COPY_BYTES)
			bytes = WALKER_COPY_BYTES;
		err = bpf_perf_event_output(ctx, events, BPF_F_CURRENT_CPU, copy->record + off,
					    event_bytes + sizeof(copy->head) + sizeof(copy->copy) +
					    bytes);
		if (!err)
			__sync_fetch_and_add(&copied_bytes[is_cpu], copy->copy.bytes);
		copy->busy = 0;
		return err;
	}
	count_walk(slot);
	if (nr > WALK_MAX_FRAMES)
		nr = WALK_MAX_FRAMES;
	return bpf_perf_event_output(ctx, events, BPF_F_CURRENT_CPU, slot->record + off,
				     event_bytes + sizeof(slot->head) + nr * sizeof(__u64));
}

#endif /* PERF_CHURN_BPF_WALKER_H */
