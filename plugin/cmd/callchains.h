/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * callchains.h - samples of the stack walker on their way to the file.
 *
 * Walked stacks go through at once. Copied ones wait until the tables for them are there: a few
 * milliseconds after a program or a library was mapped.
 */
#ifndef PERF_CHURN_CMD_CALLCHAINS_H
#define PERF_CHURN_CMD_CALLCHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "bpf/walk_tables.h"

struct process_image;
struct probes;
struct rings;
struct callchains;

/**
 * struct callchains_sample - A finished sample.
 * @event_id: CHURN_ALLOC_ID, CHURN_FREE_ID, or 0 for a CPU sample.
 * @repaired: Nothing but the caller is known of its stack.
 */
struct callchains_sample {
	const struct perf_event_header *record;
	__u32 event_id;
	bool repaired;
};

/**
 * struct callchains_opts - What to connect.
 * @max_stack: Frames a stack is cut at.
 * @write: Takes each finished sample; a non-zero return is passed on.
 */
struct callchains_opts {
	struct probes *probes;
	struct rings *rings;
	__u32 max_stack;
	int (*write)(void *ctx, const struct callchains_sample *sample);
	void *ctx;
};

/** callchains__new() - Connect walker and rings. Errors are printed. */
int callchains__new(const struct callchains_opts *opts, struct callchains **ret);
void callchains__free(struct callchains *s);

/** callchains__add_process() - A process that runs already. One that is gone is no error. */
void callchains__add_process(struct callchains *s, pid_t pid);

/** callchains__add_images() - Files that the workload is going to map. */
void callchains__add_images(struct callchains *s, const struct process_image *images, size_t nr);

/** callchains__ready() - Wait for the tables asked for so far; not for long. */
void callchains__ready(struct callchains *s);

/** callchains__track() - A record of the tracking event. */
void callchains__track(struct callchains *s, const struct perf_event_header *record);

/**
 * callchains__take() - A sample from the walker.
 * @is_cpu: From RINGS_STACK, else from RINGS_CHURN.
 *
 * Return: 0; -EINVAL when it is none; what @write returns.
 */
int callchains__take(struct callchains *s, const struct perf_event_header *record, bool is_cpu);

/**
 * callchains__settle() - All rings were read: act on mappings, walk what waits.
 * @pass_ns: CLOCK_MONOTONIC when the pass began.
 * @last: Nothing will come any more.
 */
int callchains__settle(struct callchains *s, __u64 pass_ns, bool last);

/** callchains__waiting() - Do samples or mappings wait for the next pass? */
bool callchains__waiting(const struct callchains *s);

/**
 * struct callchains_counts - For the file and the closing line.
 * @nr_ends: Stacks by enum walk_status, wherever they were walked.
 * @nr_copied: Of these, walked here, from a copy.
 * @nr_lost_cpu: CPU samples lost to full rings.
 */
struct callchains_counts {
	__u64 nr_ends[WALK_STATUS_NR];
	__u64 nr_copied;
	__u64 nr_lost_cpu;
};

void callchains__counts(const struct callchains *s, struct callchains_counts *ret);

#endif /* PERF_CHURN_CMD_CALLCHAINS_H */
