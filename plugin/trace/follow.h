/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * follow.h - keeps probes on the target as it forks, execs and maps new objects.
 *
 * Scanning and attaching take milliseconds (the kernel waits for grace periods), so they happen in
 * a thread of their own, fed with the records of the tracking event; the drain never waits for it.
 */
#ifndef PERF_CHURN_TRACE_FOLLOW_H
#define PERF_CHURN_TRACE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct follow;
struct probes;
struct probe_image;
struct process_image;
struct window_gate;

/**
 * follow__new() - Nothing is attached yet.
 * @gate: Gets the processes and images, to open windows on; NULL: they are attached at once, for good.
 * @system_wide: Attach each allocator in every process at once (-a).
 */
int follow__new(struct probes *probes, struct window_gate *gate, bool system_wide,
		struct follow **ret);

/** follow__set_gate() - Forget what is attached, and attach in this way from now on; before it is started. */
void follow__set_gate(struct follow *f, struct window_gate *gate);

/**
 * follow__set_scan() - How a file is searched for places to probe, before any process is added.
 * @scan: In place of probe_image__new(); -ENODATA: there is an allocator, but no such places.
 */
void follow__set_scan(struct follow *f, int (*scan)(const char *path, const char *name,
						     struct probe_image **ret));

/** follow__free() - Stops the thread. The probes must outlive this, and be detached by then. */
void follow__free(struct follow *f);

/**
 * follow__add_process() - Attach to the allocators that a running process maps.
 *
 * Return: Number of images probed in it; -ESRCH when it is gone; another negative errno, printed.
 */
int follow__add_process(struct follow *f, pid_t pid);

/**
 * follow__add_images() - Attach to the allocators among files that @pid is going to map.
 *
 * Return: As follow__add_process().
 */
int follow__add_images(struct follow *f, pid_t pid, const struct process_image *images, size_t nr);

/** follow__ignore_children() - Leave processes alone that are forked from now on. */
void follow__ignore_children(struct follow *f);

/** follow__start() - Start the thread. */
int follow__start(struct follow *f);

/** follow__stop() - Stop it, when what is queued is done. */
void follow__stop(struct follow *f);

/** follow__record() - A record of the tracking event, to be acted on by the thread after follow__flush(). */
void follow__record(struct follow *f, const struct perf_event_header *record);

/** follow__flush() - A pass over the rings is done: its records can be brought into order, and acted on. */
void follow__flush(struct follow *f);

/**
 * struct follow_note - What the recording should know.
 * @gap_ns: The process ran for so long before its probes were in place; 0: it has ended.
 */
struct follow_note {
	pid_t pid;
	__u64 gap_ns;
};

/** follow__next_note() - Take the oldest note. Return: false when there is none. */
bool follow__next_note(struct follow *f, struct follow_note *ret);

/** follow__nr_unhooked() - With PROBE_PRELOAD: programs that allocate without the library, see hooked.h. */
size_t follow__nr_unhooked(const struct follow *f);

/** follow__nr_images() - Allocator objects found so far. */
size_t follow__nr_images(const struct follow *f);

/** follow__nr_refused() - Files for which the scan returned -ENODATA. */
size_t follow__nr_refused(const struct follow *f);

#endif /* PERF_CHURN_TRACE_FOLLOW_H */
