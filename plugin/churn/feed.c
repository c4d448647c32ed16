// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "costs.h"
#include "cpu_class.h"
#include "describe.h"
#include "feed.h"
#include "filter.h"
#include "index.h"
#include "model.h"
#include "perfdata/reader.h"
#include "ranges.h"
#include "roles.h"
#include "seen.h"
#include "stack/machine.h"

/* 48 bytes each at most twice over: some 400 MB where a program really has that many. */
#define MAX_LIVE_BLOCKS	((size_t)4 << 20)
#define MAX_SEEN	((size_t)1 << 20)

/*
 * The kernel records 127 frames unless told otherwise, and inlined ones come on top. What a sample
 * is must not depend on what is shown, so --max-stack has no part in this.
 */
#define MAX_FRAMES	1024

/* What is remembered of an allocation's or a free's chain, beside its stack. */
#define SEEN_CUT	(1u << 30)
#define SEEN_REJECTED	(1u << 31)
#define SEEN_STACK	(SEEN_CUT - 1)

/* What is remembered of a CPU sample's chain, in place of a path. */
#define CPU_REJECTED	((__u32)-1)

/* How often an address space has changed: old chains may mean something else now. */
struct space_version {
	__u32 pid;
	__u32 version;
};

struct feed {
	struct feed_opts opts;
	struct pdreader *reader;
	struct machine *machine;
	struct model *model;
	struct roles roles;
	struct seen *stack_seen, *cpu_seen;
	struct space_version *spaces;
	size_t nr_spaces, room_spaces;
	struct index space_index;
	__u32 kernel_version;
	struct frame *frames;
	enum frame_kind *kinds;
	__u64 first_ns, last_ns;
	bool is_glibc;
};

static const char *name_line(void *ctx, const struct frame *frame, bool call)
{
	struct feed *f = ctx;

	return machine__srcline(f->machine, frame, call);
}

static int build(struct feed *f)
{
	struct model_opts model_opts = {
		.names = f->opts.names, .srcline = name_line, .srcline_ctx = f,
		.max_live = MAX_LIVE_BLOCKS, .site_depth = f->opts.site_depth,
	};
	int err = roles__init(&f->roles, f->reader);

	f->frames = calloc(MAX_FRAMES, sizeof(*f->frames));
	f->kinds = calloc(MAX_FRAMES, sizeof(*f->kinds));
	if (!f->frames || !f->kinds)
		return -ENOMEM;
	err = err ?: seen__new(MAX_SEEN, &f->stack_seen);
	err = err ?: seen__new(MAX_SEEN, &f->cpu_seen);
	return err ?: model__new(&model_opts, &f->model);
}

int feed__new(const struct feed_opts *opts, struct pdreader *r, struct machine *machine,
	      struct feed **ret)
{
	struct feed *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->opts = *opts;
	f->reader = r;
	f->machine = machine;
	err = build(f);
	if (!err && !f->roles.has[ROLE_ALLOC] && !f->roles.has[ROLE_FOREIGN] &&
	    !f->roles.has[ROLE_WINDOW])
		err = -ENOMSG;
	if (err) {
		feed__free(f);
		return err;
	}
	*ret = f;
	return 0;
}

void feed__free(struct feed *f)
{
	if (!f)
		return;
	model__free(f->model);
	seen__free(f->stack_seen);
	seen__free(f->cpu_seen);
	roles__exit(&f->roles);
	index__exit(&f->space_index);
	free(f->spaces);
	free(f->frames);
	free(f->kinds);
	free(f);
}

static int find_space(struct feed *f, __u32 pid, struct space_version **ret)
{
	__u64 hash = hash_mix(0, pid);
	size_t pos;
	__u32 id;
	int err;

	for (id = index__first(&f->space_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&f->space_index, hash, &pos)) {
		if (f->spaces[id].pid == pid)
			goto found;
	}
	id = f->nr_spaces;
	err = grow_array(&f->spaces, &f->room_spaces, id, sizeof(*f->spaces));
	if (!err)
		err = index__add(&f->space_index, hash, id);
	if (err)
		return err;
	f->spaces[f->nr_spaces++].pid = pid;
found:
	*ret = &f->spaces[id];
	return 0;
}

static int change_space(struct feed *f, __u32 pid)
{
	struct space_version *space;
	int err = find_space(f, pid, &space);

	if (!err)
		space->version++;
	return err;
}

/* false: the stack is walked from a copy, and no key can stand for it. */
static bool make_key(struct feed *f, const struct pdsample *s, struct seen_key *key)
{
	struct space_version *space;
	__u64 i;

	if (s->stack_bytes || find_space(f, s->pid, &space))
		return false;
	*key = (struct seen_key){ 1, 1 };
	seen_key__add(key, (__u64)s->pid << 32 | space->version);
	seen_key__add(key, (__u64)f->kernel_version << 32 | s->cpumode);
	seen_key__add(key, s->ip);
	for (i = 0; i < s->nr_ips; i++)
		seen_key__add(key, s->ips[i]);
	return true;
}

/*
 * A stack without a user frame gets one without a name.
 * @full: It has all the frames there is room for; there may be more.
 */
static int add_stack(struct feed *f, const struct pdsample *s, __u32 *ret, bool *full)
{
	static const struct frame nowhere;
	struct stacks *stacks = model__stacks(f->model);
	size_t nr = machine__resolve(f->machine, s, f->frames, MAX_FRAMES);
	int err = stacks__add(stacks, f->frames, nr, ret);

	*full = nr == MAX_FRAMES;
	if (!err && *ret == STACK_NONE) {
		model__check(f->model)->nr_no_stack++;
		err = stacks__add(stacks, &nowhere, 1, ret);
	}
	return err ?: *ret > SEEN_STACK ? -ENOMEM : 0;
}

static int find_stack(struct feed *f, const struct pdsample *s, __u32 *ret)
{
	struct stacks *stacks = model__stacks(f->model);
	const struct stack_frame *site;
	struct seen_key key;
	bool has_key = make_key(f, s, &key), full;
	int err;

	if (has_key && seen__find(f->stack_seen, &key, ret))
		return 0;
	err = add_stack(f, s, ret, &full);
	if (err)
		return err;
	site = stacks__frame(stacks, stacks__site(stacks, *ret));
	if (!filter__site(f->opts.filter, site->sym, site->dso))
		*ret |= SEEN_REJECTED;
	if (!full && !stacks__complete(stacks, *ret & SEEN_STACK))
		*ret |= SEEN_CUT;
	if (has_key)
		seen__add(f->stack_seen, &key, *ret);
	return 0;
}

static bool passes(struct feed *f, const struct pdsample *s)
{
	return filter__time(f->opts.filter, s->time) && filter__cpu(f->opts.filter, s->cpu) &&
	       filter__thread(f->opts.filter, s->pid, s->tid,
			      machine__thread_comm(f->machine, s->pid, s->tid));
}

/* The chain shall begin in the immediate caller, at its call, and hold it once. */
static void check_caller(struct report_check *check, const struct pdsample *s, __u64 caller,
			 __u32 flags)
{
	__u64 i = 0;

	/* With a stack copy the caller is where the registers are. */
	if (!s->nr_ips || !caller || s->stack)
		return;
	check->nr_repaired += !!(flags & CHURN_F_REPAIRED);
	while (i < s->nr_ips && s->ips[i] != PERF_CONTEXT_USER)
		i++;
	i++;
	check->nr_stacks++;
	if (i >= s->nr_ips || (s->ips[i] != caller - 1 && s->ips[i] != caller))
		check->nr_caller_missing++;
	else if (i + 1 < s->nr_ips && s->ips[i + 1] == caller)
		check->nr_caller_twice++;
}

static int add_alloc(struct feed *f, const struct pdsample *s, struct model_alloc *a)
{
	const char *comm = machine__thread_comm(f->machine, s->pid, s->tid);
	__u32 stack;
	int err = find_stack(f, s, &stack);

	if (err || stack & SEEN_REJECTED)
		return err;
	model__check(f->model)->nr_cut += !!(stack & SEEN_CUT);
	a->comm = stacks__string(model__stacks(f->model), comm ?: "");
	if (!a->comm)
		return -ENOMEM;
	a->stack = stack & SEEN_STACK;
	a->time_ns = s->time;
	a->pid = s->pid;
	a->tid = s->tid;
	if (!a->weight)
		a->weight = 1;
	return model__add_alloc(f->model, a);
}

static int take_alloc(struct feed *f, const struct role *role, const struct pdsample *s)
{
	struct report_check *check = model__check(f->model);
	struct churn_alloc e;
	struct model_alloc a;

	if (!passes(f, s))
		return 0;
	if (role__alloc(role, s, &e)) {
		check->nr_bad++;
		return 0;
	}
	check_caller(check, s, e.caller, e.flags);
	/* No free tells of a refill's block: what is freed may have been handed out again since. */
	a = (struct model_alloc){ .size_bytes = e.size, .weight = e.weight,
				  .seq = e.fn == CHURN_FN_REFILL ? 0 : e.seq, .fn = e.fn,
				  .flags = e.flags, .old = e.old_ptr };
	return add_alloc(f, s, &a);
}

static int take_foreign(struct feed *f, const struct role *role, const struct pdsample *s)
{
	struct model_alloc a = { .weight = s->period };

	if (!passes(f, s))
		return 0;
	if (role__foreign(role, s, &a.size_bytes)) {
		model__check(f->model)->nr_bad++;
		return 0;
	}
	return add_alloc(f, s, &a);
}

/* Of a block never seen nothing is asked. */
static int find_free_stack(struct feed *f, const struct pdsample *s, __u32 flags, __u32 *ret)
{
	int err = 0;

	*ret = STACK_NONE;
	if (!(flags & CHURN_F_UNSEEN)) {
		err = find_stack(f, s, ret);
		*ret &= SEEN_STACK;
	}
	return err;
}

/* The end of a block counts whoever frees it; the free itself, if it passes the filter. */
static int take_free(struct feed *f, const struct role *role, const struct pdsample *s)
{
	struct churn_free e;
	struct model_free free;
	__u32 stack;
	int err;

	if (!filter__time(f->opts.filter, s->time) || !filter__pid(f->opts.filter, s->pid))
		return 0;
	if (role__free(role, s, &e)) {
		model__check(f->model)->nr_bad++;
		return 0;
	}
	check_caller(model__check(f->model), s, e.caller, e.flags);
	err = find_free_stack(f, s, e.flags, &stack);
	if (err)
		return err;
	free = (struct model_free){
		.time_ns = s->time, .lifetime_ns = e.lifetime_ns, .weight = e.weight ?: 1, .seq = e.seq,
		.pid = s->pid, .tid = s->tid, .stack = stack, .fn = e.fn, .flags = e.flags,
		.counted = passes(f, s),
		.need_site = filter__has_site(f->opts.filter),
	};
	return model__add_free(f->model, &free);
}

static void note_time(struct feed *f, __u64 time_ns)
{
	if (!time_ns)
		return;
	if (!f->first_ns || time_ns < f->first_ns)
		f->first_ns = time_ns;
	if (time_ns > f->last_ns)
		f->last_ns = time_ns;
}

static int take_window(struct feed *f, const struct role *role, const struct pdsample *s)
{
	struct churn_window w;

	if (role__window(role, s, &w)) {
		model__check(f->model)->nr_bad++;
		return 0;
	}
	if (w.start_ns <= s->time)
		note_time(f, w.start_ns);
	if (!filter__pid(f->opts.filter, s->pid))
		return 0;
	return model__add_window(f->model, s->pid, &w);
}

static int take_probe(struct feed *f, const struct role *role, const struct pdsample *s)
{
	struct churn_probe p;

	if (role__probe(role, s, &p)) {
		model__check(f->model)->nr_bad++;
		return 0;
	}
	return model__add_probe(f->model, &p);
}

/* Of the whole recording, whatever the filters. */
static int take_stacks(struct feed *f, const struct role *role, const struct pdsample *s)
{
	struct churn_stacks stacks;

	if (role__stacks(role, s, &stacks))
		model__check(f->model)->nr_bad++;
	else
		model__set_stacks(f->model, &stacks);
	return 0;
}

/* The site of a CPU sample, for filters: its first frame outside allocator and wrappers. */
static bool site_passes(const struct feed *f, size_t nr_user)
{
	const struct frame *site;

	if (!filter__has_site(f->opts.filter))
		return true;
	if (!nr_user)
		return false;
	site = &f->frames[find_site(f->kinds, nr_user)];
	return filter__site(f->opts.filter, site->sym, site->dso);
}

static int find_cpu_path(struct feed *f, const struct pdsample *s, const char *comm, __u32 *ret)
{
	struct stacks *stacks = model__stacks(f->model);
	size_t nr = machine__resolve(f->machine, s, f->frames, MAX_FRAMES), i;
	struct cpu_path like = { .stack = STACK_NONE };
	int err = 0;

	for (i = 0; i < nr; i++)
		f->kinds[i] = f->frames[i].allocator ? FRAME_ALLOCATOR :
			      names__classify(f->opts.names, f->frames[i].sym, f->frames[i].dso,
					      f->frames[i].kernel);
	like.class = cpu_class__of(f->frames, f->kinds, nr, &like.flags);
	nr = cpu_class__cut(f->frames, f->kinds, nr);
	*ret = CPU_REJECTED;
	if (!site_passes(f, nr))
		return 0;
	if (like.class != CLASS_PROBE && (like.class != CLASS_COMPUTE || like.flags & CPU_NEEDS_STACK)) {
		like.comm = stacks__string(stacks, comm);
		err = like.comm ? stacks__add(stacks, f->frames, nr, &like.stack) : -ENOMEM;
	}
	return err ?: model__cpu_path(f->model, &like, ret);
}

static int take_cpu(struct feed *f, const struct pdsample *s)
{
	const char *comm = machine__thread_comm(f->machine, s->pid, s->tid) ?: "";
	struct seen_key key;
	bool has_key;
	__u32 path;
	int err;

	if (!passes(f, s) || model__in_window(f->model, s->pid, s->time))
		return 0;
	has_key = make_key(f, s, &key);
	if (has_key)
		seen_key__add(&key, hash_str(comm));
	if (!has_key || !seen__find(f->cpu_seen, &key, &path)) {
		err = find_cpu_path(f, s, comm, &path);
		if (err)
			return err;
		if (has_key)
			seen__add(f->cpu_seen, &key, path);
	}
	if (path != CPU_REJECTED)
		model__add_cpu(f->model, path, s->period ?: 1);
	return 0;
}

static int handle_sample(void *ctx, const struct pdsample *s)
{
	struct feed *f = ctx;
	const struct role *role = &f->roles.by_idx[s->event->idx];

	/* Ranges are looked for when all is over. */
	if (role->kind != ROLE_NONE && role->kind != ROLE_RANGE)
		note_time(f, s->time);
	switch (role->kind) {
	case ROLE_CPU:
		return take_cpu(f, s);
	case ROLE_ALLOC:
		return take_alloc(f, role, s);
	case ROLE_FREE:
		return take_free(f, role, s);
	case ROLE_WINDOW:
		return take_window(f, role, s);
	case ROLE_PROBE:
		return take_probe(f, role, s);
	case ROLE_STACKS:
		return take_stacks(f, role, s);
	case ROLE_FOREIGN:
		return take_foreign(f, role, s);
	case ROLE_RANGE:
	case ROLE_NONE:
		break;
	}
	return 0;
}

static int handle_mmap(void *ctx, __u64 time, const struct pdmap *map)
{
	struct feed *f = ctx;

	(void)time;
	if (map->cpumode == PERF_RECORD_MISC_KERNEL)
		f->kernel_version++;
	return change_space(f, map->pid) ?: machine__mmap(f->machine, map);
}

static int handle_comm(void *ctx, __u64 time, __u32 pid, __u32 tid, const char *comm, bool exec)
{
	struct feed *f = ctx;
	int err = 0;

	if (exec)
		err = change_space(f, pid) ?: model__end_process(f->model, pid, time) ?:
		      model__begin_process(f->model, pid);
	return err ?: machine__comm(f->machine, pid, tid, comm, exec);
}

static int start_child(struct feed *f, __u32 pid, __u32 ppid)
{
	return change_space(f, pid) ?: model__begin_fork(f->model, pid, ppid);
}

static int handle_fork(void *ctx, __u64 time, __u32 pid, __u32 ppid, __u32 tid, __u32 ptid)
{
	struct feed *f = ctx;

	(void)time;
	return (pid != ppid ? start_child(f, pid, ppid) : 0) ?:
	       machine__fork(f->machine, pid, ppid, tid, ptid);
}

static int handle_exit(void *ctx, __u64 time, __u32 pid, __u32 tid)
{
	struct feed *f = ctx;
	int err = 0;

	if (pid == tid)
		err = model__end_process(f->model, pid, time);
	return err ?: machine__exit(f->machine, pid, tid);
}

static int handle_lost(void *ctx, __u64 time, const struct pdevent *event, __u64 nr)
{
	struct feed *f = ctx;
	struct report_losses *losses = model__losses(f->model);

	(void)time;
	if (event && event->format)
		losses->perf_churn += nr;
	else
		losses->perf_other += nr;
	return 0;
}

static void handle_progress(void *ctx, __u64 done_bytes, __u64 total_bytes)
{
	struct feed *f = ctx;

	if (f->opts.progress)
		f->opts.progress(f->opts.progress_ctx, done_bytes, total_bytes);
}

int feed__read(struct feed *f)
{
	static const struct pdreader_ops ops = {
		.sample = handle_sample, .mmap = handle_mmap, .comm = handle_comm,
		.fork = handle_fork, .exit = handle_exit, .lost = handle_lost,
		.progress = handle_progress,
	};

	return ranges__read(f->reader, &f->roles, f->machine, &model__check(f->model)->nr_bad,
			    &f->is_glibc) ?:
	       pdreader__read(f->reader, &ops, f);
}

int feed__report(struct feed *f, const struct report **ret)
{
	const struct filter *filter = f->opts.filter;
	const struct machine_stats *stats = machine__stats(f->machine);
	struct report_check *check = model__check(f->model);
	struct report_recording rec;
	__u64 first = f->first_ns, last = f->last_ns;
	int err;

	if (filter->start_ns > first)
		first = filter->start_ns;
	if (filter->end_ns && filter->end_ns < last)
		last = filter->end_ns;
	check->nr_frames = stats->nr_frames;
	check->nr_unmapped = stats->nr_unmapped;
	check->nr_unnamed = stats->nr_unnamed;
	err = describe_recording(f->reader, &f->roles, model__stacks(f->model), &rec);
	if (err)
		return err;
	rec.filtered = filter__is_set(filter);
	rec.is_glibc = f->is_glibc;
	/* From inside the allocator, frame pointers miss its caller, and so a CPU sample's site. */
	rec.share_unknown = filter__has_site(filter) && (rec.cpu_call_graph == CALL_GRAPH_FP ||
							 rec.cpu_call_graph == CALL_GRAPH_NONE);
	rec.duration_s = last > first ? (last - first) / 1e9 : 0;
	return model__finish(f->model, &rec, last, filter__only_pids(filter), ret);
}
