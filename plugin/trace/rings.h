/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rings.h - the perf events of a recording and their ring buffers.
 *
 * Four sets of per-CPU rings: the CPU events, the samples that the stack walker writes in their
 * place, the churn events that the BPF programs write, and the tracking event (mmap, comm, fork,
 * exit). A flood of allocations can fill its own rings only:
 * no CPU sample and no mapping is lost to it. The tracking rings wake the reader at once, since
 * new processes and objects want probes.
 */
#ifndef PERF_CHURN_TRACE_RINGS_H
#define PERF_CHURN_TRACE_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "cpu_event.h"

struct rings;

enum ring_set {
	RINGS_CPU,
	RINGS_STACK,
	RINGS_CHURN,
	RINGS_TRACK,
	RINGS_NR,
};

enum callgraph {
	CALLGRAPH_NONE,
	CALLGRAPH_WALK,			/* by CFI, in the kernel: walker.h */
	CALLGRAPH_FP,
	CALLGRAPH_DWARF,
};

/**
 * struct rings_opts - What to open.
 * @tids, @nr_tids: Threads to profile with all they clone and fork; none: every CPU (-a).
 * @track_tids, @nr_track_tids: Threads whose mappings, forks and ends are recorded.
 * @no_inherit: Not what the threads clone and fork.
 * @on_exec: The one thread is a workload that has not exec'ed: its events start at exec.
 * @cpu_list: CPUs as perf's -C takes them, NULL: all that are online.
 * @events, @nr_events: CPU events; one that cannot be opened may be changed (cycles to
 *	cpu-clock); the caller says so.
 * @freq_hz: Samples a second of each CPU event.
 * @callgraph, @stack_bytes: Kind of callchains; bytes of user stack with CALLGRAPH_DWARF.
 * @verify: With CALLGRAPH_WALK: a further event, whose samples carry stack copies for an unwinder.
 * @pages, @churn_pages: Ring sizes in pages a CPU, powers of two.
 */
struct rings_opts {
	const pid_t *tids;
	size_t nr_tids;
	const pid_t *track_tids;
	size_t nr_track_tids;
	bool no_inherit;
	bool on_exec;
	const char *cpu_list;
	struct cpu_event *events;
	size_t nr_events;
	__u64 freq_hz;
	enum callgraph callgraph;
	__u32 stack_bytes;
	bool verify;
	size_t pages;
	size_t churn_pages;
};

/** rings__open() - Open all events, disabled, and map their rings. Errors are printed. */
int rings__open(const struct rings_opts *opts, struct rings **ret);
void rings__free(struct rings *r);

/**
 * rings__enable() - Start all events.
 * rings__enable_track() - Start the tracking event alone: no fork, exec or mapping from now on is missed.
 * rings__enable_churn() - Start the churn events only: the others of a workload start at its exec.
 * rings__disable_cpu() - Stop the CPU events; churn events go on until the probes are detached.
 */
void rings__enable(struct rings *r);
void rings__enable_track(struct rings *r);
void rings__enable_churn(struct rings *r);
void rings__disable_cpu(struct rings *r);

/** rings__poll() - Wait until a ring fills up, at most @timeout_ms. */
void rings__poll(struct rings *r, int timeout_ms);

/** rings__hold_churn() - Leave the churn events in their rings for now. */
void rings__hold_churn(struct rings *r, bool hold);

/**
 * rings__drain() - One pass over all rings.
 * @record: Called for each record; its memory is valid during the call only. A non-zero return
 *	ends the pass.
 * @from: The rings that the record comes from.
 */
typedef int (*ring_record_fn)(void *ctx, enum ring_set from, struct perf_event_header *record);
int rings__drain(struct rings *r, ring_record_fn record, void *ctx);

/**
 * rings__cpus() - CPUs recorded on.
 * Return: Their number; the array belongs to the rings.
 */
int rings__cpus(const struct rings *r, const int **cpus);

/** rings__stack_fd() - bpf-output event of the @idx'th CPU for stacks of CPU samples. */
int rings__stack_fd(const struct rings *r, int idx);

/** rings__copy_fd() - The same for stack copies; -1: there is none. */
int rings__copy_fd(const struct rings *r, int idx);

/** rings__is_copy() - Is it a sample of the event with stack copies? */
bool rings__is_copy(const struct rings *r, const struct perf_event_header *sample);

/** rings__each_cpu_event() - Call @visit with the descriptor of each CPU event that was opened. */
int rings__each_cpu_event(const struct rings *r, int (*visit)(void *ctx, int fd), void *ctx);

/** rings__churn_fds() - bpf-output events of the @idx'th CPU. */
void rings__churn_fds(const struct rings *r, int idx, int *alloc_fd, int *free_fd);

/**
 * struct ring_event - An event as the file shall describe it.
 * @tracepoint: 0, or the enum churn_event_id that the file's attr gets.
 */
struct ring_event {
	const struct perf_event_attr *attr;
	const char *name;
	const __u64 *ids;
	size_t nr_ids;
	__u32 tracepoint;
};

/** rings__events() - CPU events, churn:alloc, churn:free, tracking event, stack copies if any. */
size_t rings__events(const struct rings *r, struct ring_event *events, size_t max);

/** rings__stack_event() - The event of RINGS_STACK, which has no place in the file but its ids. */
void rings__stack_event(const struct rings *r, struct ring_event *ret);

#endif /* PERF_CHURN_TRACE_RINGS_H */
