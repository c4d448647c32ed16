// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_class.h"
#include "model_priv.h"
#include "shapes.h"
#include "touch.h"

/* Those of allocations that were lost, or left out by a filter, stay for ever. */
#define MAX_EARLY	((size_t)1 << 16)

int model__new(const struct model_opts *opts, struct model **ret)
{
	struct model *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	err = stacks__new(opts->names, opts->srcline, opts->srcline_ctx, &m->stacks);
	if (!err)
		err = live__new(opts->max_live, &m->live);
	if (!err)
		err = live__new(MAX_EARLY, &m->early);
	if (!err)
		err = window_estimate__new(&m->estimate);
	if (!err)
		err = grow_array(&m->window_sums, &m->room_window_sums, 0, sizeof(*m->window_sums));
	m->nr_window_sums = 1;	/* number 0 is none */
	m->site_places.depth = opts->site_depth;
	if (err) {
		model__free(m);
		return err;
	}
	*ret = m;
	return 0;
}

void model__free(struct model *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->nr_sites; i++)
		lives__exit(&m->sites[i].lives);
	free_shapes(m);
	free(m->report_advice);
	for (i = 0; i < m->nr_procs; i++)
		free(m->procs[i].ends.times_ns);
	free(m->probes);
	free(m->paths);
	free(m->sites);
	free(m->procs);
	free(m->all_ends.times_ns);
	window_estimate__free(m->estimate);
	free(m->window_sums);
	free(m->report_sites);
	free(m->report_paths);
	free(m->report_cpu_paths);
	free(m->cost_sums);
	costs__exit(&m->costs);
	places__exit(&m->site_places);
	index__exit(&m->path_index);
	index__exit(&m->proc_index);
	live__free(m->live);
	live__free(m->early);
	stacks__free(m->stacks);
	free(m);
}

struct stacks *model__stacks(struct model *m)
{
	return m->stacks;
}

struct report_check *model__check(struct model *m)
{
	return &m->report.check;
}

struct report_losses *model__losses(struct model *m)
{
	return &m->report.losses;
}

static int find_process(struct model *m, __u32 pid, struct process **ret)
{
	__u64 hash = hash_mix(0, pid);
	size_t pos;
	__u32 id;
	int err;

	for (id = index__first(&m->proc_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&m->proc_index, hash, &pos)) {
		if (m->procs[id].pid == pid)
			goto found;
	}
	id = m->nr_procs;
	err = grow_array(&m->procs, &m->room_procs, id, sizeof(*m->procs));
	if (!err)
		err = index__add(&m->proc_index, hash, id);
	if (err)
		return err;
	m->procs[m->nr_procs++].pid = pid;
found:
	*ret = &m->procs[id];
	return 0;
}

int find_site_of(struct model *m, __u32 stack, __u32 *ret)
{
	int err = places__add(&m->site_places, m->stacks, stack, ret);

	if (err || *ret < m->nr_sites)
		return err;
	err = grow_array(&m->sites, &m->room_sites, m->nr_sites, sizeof(*m->sites));
	if (!err)
		m->sites[m->nr_sites++].stack = stacks__site(m->stacks, stack);
	return err;
}

static int find_path(struct model *m, const struct model_alloc *a, __u32 *ret)
{
	__u64 hash = hash_mix(hash_mix(a->stack, a->fn), (__u64)(unsigned long)a->comm);
	struct path *p;
	size_t pos;
	__u32 id;
	int err;

	for (id = index__first(&m->path_index, hash, &pos); id != INDEX_NONE;
	     id = index__next(&m->path_index, hash, &pos)) {
		p = &m->paths[id];
		if (p->stack == a->stack && p->fn == a->fn && p->comm == a->comm)
			goto found;
	}
	id = m->nr_paths;
	err = grow_array(&m->paths, &m->room_paths, id, sizeof(*m->paths));
	if (err)
		return err;
	p = &m->paths[id];
	*p = (struct path){ .stack = a->stack, .fn = a->fn, .comm = a->comm };
	err = find_site_of(m, a->stack, &p->site);
	if (!err)
		err = index__add(&m->path_index, hash, id);
	if (err)
		return err;
	m->nr_paths++;
found:
	*ret = id;
	return 0;
}

static int follow_block(struct model *m, const struct model_alloc *a, __u32 path)
{
	struct live_block b = {
		.seq = a->seq, .time_ns = a->time_ns, .size_bytes = a->size_bytes,
		.weight = a->weight, .pid = a->pid, .tid = a->tid, .path = path,
	};
	int err = a->seq ? live__add(m->live, &b) : 0;

	/* A seq twice: a file that is not ours to trust; its free will end the first one. */
	if (err != -ENOSPC && err != -EEXIST)
		return err;
	m->report.check.nr_untracked++;
	return 0;
}

/* The window that counted a call; 0: probes were on all the time. */
static __u32 window_at(struct model *m, __u32 pid, __u64 time_ns)
{
	struct process *p;

	if (m->all_now.nr)
		return m->all_now.nr;
	if (m->nr_window_sums == 1 || find_process(m, pid, &p))
		return 0;
	return time_ns >= p->now.start_ns ? p->now.nr : 0;
}

static void add_sample(struct model *m, struct tally *t, __u32 window, __u64 weight,
		       __u64 size_bytes)
{
	if (window)
		tally__add_in(t, weight, size_bytes, window, m->window_sums);
	else
		tally__add(t, weight, size_bytes);
}

static int shape_alloc(struct model *m, const struct model_alloc *a, __u32 path)
{
	struct shape_alloc s = {
		.size_bytes = a->size_bytes, .weight = a->weight, .tid = a->tid, .fn = a->fn,
		.old = a->old, .moved = a->flags & CHURN_F_MOVED,
	};

	return shape__add_alloc(&m->sites[m->paths[path].site].shape, &s);
}

static int shape_end(struct model *m, const struct model_free *f, const struct live_block *b)
{
	const struct path *p = &m->paths[b->path];
	struct shape_free s = {
		.start_ns = b->time_ns, .end_ns = f->time_ns, .lifetime_ns = f->lifetime_ns,
		.size_bytes = b->size_bytes, .weight = b->weight,
		.site = stacks__site(m->stacks, p->stack), .stack = f->stack,
		.tid = f->tid, .alloc_tid = b->tid, .by_realloc = f->fn == CHURN_FN_REALLOC,
		.cross_thread = f->flags & CHURN_F_CROSS_THREAD,
	};
	__u32 caller = PLACE_NONE;

	if (s.by_realloc && s.stack != STACK_NONE)
		caller = places__find(&m->site_places, m->stacks, s.stack);
	if (caller != PLACE_NONE)
		shape__add_outgrown(&m->sites[caller].shape, b->size_bytes, b->weight);
	return shape__add_free(&m->sites[p->site].shape, m->stacks, &s);
}

/* What realloc() gives back costs nothing in free(). */
static int note_death(struct model *m, const struct model_free *f, __u32 site, __u64 weight,
		      __u64 size_bytes)
{
	if (f->stack == STACK_NONE || f->fn == CHURN_FN_REALLOC)
		return 0;
	return costs__add_death(&m->costs, f->stack, site, weight, size_bytes);
}

/* The end of a sampled block. */
static int end_block(struct model *m, const struct model_free *f)
{
	struct live_block b;
	struct site *site;
	__u32 window;

	live__take(m->live, f->seq, &b);
	m->report.check.nr_freed++;
	site = &m->sites[m->paths[b.path].site];
	window = window_at(m, b.pid, b.time_ns);
	add_sample(m, &site->freed, window, b.weight, b.size_bytes);
	add_sample(m, &m->lives[log2_class(f->lifetime_ns)], window, b.weight, 0);
	return lives__add_freed(&site->lives, f->lifetime_ns, b.weight) ?: shape_end(m, f, &b) ?:
	       note_death(m, f, m->paths[b.path].site, b.weight, b.size_bytes);
}

/* A free that came before its allocation; nobody else can free a block that is not there yet. */
static int match_early(struct model *m, const struct model_alloc *a)
{
	struct model_free f = { .seq = a->seq, .pid = a->pid, .stack = STACK_NONE };
	struct live_block b;

	if (!a->seq || !live__take(m->early, a->seq, &b))
		return 0;
	m->report.check.nr_freed_unmatched--;
	m->freed_unmatched -= b.weight;
	f.lifetime_ns = b.time_ns;
	if (b.pid == a->pid)
		return live__find(m->live, a->seq) ? end_block(m, &f) : 0;
	m->report.check.nr_freed_inherited++;
	return 0;
}

static void note_large(struct path *p, const struct model_alloc *a)
{
	if (a->size_bytes < TOUCH_MIN_BYTES)
		return;
	p->nr_large++;
	p->large_bytes += (double)a->weight * a->size_bytes;
}

int model__add_alloc(struct model *m, const struct model_alloc *a)
{
	struct process *p;
	__u32 path, window;
	int err;

	err = find_process(m, a->pid, &p);
	if (!err)
		err = find_path(m, a, &path);
	if (!err)
		err = shape_alloc(m, a, path) ?: follow_block(m, a, path);
	if (!err)
		err = match_early(m, a);
	if (err)
		return err;
	p->has_calls = true;
	note_large(&m->paths[path], a);
	window = window_at(m, a->pid, a->time_ns);
	m->window_sums[window].count += a->weight;
	m->window_sums[window].bytes += (double)a->weight * a->size_bytes;
	add_sample(m, &m->paths[path].sum, window, a->weight, a->size_bytes);
	add_sample(m, &m->sites[m->paths[path].site].sum, window, a->weight, a->size_bytes);
	if (a->time_ns > p->counted_ns)
		tally__add(&p->tail, a->weight, a->size_bytes);
	add_sample(m, &m->sampled, window, a->weight, a->size_bytes);
	add_sample(m, &m->sizes[log2_class(a->size_bytes)], window, a->weight, a->size_bytes);
	if (a->weight > m->max_weight)
		m->max_weight = a->weight;
	m->report.check.nr_allocs++;
	return 0;
}

/* A block of the parent's is not one from before the recording. */
static void note_unseen(struct model *m, const struct model_free *f)
{
	if (!f->counted)
		return;
	if (f->flags & CHURN_F_INHERITED) {
		m->report.check.nr_freed_inherited++;
		m->nr_freed_inherited += f->weight;
		return;
	}
	m->report.check.nr_freed_unseen++;
	m->nr_freed_before += f->weight;
}

static int note_unmatched(struct model *m, const struct model_free *f)
{
	struct live_block b = {
		.seq = f->seq, .time_ns = f->lifetime_ns, .weight = f->weight, .pid = f->pid,
	};
	int err = f->seq ? live__add(m->early, &b) : 0;

	m->report.check.nr_freed_unmatched++;
	m->freed_unmatched += f->weight;
	return err == -ENOMEM ? err : 0;
}

/* What the free tells about its block; *known: its allocation is one that the report is about. */
static int match_free(struct model *m, const struct model_free *f, bool *known)
{
	*known = false;
	if (f->flags & CHURN_F_UNSEEN) {
		note_unseen(m, f);
		return note_death(m, f, SITE_NONE, f->weight, 0);
	}
	if (!live__find(m->live, f->seq))
		return note_unmatched(m, f);
	/*
	 * Of another process, it is a child of vfork's in its parent's memory: a forked child's copy of a
	 * block is another block, which the recorder does not take for the parent's.
	 */
	*known = true;
	return end_block(m, f);
}

int model__add_free(struct model *m, const struct model_free *f)
{
	struct process *p;
	bool known;
	int err;

	err = match_free(m, f, &known);
	if (err || !f->counted || (f->need_site && !known))
		return err;
	err = find_process(m, f->pid, &p);
	if (err)
		return err;
	p->has_calls = true;
	m->report.check.nr_frees++;
	tally__add(&m->freed, f->weight, 0);
	if (f->time_ns > p->counted_ns)
		tally__add(&p->tail_freed, f->weight, 0);
	return 0;
}

static void add_window_sums(struct churn_window *sum, const struct churn_window *w)
{
	sum->nr_allocs += w->nr_allocs;
	sum->alloc_bytes += w->alloc_bytes;
	sum->nr_frees += w->nr_frees;
	sum->nr_failed += w->nr_failed;
	sum->nr_free_null += w->nr_free_null;
	sum->nr_free_unseen += w->nr_free_unseen;
	sum->nr_free_internal += w->nr_free_internal;
	sum->nr_reallocs += w->nr_reallocs;
	sum->nr_hits += w->nr_hits;
}

/* What is live then is not seen to its end. @all: of all processes. */
static int end_heap(struct model *m, struct process *p, bool all, __u64 time_ns)
{
	struct heap_ends *ends = all ? &m->all_ends : &p->ends;
	int err = grow_array(&ends->times_ns, &ends->room, ends->nr, sizeof(*ends->times_ns));

	if (!err)
		ends->times_ns[ends->nr++] = time_ns;
	return err;
}

/*
 * A window begins, whose record stands before its samples; or a record tells what probes have counted
 * that were on since the last one. What is live when the probes go is not seen to its end.
 */
static int begin_window(struct model *m, struct process *p, const struct churn_window *w)
{
	bool all = w->flags & CHURN_W_ALL, probes_go = w->probed_end_ns > w->end_ns;
	struct model_window *now = all ? &m->all_now : &p->now;
	int err;

	if (!(w->flags & CHURN_W_COST) || w->end_ns == w->start_ns)
		return 0;
	*now = (struct model_window){ .start_ns = w->probed_start_ns, .end_ns = w->probed_end_ns };
	if (w->flags & CHURN_W_SAMPLED && probes_go) {
		err = grow_array(&m->window_sums, &m->room_window_sums, m->nr_window_sums,
				 sizeof(*m->window_sums));
		if (err)
			return err;
		now->nr = m->nr_window_sums++;
	}
	return probes_go ? end_heap(m, p, all, w->end_ns) : 0;
}

bool model__in_window(struct model *m, __u32 pid, __u64 time_ns)
{
	const struct model_window *now = &m->all_now;
	struct process *p;
	bool inside;

	if (m->nr_window_sums == 1)
		return false;
	if (!now->nr) {
		if (find_process(m, pid, &p))
			return false;
		now = &p->now;
	}
	inside = now->nr && time_ns >= now->start_ns && time_ns <= now->end_ns;
	m->report.cpu.nr_windowed += inside;
	return inside;
}

int model__add_window(struct model *m, __u32 pid, const struct churn_window *w)
{
	struct report_losses *losses = &m->report.losses;
	struct process *p;
	int err = find_process(m, pid, &p);

	if (err)
		return err;
	memset(&p->tail, 0, sizeof(p->tail));
	memset(&p->tail_freed, 0, sizeof(p->tail_freed));
	if (w->end_ns > p->counted_ns)
		p->counted_ns = w->end_ns;
	err = window_estimate__add(m->estimate, pid, w) ?: begin_window(m, p, w);
	if (err)
		return err;
	p->has_calls = true;
	add_window_sums(&m->windows, w);
	losses->output += w->nr_lost_output;
	losses->map += w->nr_lost_map;
	losses->inflight += w->nr_lost_inflight;
	losses->gap_ns += w->gap_ns;
	if (w->sample_period > 1)
		m->failed_var += (double)w->nr_failed * (w->sample_period - 1);
	if (w->sample_period > m->max_period)
		m->max_period = w->sample_period;
	m->nr_windows++;
	return 0;
}

static struct report_probe *find_probe(struct model *m, const struct report_probe *like)
{
	size_t i;

	/* Strings are unique, and there are few probes. */
	for (i = 0; i < m->nr_probes; i++) {
		struct report_probe *p = &m->probes[i];

		if (p->object == like->object && p->symbol == like->symbol &&
		    p->offset == like->offset)
			return p;
	}
	return NULL;
}

void model__set_stacks(struct model *m, const struct churn_stacks *stacks)
{
	m->report.walks = *stacks;
}

int model__add_probe(struct model *m, const struct churn_probe *p)
{
	struct report_probe probe = {
		.symbol = stacks__string(m->stacks, p->symbol),
		.object = stacks__string(m->stacks, p->object),
		.offset = p->offset, .nr_hits = p->nr_hits, .fn = p->fn,
		.emulated = p->emulated,
	};
	struct report_probe *known;

	if (!probe.symbol || !probe.object)
		return -ENOMEM;
	known = find_probe(m, &probe);
	if (known) {
		known->nr_hits += p->nr_hits;
		return 0;
	}
	if (grow_array(&m->probes, &m->room_probes, m->nr_probes, sizeof(*m->probes)))
		return -ENOMEM;
	m->probes[m->nr_probes++] = probe;
	return 0;
}

int model__cpu_path(struct model *m, const struct cpu_path *like, __u32 *ret)
{
	return costs__path(&m->costs, like, ret);
}

void model__add_cpu(struct model *m, __u32 path, __u64 period)
{
	struct report_cpu *cpu = &m->report.cpu;
	struct cpu_path *p = &m->costs.paths[path];

	p->nr++;
	period_sum__add(&p->sum, period);
	if (p->flags & CPU_PROBE) {
		cpu->nr_probe++;
		period_sum__add(&m->cpu_probe, period);
		return;
	}
	cpu->nr_samples++;
	cpu->nr_chained += !!(p->flags & CPU_CHAINED);
	if (p->flags & CPU_ALLOCATOR) {
		cpu->nr_allocator++;
		period_sum__add(&m->cpu_allocator, period);
		return;
	}
	cpu->nr_kernel += !!(p->flags & CPU_KERNEL);
	cpu->nr_unnamed_libc += !!(p->flags & CPU_UNNAMED_LIBC);
	period_sum__add(&m->cpu_rest, period);
}

int model__begin_process(struct model *m, __u32 pid)
{
	struct process *p;
	int err = find_process(m, pid, &p);

	if (!err)
		p->from_start = true;
	return err;
}

int model__begin_fork(struct model *m, __u32 pid, __u32 ppid)
{
	struct process *p;
	bool from_start;
	int err = find_process(m, ppid, &p);

	if (err)
		return err;
	from_start = p->from_start;
	err = find_process(m, pid, &p);
	if (!err)
		p->from_start = from_start;
	return err;
}

int model__end_process(struct model *m, __u32 pid, __u64 time_ns)
{
	struct process *p;
	int err = find_process(m, pid, &p);

	return err ?: end_heap(m, p, false, time_ns);
}
