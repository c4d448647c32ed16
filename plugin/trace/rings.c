// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/mmap.h>
#include <internal/xyarray.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/event.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/churn.h"
#include "rings.h"
#include "util/files.h"
#include "util/msg.h"

#define TRACK_PAGES	64
#define HUP_TIMEOUT_MS	20

/* perf's PERF_REGS_MASK on x86-64: all but ds, es, fs, gs. */
#define USER_REGS_MASK	0xff0fffULL

struct rings {
	struct perf_evlist *sets[RINGS_NR];
	struct perf_evsel *cpu_evsels[CPU_EVENT_MAX];
	const struct cpu_event *cpu_events;
	size_t nr_cpu_events;
	struct perf_evsel *stack;	/* NULL: no walker */
	struct perf_evsel *copy;	/* NULL: nothing to verify */
	struct perf_evsel *alloc, *free, *track;
	int *cpus;			/* of the churn rings */
	int nr_cpus;
	struct pollfd *pollfds;
	int nr_pollfds;
	bool hung_up, hold_churn;
};

static void init_attr(struct perf_event_attr *attr)
{
	attr->size = PERF_ATTR_SIZE_VER7;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	attr->read_format = PERF_FORMAT_ID;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->disabled = 1;
}

static void set_callgraph(struct perf_event_attr *attr, const struct rings_opts *opts)
{
	if (opts->callgraph == CALLGRAPH_NONE || opts->callgraph == CALLGRAPH_WALK)
		return;
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (opts->callgraph != CALLGRAPH_DWARF)
		return;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = USER_REGS_MASK;
	attr->sample_stack_user = opts->stack_bytes;
	attr->exclude_callchain_user = 1;
}

static void init_cpu_attr(struct perf_event_attr *attr, const struct rings_opts *opts)
{
	init_attr(attr);
	attr->freq = 1;
	attr->sample_freq = opts->freq_hz;
	attr->inherit = opts->nr_tids && !opts->no_inherit;
	attr->enable_on_exec = opts->on_exec;
	set_callgraph(attr, opts);
}

static void init_output_attr(struct perf_event_attr *attr, size_t pages)
{
	memset(attr, 0, sizeof(*attr));
	init_attr(attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_BPF_OUTPUT;
	attr->sample_type |= PERF_SAMPLE_RAW;
	attr->sample_period = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = pages * sysconf(_SC_PAGESIZE) / 4;
}

static void init_churn_attr(struct perf_event_attr *attr, const struct rings_opts *opts)
{
	init_output_attr(attr, opts->churn_pages);
	set_callgraph(attr, opts);
}

/* The kernel part of a CPU sample's callchain comes from the event, the user's from the walker. */
static void init_stack_attr(struct perf_event_attr *attr, const struct rings_opts *opts)
{
	init_output_attr(attr, opts->pages);
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->exclude_callchain_user = 1;
}

/* exclude_kernel and exclude_hv stay off: the event counts nothing, it only carries records. */
static void init_track_attr(struct perf_event_attr *attr, const struct rings_opts *opts)
{
	memset(attr, 0, sizeof(*attr));
	init_attr(attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->sample_period = 1;
	attr->mmap = 1;
	attr->mmap2 = 1;
	/* An unwinder finds .eh_frame in mappings that are not executable. */
	attr->mmap_data = opts->callgraph == CALLGRAPH_DWARF || opts->verify;
	attr->build_id = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = 1;
	attr->inherit = opts->nr_tids && !opts->no_inherit;
	attr->enable_on_exec = opts->on_exec;
}

static struct perf_evsel *add_event(struct perf_evlist *evlist, struct perf_event_attr *attr,
				    bool system_wide)
{
	struct perf_evsel *evsel = perf_evsel__new(attr);

	if (!evsel)
		return NULL;
	evsel->system_wide = system_wide;
	perf_evlist__add(evlist, evsel);
	return evsel;
}

static struct perf_thread_map *make_threads(const pid_t *tids, size_t nr_tids)
{
	struct perf_thread_map *threads;
	size_t i;

	if (!nr_tids)
		return perf_thread_map__new_dummy();
	threads = perf_thread_map__new_array(nr_tids, NULL);
	for (i = 0; threads && i < nr_tids; i++)
		perf_thread_map__set_pid(threads, i, tids[i]);
	return threads;
}

static int set_maps(struct perf_evlist *evlist, const char *cpu_list, const pid_t *tids,
		    size_t nr_tids)
{
	struct perf_cpu_map *cpus = perf_cpu_map__new(cpu_list);
	struct perf_thread_map *threads = make_threads(tids, nr_tids);

	if (cpus && threads)
		perf_evlist__set_maps(evlist, cpus, threads);
	perf_cpu_map__put(cpus);
	perf_thread_map__put(threads);
	if (cpus && threads)
		return 0;
	if (!cpus)
		pr_err("-C: '%s' is no list of CPUs\n", cpu_list);
	return -EINVAL;
}

/* In the same rings, so that a copy stands right behind the walked stack. */
static int create_stack_events(struct rings *r, const struct rings_opts *opts)
{
	struct perf_event_attr attr;

	if (opts->callgraph != CALLGRAPH_WALK)
		return 0;
	init_stack_attr(&attr, opts);
	r->stack = add_event(r->sets[RINGS_STACK], &attr, true);
	if (!r->stack)
		return -ENOMEM;
	if (!opts->verify)
		return 0;
	attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.sample_regs_user = USER_REGS_MASK;
	attr.sample_stack_user = opts->stack_bytes;
	r->copy = add_event(r->sets[RINGS_STACK], &attr, true);
	return r->copy ? 0 : -ENOMEM;
}

static int create_sets(struct rings *r, const struct rings_opts *opts)
{
	bool system_wide = !opts->nr_tids;
	struct perf_event_attr attr;
	size_t i;
	int err;

	for (i = 0; i < RINGS_NR; i++) {
		r->sets[i] = perf_evlist__new();
		if (!r->sets[i])
			return -ENOMEM;
	}
	for (i = 0; i < opts->nr_events; i++) {
		attr = opts->events[i].attr;
		init_cpu_attr(&attr, opts);
		r->cpu_evsels[i] = add_event(r->sets[RINGS_CPU], &attr, false);
		if (!r->cpu_evsels[i])
			return -ENOMEM;
	}
	err = create_stack_events(r, opts);
	if (err)
		return err;
	init_churn_attr(&attr, opts);
	r->alloc = add_event(r->sets[RINGS_CHURN], &attr, true);
	r->free = add_event(r->sets[RINGS_CHURN], &attr, true);
	init_track_attr(&attr, opts);
	r->track = add_event(r->sets[RINGS_TRACK], &attr, system_wide);
	if (!r->alloc || !r->free || !r->track)
		return -ENOMEM;
	return set_maps(r->sets[RINGS_CPU], opts->cpu_list, opts->tids, opts->nr_tids) ?:
	       set_maps(r->sets[RINGS_STACK], NULL, NULL, 0) ?:
	       set_maps(r->sets[RINGS_CHURN], NULL, NULL, 0) ?:
	       set_maps(r->sets[RINGS_TRACK], NULL, opts->track_tids, opts->nr_track_tids);
}

static bool has_no_such_counter(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -EOPNOTSUPP || err == -ENXIO;
}

static int open_cpu_event(struct rings *r, const struct rings_opts *opts, size_t i)
{
	struct perf_evsel *evsel = r->cpu_evsels[i];
	struct cpu_event *event = &opts->events[i];
	int err;

	err = perf_evsel__open(evsel, evsel->cpus, evsel->threads);
	if (!has_no_such_counter(err) || cpu_event__fall_back(event))
		return err;
	evsel->attr.type = event->attr.type;
	evsel->attr.config = event->attr.config;
	return perf_evsel__open(evsel, evsel->cpus, evsel->threads);
}

static void explain_open_error(const char *event, int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		pr_err("No permission to open the event '%s': run as root, with CAP_PERFMON, or lower kernel.perf_event_paranoid.\n",
		       event);
		break;
	case -ESRCH:	/* a thread has ended: the caller lists them anew */
		break;
	case -EMFILE:
		files__say_too_many();
		break;
	case -ENOENT:
	case -ENODEV:
	case -EOPNOTSUPP:
	case -ENXIO:
		pr_err("The event '%s' is not supported by this machine.\n", event);
		break;
	default:
		pr_err("Cannot open the event '%s': %s\n", event, strerror(-err));
	}
}

static int open_sets(struct rings *r, const struct rings_opts *opts)
{
	size_t i;
	int err;

	for (i = 0; i < opts->nr_events; i++) {
		err = open_cpu_event(r, opts, i);
		if (err) {
			explain_open_error(opts->events[i].name, err);
			return err;
		}
	}
	err = r->stack ? perf_evlist__open(r->sets[RINGS_STACK]) : 0;
	err = err ?: perf_evlist__open(r->sets[RINGS_CHURN]) ?: perf_evlist__open(r->sets[RINGS_TRACK]);
	if (err)
		explain_open_error("bpf-output", err);
	return err;
}

static int map_set(struct perf_evlist *evlist, size_t pages)
{
	int err = perf_evlist__mmap(evlist, pages);

	if (!err)
		return 0;
	err = errno ? -errno : err;
	if (err == -EPERM)
		pr_err("No permission to map %zu pages a CPU: use a smaller -m, or raise kernel.perf_event_mlock_kb.\n",
		       pages);
	else
		pr_err("Cannot map ring buffers of %zu pages a CPU: %s\n", pages, strerror(-err));
	return err;
}

static int collect_pollfds(struct rings *r)
{
	struct perf_mmap *map;
	int set, n = 0;

	for (set = 0; set < RINGS_NR; set++)
		n += r->sets[set]->nr_mmaps;
	r->pollfds = calloc(n, sizeof(*r->pollfds));
	if (!r->pollfds)
		return -ENOMEM;
	for (set = 0; set < RINGS_NR; set++) {
		perf_evlist__for_each_mmap(r->sets[set], map, false) {
			r->pollfds[r->nr_pollfds].fd = map->fd;
			r->pollfds[r->nr_pollfds++].events = POLLIN;
		}
	}
	return 0;
}

static int list_cpus(struct rings *r)
{
	struct perf_cpu_map *cpus = perf_evsel__cpus(r->alloc);
	int i;

	r->nr_cpus = perf_cpu_map__nr(cpus);
	r->cpus = calloc(r->nr_cpus, sizeof(*r->cpus));
	if (!r->cpus)
		return -ENOMEM;
	for (i = 0; i < r->nr_cpus; i++)
		r->cpus[i] = perf_cpu_map__cpu(cpus, i).cpu;
	return 0;
}

static int print_libperf(enum libperf_print_level level, const char *fmt, va_list args)
{
	if (level >= LIBPERF_INFO || msg__verbose() < 1)
		return 0;
	return vfprintf(stderr, fmt, args);
}

int rings__open(const struct rings_opts *opts, struct rings **ret)
{
	struct rings *r;
	int err;

	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	libperf_init(print_libperf);
	r->cpu_events = opts->events;
	r->nr_cpu_events = opts->nr_events;
	err = create_sets(r, opts) ?: open_sets(r, opts);
	err = err ?: map_set(r->sets[RINGS_CPU], opts->pages);
	if (r->stack)
		err = err ?: map_set(r->sets[RINGS_STACK], opts->pages);
	err = err ?: map_set(r->sets[RINGS_CHURN], opts->churn_pages);
	err = err ?: map_set(r->sets[RINGS_TRACK], TRACK_PAGES);
	err = err ?: collect_pollfds(r) ?: list_cpus(r);
	if (err) {
		rings__free(r);
		return err;
	}
	*ret = r;
	return 0;
}

/* What perf_evlist__delete() of libperf 6.12 leaves behind: it frees an evsel, not its members. */
static void free_evsels(struct perf_evlist *evlist)
{
	struct perf_evsel *evsel;

	perf_evlist__for_each_evsel(evlist, evsel) {
		perf_evsel__free_fd(evsel);
		perf_evsel__free_id(evsel);
		perf_cpu_map__put(evsel->cpus);
		perf_cpu_map__put(evsel->own_cpus);
		perf_thread_map__put(evsel->threads);
		evsel->cpus = evsel->own_cpus = NULL;
		evsel->threads = NULL;
	}
}

void rings__free(struct rings *r)
{
	int set;

	if (!r)
		return;
	for (set = 0; set < RINGS_NR; set++) {
		if (!r->sets[set])
			continue;
		perf_evlist__munmap(r->sets[set]);
		perf_evlist__close(r->sets[set]);
		free_evsels(r->sets[set]);
		perf_evlist__delete(r->sets[set]);
	}
	free(r->cpus);
	free(r->pollfds);
	free(r);
}

void rings__enable(struct rings *r)
{
	int set;

	for (set = 0; set < RINGS_NR; set++)
		perf_evlist__enable(r->sets[set]);
}

void rings__enable_track(struct rings *r)
{
	perf_evlist__enable(r->sets[RINGS_TRACK]);
}

void rings__enable_churn(struct rings *r)
{
	perf_evlist__enable(r->sets[RINGS_STACK]);
	perf_evlist__enable(r->sets[RINGS_CHURN]);
}

void rings__disable_cpu(struct rings *r)
{
	perf_evlist__disable(r->sets[RINGS_CPU]);
}

/*
 * A ring whose first thread has ended only hangs up, though other threads may still fill it: it is
 * taken out, and looked after by a short timeout from then on.
 */
void rings__poll(struct rings *r, int timeout_ms)
{
	int i;

	if (r->hung_up && timeout_ms > HUP_TIMEOUT_MS)
		timeout_ms = HUP_TIMEOUT_MS;
	if (poll(r->pollfds, r->nr_pollfds, timeout_ms) <= 0)
		return;
	for (i = 0; i < r->nr_pollfds; i++) {
		if (r->pollfds[i].revents & (POLLHUP | POLLERR)) {
			r->pollfds[i].fd = -1;
			r->hung_up = true;
		}
	}
}

/*
 * What comes in meanwhile is left to the next pass: else a ring that fills as fast as it is read
 * would keep us from the others. No perf_mmap__read_done(): it drops what has not been read.
 */
static int drain_ring(struct perf_mmap *map, enum ring_set set, ring_record_fn record, void *ctx)
{
	union perf_event *event;
	int err = 0;
	__u64 end;

	if (perf_mmap__read_init(map) < 0)
		return 0;
	end = map->end;
	while (!err && map->start < end && (event = perf_mmap__read_event(map)) != NULL) {
		err = record(ctx, set, &event->header);
		perf_mmap__consume(map);
	}
	return err;
}

void rings__hold_churn(struct rings *r, bool hold)
{
	r->hold_churn = hold;
}

int rings__drain(struct rings *r, ring_record_fn record, void *ctx)
{
	struct perf_mmap *map;
	int set, err;

	/* Mappings first: what follows may need them. */
	for (set = RINGS_NR - 1; set >= 0; set--) {
		if (set == RINGS_CHURN && r->hold_churn)
			continue;
		perf_evlist__for_each_mmap(r->sets[set], map, false) {
			err = drain_ring(map, set, record, ctx);
			if (err)
				return err;
		}
	}
	return 0;
}

int rings__cpus(const struct rings *r, const int **cpus)
{
	*cpus = r->cpus;
	return r->nr_cpus;
}

int rings__stack_fd(const struct rings *r, int idx)
{
	return *(int *)xyarray__entry(r->stack->fd, idx, 0);
}

int rings__copy_fd(const struct rings *r, int idx)
{
	return r->copy ? *(int *)xyarray__entry(r->copy->fd, idx, 0) : -1;
}

bool rings__is_copy(const struct rings *r, const struct perf_event_header *sample)
{
	__u64 id;
	__u32 i;

	if (!r->copy || sample->size < sizeof(*sample) + sizeof(id))
		return false;
	memcpy(&id, sample + 1, sizeof(id));
	for (i = 0; i < r->copy->ids; i++) {
		if (r->copy->id[i] == id)
			return true;
	}
	return false;
}

int rings__each_cpu_event(const struct rings *r, int (*visit)(void *ctx, int fd), void *ctx)
{
	int cpu, thread, err;
	struct xyarray *fds;
	size_t i;

	for (i = 0; i < r->nr_cpu_events; i++) {
		fds = r->cpu_evsels[i]->fd;
		for (cpu = 0; cpu < xyarray__max_x(fds); cpu++) {
			for (thread = 0; thread < xyarray__max_y(fds); thread++) {
				err = visit(ctx, *(int *)xyarray__entry(fds, cpu, thread));
				if (err)
					return err;
			}
		}
	}
	return 0;
}

void rings__churn_fds(const struct rings *r, int idx, int *alloc_fd, int *free_fd)
{
	*alloc_fd = *(int *)xyarray__entry(r->alloc->fd, idx, 0);
	*free_fd = *(int *)xyarray__entry(r->free->fd, idx, 0);
}

static void describe(struct ring_event *event, const struct perf_evsel *evsel, const char *name,
		     __u32 tracepoint)
{
	event->attr = &evsel->attr;
	event->name = name;
	event->ids = (const __u64 *)evsel->id;
	event->nr_ids = evsel->ids;
	event->tracepoint = tracepoint;
}

void rings__stack_event(const struct rings *r, struct ring_event *ret)
{
	describe(ret, r->stack, NULL, 0);
}

size_t rings__events(const struct rings *r, struct ring_event *events, size_t max)
{
	size_t n = 0;

	if (max < r->nr_cpu_events + 4)
		return 0;
	for (; n < r->nr_cpu_events; n++)
		describe(&events[n], r->cpu_evsels[n], r->cpu_events[n].name, 0);
	describe(&events[n++], r->alloc, "churn:alloc", CHURN_ALLOC_ID);
	describe(&events[n++], r->free, "churn:free", CHURN_FREE_ID);
	describe(&events[n++], r->track, "dummy:HG", 0);
	if (r->copy)
		describe(&events[n++], r->copy, "stack-copy", 0);
	return n;
}
