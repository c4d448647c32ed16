// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "own_samples.h"
#include "recording.h"

#include "perfdata/writer.h"
#include "record_budget.h"
#include "record_opts.h"
#include "callchains.h"
#include "trace/event_ids.h"
#include "trace/finish.h"
#include "trace/follow.h"
#include "trace/governor.h"
#include "trace/probes.h"
#include "trace/synthetic.h"
#include "trace/window_gate.h"
#include "trace/windows.h"
#include "util/clock.h"
#include "util/msg.h"

#define ROUND_NS		100000000ULL
#define SLICE_NS		100000000ULL	/* of the governor */
#define WINDOW_NS		1000000000ULL	/* totals and checkpoints */
#define SAMPLES_PER_S_AND_CPU	1000
#define POLL_MS			100
#define POLL_WAITING_MS		2
#define SILENT_SAMPLES		20	/* of the CPU, and at least 1 / SILENT_PER_S seconds of it: */
#define SILENT_PER_S		10	/* with less, no allocation is no surprise */

struct recording {
	const struct record_opts *opts;
	struct rings *rings;
	struct probes *probes;
	struct follow *follow;
	struct record_budget *budget;	/* NULL: probes are on all the time */
	struct callchains *callchains;
	struct pdwriter *out;
	struct windows *windows;
	struct event_ids *event_ids;
	struct perf_event_attr churn_attr;	/* as the events were opened */
	struct recording_counts counts;
	__u64 period;
	__u64 slice_start_ns, window_start_ns;
	__u64 slice_hits;
	__u64 first_ns, last_ns;
	__u64 walked_ns;		/* time of the last stack from the walker */
	pid_t place_pid;		/* where samples are shown that belong nowhere */
	__u64 place_ip;
	__u64 end_ns;
	__u64 round_ns;
	int nr_cpus;
	char finished[FINISH_MAX_BYTES] __attribute__((aligned(8)));
};

/* In the file a churn event is a tracepoint of ours. Callchains are there whoever made them. */
static void file_attr(struct perf_event_attr *attr, const struct ring_event *event, bool walked)
{
	*attr = *event->attr;
	if (walked && strcmp(event->name, "dummy:HG"))
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!event->tracepoint)
		return;
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = event->tracepoint;
	attr->watermark = 0;
	attr->wakeup_watermark = 0;
}

static void own_event(struct pdwriter_event *event, struct perf_event_attr *attr, __u64 *id,
		      const char *name, __u32 event_id, __u64 sample_id)
{
	synthetic_attr(attr, event_id);
	*id = sample_id;
	*event = (struct pdwriter_event){ .attr = attr, .name = name, .ids = id, .nr_ids = 1 };
}

/* Loss records of the walker's rings carry ids of its own event: the file knows them, too. */
static int add_stack_ids(const struct rings *rings, struct pdwriter_event *event, __u64 **ret)
{
	struct ring_event stack;
	__u64 *ids;

	rings__stack_event(rings, &stack);
	ids = reallocarray(NULL, event->nr_ids + stack.nr_ids, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	memcpy(ids, event->ids, event->nr_ids * sizeof(*ids));
	memcpy(ids + event->nr_ids, stack.ids, stack.nr_ids * sizeof(*ids));
	event->ids = ids;
	event->nr_ids += stack.nr_ids;
	*ret = ids;
	return 0;
}

static int describe_events(struct recording *r)
{
	struct ring_event events[CPU_EVENT_MAX + 4];
	struct pdwriter_event out[CPU_EVENT_MAX + 7];
	struct perf_event_attr attrs[CPU_EVENT_MAX + 7];
	struct pdwriter_info info = {
		.argc = r->opts->argc, .argv = r->opts->argv, .clockid = CLOCK_MONOTONIC,
		.compression_level = r->opts->compression_level,
	};
	__u64 ids[4], *more_ids = NULL;
	size_t nr, i;
	int err = 0;

	nr = rings__events(r->rings, events, sizeof(events) / sizeof(events[0]));
	for (i = 0; i < nr; i++) {
		file_attr(&attrs[i], &events[i], r->callchains != NULL);
		out[i] = (struct pdwriter_event){ .attr = &attrs[i], .name = events[i].name,
						  .ids = events[i].ids, .nr_ids = events[i].nr_ids };
		if (events[i].tracepoint == CHURN_ALLOC_ID)
			r->churn_attr = *events[i].attr;
	}
	if (r->callchains && nr)
		err = add_stack_ids(r->rings, &out[0], &more_ids);
	own_event(&out[nr], &attrs[nr], &ids[0], "churn:window", CHURN_WINDOW_ID,
		  SYNTHETIC_WINDOW_SAMPLE_ID);
	nr++;
	own_event(&out[nr], &attrs[nr], &ids[1], "churn:probe", CHURN_PROBE_ID,
		  SYNTHETIC_PROBE_SAMPLE_ID);
	nr++;
	own_event(&out[nr], &attrs[nr], &ids[2], "churn:range", CHURN_RANGE_ID,
		  SYNTHETIC_RANGE_SAMPLE_ID);
	nr++;
	if (r->callchains) {
		own_event(&out[nr], &attrs[nr], &ids[3], "churn:stacks", CHURN_STACKS_ID,
			  SYNTHETIC_STACKS_SAMPLE_ID);
		nr++;
	}
	err = err ?: event_ids__new(events, r->opts->nr_events, &r->event_ids) ?:
	      pdwriter__start(r->out, out, nr, &info);
	free(more_ids);
	return err;
}

void recording__begin(struct recording *r)
{
	r->slice_start_ns = r->window_start_ns = clock__now_ns();
	if (r->windows)
		windows__begin(r->windows, r->window_start_ns);
}

void recording__end(struct recording *r)
{
	r->end_ns = clock__now_ns();
}

static int write_stack_sample(void *ctx, const struct callchains_sample *sample);

static int connect_walker(struct recording *r)
{
	struct callchains_opts opts = {
		.probes = r->probes, .rings = r->rings, .max_stack = r->opts->max_stack,
		.write = write_stack_sample, .ctx = r,
	};

	return r->opts->callgraph == CALLGRAPH_WALK ? callchains__new(&opts, &r->callchains) : 0;
}

int recording__new(const struct record_opts *opts, struct rings *rings, struct probes *probes,
		   struct follow *follow, struct record_budget *budget, struct recording **ret)
{
	struct recording *r = calloc(1, sizeof(*r));
	const int *cpus;
	int err;

	if (!r)
		return -ENOMEM;
	r->opts = opts;
	r->rings = rings;
	r->probes = probes;
	r->follow = follow;
	r->budget = budget;
	r->period = opts->period ?: GOVERNOR_FIRST_PERIOD;
	r->nr_cpus = rings__cpus(rings, &cpus);
	recording__begin(r);
	err = windows__new(r->window_start_ns, &r->windows) ?: connect_walker(r);
	err = err ?: pdwriter__new(opts->output, &r->out) ?: describe_events(r);
	if (err) {
		recording__free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void recording__free(struct recording *r)
{
	if (!r)
		return;
	pdwriter__free(r->out);
	callchains__free(r->callchains);
	windows__free(r->windows);
	event_ids__free(r->event_ids);
	free(r);
}

struct callchains *recording__callchains(struct recording *r)
{
	return r->callchains;
}

int recording__poll_ms(const struct recording *r)
{
	return r->callchains && callchains__waiting(r->callchains) ? POLL_WAITING_MS : POLL_MS;
}

struct pdwriter *recording__writer(struct recording *r)
{
	return r->out;
}

const struct recording_counts *recording__counts(const struct recording *r)
{
	return &r->counts;
}

/* IDENTIFIER, IP, TID, TIME: the time stands at the same place in all our samples. */
static void note_time(struct recording *r, const struct perf_event_header *sample)
{
	__u64 time_ns;

	if (sample->size < 40)
		return;
	memcpy(&time_ns, (const char *)sample + 32, sizeof(time_ns));
	if (!r->first_ns || time_ns < r->first_ns)
		r->first_ns = time_ns;
	if (time_ns > r->last_ns)
		r->last_ns = time_ns;
}

static int write_churn_sample(struct recording *r, const struct perf_event_header *record)
{
	struct finish_result done;
	int bytes;

	bytes = finish_sample(r->churn_attr.sample_type, r->churn_attr.sample_regs_user, record,
			      r->finished, &done);
	if (bytes < 0) {
		r->counts.nr_malformed++;
		return 0;
	}
	if (done.event_id == CHURN_ALLOC_ID)
		r->counts.nr_alloc_samples++;
	else
		r->counts.nr_free_samples++;
	r->counts.nr_repaired += done.repaired;
	if (r->budget)
		record_budget__scale(r->budget, r->churn_attr.sample_type, r->finished);
	return pdwriter__write(r->out, r->finished, bytes);
}

static void count_cpu_sample(struct recording *r, const struct perf_event_header *sample)
{
	int event = event_ids__find(r->event_ids, sample);

	r->counts.nr_cpu_samples++;
	if (event >= 0)
		r->counts.nr_event_samples[event]++;
}

static int write_stack_sample(void *ctx, const struct callchains_sample *sample)
{
	struct recording *r = ctx;

	note_time(r, sample->record);
	if (sample->event_id == CHURN_ALLOC_ID)
		r->counts.nr_alloc_samples++;
	else if (sample->event_id == CHURN_FREE_ID)
		r->counts.nr_free_samples++;
	else
		count_cpu_sample(r, sample->record);
	r->counts.nr_repaired += sample->repaired;
	if (!sample->event_id || !r->budget)
		return pdwriter__write(r->out, sample->record, sample->record->size);
	memcpy(r->finished, sample->record, sample->record->size);
	record_budget__scale(r->budget, r->churn_attr.sample_type | PERF_SAMPLE_CALLCHAIN, r->finished);
	return pdwriter__write(r->out, r->finished, sample->record->size);
}

static int take_walked_sample(struct recording *r, const struct perf_event_header *record,
			      bool is_cpu)
{
	int err = callchains__take(r->callchains, record, is_cpu);

	if (err != -EINVAL)
		return err;
	r->counts.nr_malformed++;
	return 0;
}

/*
 * Samples with stack copies go into the file as they are, with the time of the walked stack before
 * them in the ring, which they are the copy of: by that they are found.
 */
static int write_copy(struct recording *r, const struct perf_event_header *record)
{
	memcpy(r->finished, record, record->size);	/* the ring is read-only */
	memcpy(r->finished + 32, &r->walked_ns, sizeof(r->walked_ns));
	return pdwriter__write(r->out, r->finished, record->size);
}

static int take_stack_sample(struct recording *r, const struct perf_event_header *record,
			     bool is_cpu)
{
	if (is_cpu && rings__is_copy(r->rings, record))
		return write_copy(r, record);
	if (is_cpu && record->size >= 40)
		memcpy(&r->walked_ns, (const char *)record + 32, sizeof(r->walked_ns));
	return take_walked_sample(r, record, is_cpu);
}

/* PERF_RECORD_LOST: u64 id, u64 lost. */
static __u64 nr_lost(const struct perf_event_header *record)
{
	__u64 lost = 0;

	if (record->size >= sizeof(*record) + 16)
		memcpy(&lost, (const char *)record + sizeof(*record) + 8, sizeof(lost));
	return lost;
}

static int write_record(void *ctx, enum ring_set from, struct perf_event_header *record)
{
	struct recording *r = ctx;

	if (from == RINGS_TRACK) {
		follow__record(r->follow, record);
		if (r->callchains)
			callchains__track(r->callchains, record);
	}
	/* The BPF programs count what they lose. */
	if (record->type == PERF_RECORD_LOST && (from == RINGS_CPU || from == RINGS_TRACK))
		r->counts.nr_lost_cpu += nr_lost(record);
	if (record->type == PERF_RECORD_SAMPLE && r->callchains && from != RINGS_CPU)
		return take_stack_sample(r, record, from == RINGS_STACK);
	if (record->type == PERF_RECORD_SAMPLE) {
		note_time(r, record);
		if (from == RINGS_CHURN)
			return write_churn_sample(r, record);
		count_cpu_sample(r, record);
	}
	return pdwriter__write(r->out, record, record->size);
}

static void count_window(struct recording *r, const struct churn_window *w)
{
	r->counts.nr_allocations += w->nr_allocs;
	r->counts.nr_hits += w->nr_hits;
	r->counts.nr_lost_output += w->nr_lost_output;
	r->counts.nr_lost_map += w->nr_lost_map;
	r->counts.nr_lost_inflight += w->nr_lost_inflight;
}

static int close_window(struct recording *r, pid_t pid, const struct churn_totals *totals,
			__u64 end_ns)
{
	struct churn_window w;
	int ret;

	ret = windows__close(r->windows, pid, end_ns, r->period, totals, &w);
	if (ret <= 0)
		return ret;
	count_window(r, &w);
	r->place_pid = pid;
	r->place_ip = totals->malloc_ip;
	return own_sample__write(r->out, SYNTHETIC_WINDOW_SAMPLE_ID, pid, totals->malloc_ip, &w,
				 sizeof(w));
}

/* One that samples have to wait for is shown before them, at its beginning. */
static int write_gate_window(struct recording *r, const struct gate_window *g)
{
	const struct churn_window *w = &g->window;

	count_window(r, w);
	if (g->ip) {
		r->place_pid = g->pid;
		r->place_ip = g->ip;
	}
	if (!(w->flags & CHURN_W_SAMPLED))
		return own_sample__write(r->out, SYNTHETIC_WINDOW_SAMPLE_ID, g->pid, g->ip, w, sizeof(*w));
	return own_sample__write_at(r->out, SYNTHETIC_WINDOW_SAMPLE_ID, w->probed_start_ns ?: w->start_ns,
				    g->pid, g->ip, w, sizeof(*w));
}

static int write_gate_windows(struct recording *r)
{
	struct gate_window window;
	int ret;

	while ((ret = record_budget__take(r->budget, &window)) > 0) {
		ret = write_gate_window(r, &window);
		if (ret)
			return ret;
	}
	return ret;
}

static int drain_rings(struct recording *r, __u64 now)
{
	int err = rings__drain(r->rings, write_record, r);

	follow__flush(r->follow);
	if (r->callchains)
		err = err ?: callchains__settle(r->callchains, now, false);
	return err;
}

/* *held: samples of a window wait for its end, which tells what they stand for. */
static int drain_all(struct recording *r, __u64 now, bool *held)
{
	struct window_gate *gate;
	int err;

	*held = false;
	if (!r->budget)
		return drain_rings(r, now);
	gate = record_budget__gate(r->budget);
	*held = !window_gate__lock(gate);
	rings__hold_churn(r->rings, *held);
	err = write_gate_windows(r) ?: drain_rings(r, now);
	window_gate__unlock(gate);
	return err;
}

/*
 * A round promises readers that nothing older than the round before will come. A CPU may stall
 * between a record's time stamp and its commit (a virtual one for milliseconds), so rounds are
 * not as short as our passes over the rings may be.
 */
int recording__drain(struct recording *r)
{
	__u64 now = clock__now_ns();
	bool held;
	int err;

	err = drain_all(r, now, &held);
	if (err || held || now - r->round_ns < ROUND_NS ||
	    (r->callchains && callchains__waiting(r->callchains)))
		return err;
	r->round_ns = now;
	return pdwriter__round(r->out);
}

/* How the walks ended up to now; without a process to show it in there was none. */
static int write_stacks(struct recording *r)
{
	struct churn_stacks out = { .common.type = CHURN_STACKS_ID };
	struct callchains_counts c;

	if (!r->callchains || !r->place_pid)
		return 0;
	callchains__counts(r->callchains, &c);
	out.nr_complete = c.nr_ends[WALK_END];
	out.nr_max = c.nr_ends[WALK_MAX];
	out.nr_no_map = c.nr_ends[WALK_NO_MAP];
	out.nr_no_table = c.nr_ends[WALK_PENDING];
	out.nr_no_cfi = c.nr_ends[WALK_NO_CFI];
	out.nr_fault = c.nr_ends[WALK_FAULT];
	out.nr_stuck = c.nr_ends[WALK_STUCK];
	out.nr_no_reg = c.nr_ends[WALK_NO_REG];
	out.nr_no_user = c.nr_ends[WALK_NO_USER];
	out.nr_copied = c.nr_copied;
	return own_sample__write(r->out, SYNTHETIC_STACKS_SAMPLE_ID, r->place_pid, r->place_ip,
				 &out, sizeof(out));
}

static int close_windows(struct recording *r, __u64 end_ns)
{
	struct churn_totals totals;
	pid_t pid = 0;
	int err = 0;

	while (!r->budget && !err && !probes__next_totals(r->probes, &pid, &totals))
		err = close_window(r, pid, &totals, end_ns);
	if (end_ns > r->last_ns)
		r->last_ns = end_ns;
	return err;
}

/* Processes that ended have had their last window by now: their counters make room. */
static void take_notes(struct recording *r, bool drop_ended)
{
	struct follow_note note;

	while (follow__next_note(r->follow, &note)) {
		if (note.gap_ns) {
			r->counts.nr_gaps++;
			r->counts.gap_ns += note.gap_ns;
			windows__add_gap(r->windows, note.pid, note.gap_ns);
		} else if (drop_ended) {
			probes__drop_totals(r->probes, note.pid);
			windows__forget(r->windows, note.pid);
		}
	}
}

static __u64 count_hits(struct recording *r)
{
	struct churn_totals totals;
	__u64 hits = 0;
	pid_t pid = 0;

	while (!probes__next_totals(r->probes, &pid, &totals))
		hits += totals.nr_hits;
	return hits;
}

static int govern(struct recording *r, __u64 now)
{
	__u64 hits, period;

	if (probes__method(r->probes) == PROBE_PRELOAD)
		r->period = probes__hook_period(r->probes);
	if (r->opts->period || r->budget || probes__method(r->probes) == PROBE_PRELOAD)
		return 0;
	hits = count_hits(r);
	/* About half the hits are allocations, the other half frees. */
	period = governor__period(hits > r->slice_hits ?
				  (hits - r->slice_hits) / (r->opts->slow_path ? 1 : 2) : 0,
				  now - r->slice_start_ns,
				  (__u64)SAMPLES_PER_S_AND_CPU * r->nr_cpus, r->period);
	r->slice_hits = hits;
	if (period == r->period)
		return 0;
	r->period = period;
	return probes__set_period(r->probes, period);
}

int recording__tick(struct recording *r)
{
	__u64 now = clock__now_ns();
	int err = 0;

	if (now - r->slice_start_ns >= SLICE_NS) {
		err = govern(r, now);
		r->slice_start_ns = now;
	}
	if (err || now - r->window_start_ns < WINDOW_NS)
		return err;
	r->window_start_ns = now;
	err = close_windows(r, now) ?: write_stacks(r);
	take_notes(r, true);
	pdwriter__set_times(r->out, r->first_ns, r->last_ns);
	return err ?: pdwriter__checkpoint(r->out);
}

/* So much CPU time at least that a program which allocates would have done so. */
static bool ran_for_a_while(const struct recording *r)
{
	__u64 nr_samples = r->counts.nr_cpu_samples / r->opts->nr_events;

	return nr_samples >= SILENT_SAMPLES && nr_samples * SILENT_PER_S >= r->opts->freq_hz;
}

static bool is_off(const struct recording *r)
{
	return r->opts->windows && r->opts->budget == 0;
}

static int settle_last(struct recording *r)
{
	struct callchains_counts counts;
	int err;

	if (!r->callchains)
		return 0;
	err = callchains__settle(r->callchains, clock__now_ns(), true);
	callchains__counts(r->callchains, &counts);
	r->counts.nr_lost_cpu += counts.nr_lost_cpu;
	return err;
}

int recording__finish(struct recording *r)
{
	int err;

	take_notes(r, false);
	err = settle_last(r);
	r->counts.nr_uncounted = probes__nr_uncounted(r->probes);
	r->counts.nr_malformed += probes__nr_unread(r->probes);
	r->counts.nr_unhooked = follow__nr_unhooked(r->follow);
	/* With -a there are always programs that sleep. */
	err = err ?: close_windows(r, r->end_ns) ?: write_stacks(r) ?:
	      own_samples__write_images(r->out, r->probes,
					!r->opts->system_wide && !is_off(r) && ran_for_a_while(r)) ?:
	      pdwriter__round(r->out);
	pdwriter__set_times(r->out, r->first_ns, r->last_ns);
	return err ?: pdwriter__finish(r->out);
}
