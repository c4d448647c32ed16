// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process has an address space (space.c), whose mappings show objects (dso.c); the kernel is
 * one more space (kernel.c). A sample's addresses go through these, or, where it has a copy of
 * the stack in place of a callchain, come from there first (unwind.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <libiberty/hashtab.h>
#include <linux/perf_event.h>

#include "dso.h"
#include "internals.h"
#include "kernel.h"
#include "locate.h"
#include "machine.h"
#include "perfdata/reader.h"
#include "perfmap.h"
#include "space.h"
#include "strpool.h"
#include "unwind.h"
#include "util/msg.h"

#define MAX_UNWOUND	1024

/*
 * Processes and threads are forgotten some time after they ended: samples that other CPUs or
 * programs wrote may still follow, but a recording of a day must not fill the memory.
 */
#define NR_ENDED	4096

struct process {
	__u32 pid;
	bool ended;
	struct space *space;
};

struct thread {
	__u32 tid, pid;
	bool ended;
	const char *comm;
};

struct machine {
	struct machine_opts opts;
	struct machine_stats stats;
	struct strpool *strings;
	struct dso_env *dsos;
	struct space_pool pool;
	struct kernel *kernel;
	struct unwinder *unwinder;
	htab_t processes, threads;
	struct process *last_process;
	__u32 ended_tids[NR_ENDED];
	size_t next_ended;
	bool said_too_many;
	__u64 unwound[MAX_UNWOUND];
	bool unwound_exact[MAX_UNWOUND];
};

static hashval_t hash_process(const void *item)
{
	return ((const struct process *)item)->pid * 0x9e3779b1U;
}

static int equal_process(const void *a, const void *b)
{
	return ((const struct process *)a)->pid == ((const struct process *)b)->pid;
}

static void process__free(void *item)
{
	struct process *p = item;

	space__put(p->space);
	free(p);
}

static hashval_t hash_thread(const void *item)
{
	return ((const struct thread *)item)->tid * 0x9e3779b1U;
}

static int equal_thread(const void *a, const void *b)
{
	return ((const struct thread *)a)->tid == ((const struct thread *)b)->tid;
}

static int init_tables(struct machine *m)
{
	m->processes = htab_create_alloc(127, hash_process, equal_process, process__free, calloc,
					 free);
	m->threads = htab_create_alloc(127, hash_thread, equal_thread, free, calloc, free);
	return m->processes && m->threads ? 0 : -ENOMEM;
}

int machine__new(const struct machine_opts *opts, struct machine **ret)
{
	struct machine *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->opts = *opts;
	err = init_tables(m) ?: strpool__new(&m->strings);
	err = err ?: dso_env__new(&m->opts, m->strings, &m->dsos);
	err = err ?: kernel__new(&m->opts, m->dsos, m->strings, &m->pool, &m->kernel);
	err = err ?: unwinder__new(&m->unwinder);
	err = err ?: machine__comm(m, 0, 0, "swapper", false);	/* no record names the idle task */
	if (err)
		machine__free(m);
	else
		*ret = m;
	return err;
}

void machine__free(struct machine *m)
{
	if (!m)
		return;
	unwinder__free(m->unwinder);
	kernel__free(m->kernel);
	if (m->processes)
		htab_delete(m->processes);
	if (m->threads)
		htab_delete(m->threads);
	dso_env__free(m->dsos);
	strpool__free(m->strings);
	free(m);
}

static struct process *find_process(struct machine *m, __u32 pid)
{
	struct process key = { .pid = pid }, *p;

	if (m->last_process && m->last_process->pid == pid)
		return m->last_process;
	p = htab_find(m->processes, &key);
	if (p)
		m->last_process = p;
	return p;
}

static struct process *get_process(struct machine *m, __u32 pid)
{
	struct process key = { .pid = pid }, *p = find_process(m, pid);
	void **slot;

	if (p)
		return p;
	slot = htab_find_slot(m->processes, &key, INSERT);
	p = slot ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->pid = pid;
	p->space = space__new(&m->pool);
	if (!p->space) {
		free(p);
		return NULL;
	}
	*slot = p;
	return p;
}

static struct thread *find_thread(const struct machine *m, __u32 tid)
{
	struct thread key = { .tid = tid };

	return htab_find(m->threads, &key);
}

static struct thread *get_thread(struct machine *m, __u32 pid, __u32 tid)
{
	struct thread key = { .tid = tid }, *t;
	void **slot = htab_find_slot(m->threads, &key, INSERT);

	if (!slot)
		return NULL;
	t = *slot ?: calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	if (t->pid != pid)
		t->comm = NULL;
	t->tid = tid;
	t->pid = pid;
	t->ended = false;
	*slot = t;
	return t;
}

static void forget(struct machine *m, __u32 tid)
{
	struct process key = { .pid = tid }, *p = htab_find(m->processes, &key);
	struct thread *t = find_thread(m, tid);

	if (t && t->ended)
		htab_remove_elt(m->threads, t);
	if (!p || !p->ended)
		return;
	if (m->last_process == p)
		m->last_process = NULL;
	htab_remove_elt(m->processes, p);
}

/* A record of the file may be wrong, but only running out of memory ends the reading. */
static int tolerate(struct machine *m, int err, const struct pdmap *map)
{
	if (!err || err == -ENOMEM)
		return err;
	if (err == -E2BIG && !m->said_too_many) {
		m->said_too_many = true;
		pr_warning("too many mappings: from here on some are left out\n");
	}
	pr_debug("pid %u: mapping %#llx+%#llx left out: %s\n", map->pid, map->start, map->len,
		 strerror(-err));
	return 0;
}

static int map_user(struct machine *m, const struct pdmap *map)
{
	struct mapping new = {
		.start = map->start, .end = map->start + map->len, .pgoff = map->pgoff,
		.exec = !map->prot || map->prot & PROT_EXEC,	/* old records do not tell */
	};
	struct object_id id = {
		.path = map->filename, .pid = map->pid, .start = map->start, .end = new.end,
		.maj = map->maj, .min = map->min, .ino = map->ino,
	};
	struct process *p = get_process(m, map->pid);
	char perfmap[PERFMAP_PATH_BYTES];

	if (!p)
		return -ENOMEM;
	if (map->build_id_bytes > 0 && map->build_id_bytes <= BUILD_ID_MAX_BYTES) {
		memcpy(id.build_id.bits, map->build_id, map->build_id_bytes);
		id.build_id.bytes = map->build_id_bytes;
	}
	p->ended = false;
	/* addresses in generated code are absolute; the names are of the process, not of a file */
	if (new.exec && perfmap__covers(map->filename) &&
	    perfmap__path(map->pid, m->opts.symfs ?: "", perfmap)) {
		id = (struct object_id){ .path = perfmap };
		new.pgoff = new.start;
	}
	new.dso = dso_env__get(m->dsos, &id, false);
	return new.dso ? space__map(&p->space, &new) : -ENOMEM;
}

int machine__mmap(struct machine *m, const struct pdmap *map)
{
	switch (map->cpumode) {
	case PERF_RECORD_MISC_USER:
		return tolerate(m, map_user(m, map), map);
	case PERF_RECORD_MISC_KERNEL:
		return tolerate(m, kernel__map(m->kernel, map), map);
	default:			/* guests and hypervisors */
		return 0;
	}
}

int machine__add_range(struct machine *m, const struct machine_range *range)
{
	struct internal_range internal = {
		.start = range->start, .offset = range->offset, .bytes = range->end - range->start,
	};
	struct build_id id = {};

	if (range->end <= range->start || range->build_id_bytes > BUILD_ID_MAX_BYTES)
		return 0;
	memcpy(id.bits, range->build_id, range->build_id_bytes);
	id.bytes = range->build_id_bytes;
	return dso_env__add_internal(m->dsos, range->path, &id, &internal);
}

int machine__comm(struct machine *m, __u32 pid, __u32 tid, const char *comm, bool exec)
{
	struct thread *t = get_thread(m, pid, tid);
	struct process *p = get_process(m, pid);
	struct space *space;

	if (!t || !p)
		return -ENOMEM;
	t->comm = strpool__clean(m->strings, comm);
	p->ended = false;
	if (!exec)
		return 0;
	space = space__new(&m->pool);
	if (!space)
		return -ENOMEM;
	space__put(p->space);
	p->space = space;
	return 0;
}

/*
 * Recorders also write FORK for processes that ran before; their parent may be unknown, or its
 * maps come later: then what is known of the child stays.
 */
static int inherit_space(struct machine *m, __u32 pid, __u32 ppid)
{
	struct process *child = get_process(m, pid), *parent = find_process(m, ppid);

	if (!child)
		return -ENOMEM;
	child->ended = false;
	if (!parent || parent == child || !space__nr(parent->space))
		return 0;
	space__put(child->space);
	child->space = space__get(parent->space);
	return 0;
}

int machine__fork(struct machine *m, __u32 pid, __u32 ppid, __u32 tid, __u32 ptid)
{
	struct thread *parent, *t = get_thread(m, pid, tid);

	if (!t)
		return -ENOMEM;
	parent = find_thread(m, ptid);
	if (parent && parent != t && parent->pid == ppid)
		t->comm = parent->comm;
	return pid == ppid ? 0 : inherit_space(m, pid, ppid);
}

int machine__exit(struct machine *m, __u32 pid, __u32 tid)
{
	struct process *p = pid == tid ? find_process(m, pid) : NULL;
	struct thread *t = find_thread(m, tid);
	__u32 *slot = &m->ended_tids[m->next_ended++ % NR_ENDED];

	if (*slot)
		forget(m, *slot);
	*slot = tid;
	if (p)
		p->ended = true;
	if (t)
		t->ended = true;
	return 0;
}

const char *machine__thread_comm(const struct machine *m, __u32 pid, __u32 tid)
{
	const struct thread *t = find_thread(m, tid);

	if (t && t->pid != pid)
		t = NULL;
	if (!t || !t->comm)
		t = find_thread(m, pid);
	return t && t->pid == pid && t->comm ? t->comm : "";
}

/* The stack that is being made. */
struct stack {
	struct machine *m;
	struct space *space;		/* NULL: the process is unknown */
	struct frame *frames;
	size_t nr, max;
};

static struct frame *push_frame(struct stack *st, __u64 ip)
{
	struct frame *f = &st->frames[st->nr++];

	*f = (struct frame) { .ip = ip, .rel_ip = ip };
	return f;
}

static void push_inlines(struct stack *st, struct frame *tail, const struct dso_addr *at)
{
	for (size_t i = 0; i < at->nr_inlines && st->nr < st->max; i++) {
		struct frame outer = *tail;

		tail->sym = at->inlines[i].name;
		tail->sym_start = at->inlines[i].id;
		tail->inlined = true;
		tail = push_frame(st, outer.ip);
		*tail = outer;
	}
}

/*
 * No name, or that of a function which begins in front of the allocator's code: a guess, from a
 * symbol without a size.
 */
static bool is_internal(const struct internal_range *range, const struct dso_addr *at)
{
	return range && (!at->sym || at->sym_start < range->start);
}

/* @exact: not a return address, so the instruction there is the one meant. */
static void push_user(struct stack *st, __u64 ip, bool exact)
{
	struct machine_stats *stats = &st->m->stats;
	struct frame *f = push_frame(st, ip);
	__u64 addr = exact ? ip : ip - 1, offset;
	const struct mapping *map = st->space ? space__find(st->space, addr) : NULL;
	const struct internal_range *internal;
	const struct dso_addr *at;

	if (!map) {
		stats->nr_unmapped++;
		return;
	}
	f->dso = dso__name(map->dso);
	offset = addr - map->start + map->pgoff;
	addr = dso__vaddr(map->dso, offset);
	at = dso__at(map->dso, addr);
	internal = dso__internal(map->dso, offset);
	f->allocator = internal;
	if (is_internal(internal, at)) {
		/* As recorded, whatever file is there now. */
		addr = internal->start + (offset - internal->offset);
		f->rel_ip = exact ? addr : addr + 1;
		f->sym = MACHINE_INTERNALS;
		f->sym_start = internal->start;
		return;
	}
	f->rel_ip = exact ? addr : addr + 1;
	f->sym = at->sym;
	f->sym_start = at->sym_start;
	stats->nr_unnamed += !at->sym;
	push_inlines(st, f, at);
}

static void push_ip(struct stack *st, __u16 cpumode, __u64 ip, bool exact)
{
	struct machine_stats *stats = &st->m->stats;
	struct frame *f;

	stats->nr_frames++;
	if (cpumode == PERF_RECORD_MISC_USER) {
		push_user(st, ip, exact);
		return;
	}
	f = push_frame(st, ip);
	if (cpumode == PERF_RECORD_MISC_KERNEL)
		kernel__name(st->m->kernel, exact ? ip : ip - 1, f);
	if (!f->dso)
		stats->nr_unmapped++;
	else if (!f->sym)
		stats->nr_unnamed++;
}

/* What a PERF_CONTEXT_* marker announces. */
static __u16 context_mode(__u64 marker)
{
	switch (marker) {
	case PERF_CONTEXT_USER:
		return PERF_RECORD_MISC_USER;
	case PERF_CONTEXT_KERNEL:
		return PERF_RECORD_MISC_KERNEL;
	case PERF_CONTEXT_HV:
		return PERF_RECORD_MISC_HYPERVISOR;
	case PERF_CONTEXT_GUEST_KERNEL:
		return PERF_RECORD_MISC_GUEST_KERNEL;
	case PERF_CONTEXT_GUEST_USER:
		return PERF_RECORD_MISC_GUEST_USER;
	default:
		return PERF_RECORD_MISC_CPUMODE_UNKNOWN;
	}
}

/* Returns whether the callchain had user frames. */
static bool push_callchain(struct stack *st, const struct pdsample *s)
{
	__u16 mode = s->cpumode;
	bool exact = true, has_user = false;

	for (__u64 i = 0; i < s->nr_ips && st->nr < st->max; i++) {
		if (s->ips[i] >= (__u64)PERF_CONTEXT_MAX) {
			mode = context_mode(s->ips[i]);
			exact = true;
		} else if (mode != PERF_RECORD_MISC_CPUMODE_UNKNOWN) {
			push_ip(st, mode, s->ips[i], exact);
			has_user |= mode == PERF_RECORD_MISC_USER;
			exact = false;
		}
	}
	return has_user;
}

/* The dynamic loader's entry has no call frame information that says: the end. */
static bool is_process_entry(const struct frame *f)
{
	return f->sym && (!strcmp(f->sym, "_start") || !strcmp(f->sym, "_dl_start_user"));
}

static void push_unwound(struct stack *st, const struct pdsample *s)
{
	struct machine *m = st->m;
	size_t max = st->max - st->nr < MAX_UNWOUND ? st->max - st->nr : MAX_UNWOUND;
	bool complete;
	size_t nr;

	nr = unwinder__walk(m->unwinder, st->space, s, m->unwound, m->unwound_exact, max, &complete);
	if (!nr)
		return;
	for (size_t i = 0; i < nr && st->nr < st->max; i++)
		push_ip(st, PERF_RECORD_MISC_USER, m->unwound[i], m->unwound_exact[i]);
	m->stats.nr_unwound++;
	m->stats.nr_unwind_cut += !complete && !is_process_entry(&st->frames[st->nr - 1]);
}

size_t machine__resolve(struct machine *m, const struct pdsample *s, struct frame *frames,
			size_t max)
{
	const struct process *p = find_process(m, s->pid);
	struct stack st = {
		.m = m, .space = p ? p->space : NULL, .frames = frames, .max = max,
	};
	bool has_user;

	if (!max)
		return 0;
	has_user = push_callchain(&st, s);
	if (!has_user && s->stack && s->regs && st.space && st.nr < max)
		push_unwound(&st, s);
	if (!st.nr)
		push_ip(&st, s->cpumode, s->ip, true);
	return st.nr;
}

const char *machine__srcline(struct machine *m, const struct frame *f, bool call)
{
	struct dso *dso = f->dso ? dso_env__by_name(m->dsos, f->dso) : NULL;
	struct dso_addr *at;

	if (!dso)
		return NULL;
	at = dso__at(dso, f->rel_ip - call);
	dso__srclines(dso, at);
	if (!f->inlined)
		return at->srcline;
	for (size_t i = 0; i < at->nr_inlines; i++)
		if (at->inlines[i].id == f->sym_start)
			return at->inlines[i].srcline;
	return NULL;
}

const struct machine_stats *machine__stats(const struct machine *m)
{
	return &m->stats;
}
