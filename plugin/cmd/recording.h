/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recording.h - the stream from the rings to the file: finishes, counts and writes each record.
 */
#ifndef PERF_CHURN_CMD_RECORDING_H
#define PERF_CHURN_CMD_RECORDING_H

#include <stdbool.h>
#include <linux/types.h>

#include "trace/rings.h"

struct follow;
struct pdwriter;
struct probes;
struct recording;
struct record_budget;
struct record_opts;
struct callchains;

/**
 * struct recording_counts - For the closing line.
 * @nr_event_samples: Of @nr_cpu_samples, those of each CPU event of the options.
 * @nr_allocations: Exact number of allocations of all processes.
 * @nr_lost_output, @nr_lost_map, @nr_lost_inflight: Churn samples lost, by cause.
 * @nr_lost_cpu: CPU samples lost to full rings.
 * @nr_unhooked: Programs that allocated without the preload library that others were seen by.
 * @nr_uncounted: Hits of processes beyond those that can have totals at a time.
 * @nr_repaired: Churn callchains into which the caller was put.
 * @gap_ns: Sum of the times processes ran before they had probes, @nr_gaps of them.
 */
struct recording_counts {
	__u64 nr_cpu_samples, nr_alloc_samples, nr_free_samples;
	__u64 nr_event_samples[CPU_EVENT_MAX];
	__u64 nr_allocations, nr_hits;
	__u64 nr_lost_output, nr_lost_map, nr_lost_inflight, nr_lost_cpu, nr_malformed;
	__u64 nr_repaired;
	__u64 nr_unhooked;
	__u64 nr_uncounted;
	__u64 nr_gaps, gap_ns;
};

/**
 * recording__new() - Begin: create the file and describe the events in it.
 * @rings, @probes, @follow, @budget: Must outlive the recording.
 * @budget: NULL: probes are on all the time.
 */
int recording__new(const struct record_opts *opts, struct rings *rings, struct probes *probes,
		   struct follow *follow, struct record_budget *budget, struct recording **ret);
void recording__free(struct recording *r);

/** recording__writer() - To write synthesised records with. */
struct pdwriter *recording__writer(struct recording *r);

/** recording__callchains() - The stack walker's samples; NULL when the kernel makes the callchains. */
struct callchains *recording__callchains(struct recording *r);

/** recording__poll_ms() - How long the rings may be left alone. */
int recording__poll_ms(const struct recording *r);

/** recording__begin() - Everything is enabled: the first window starts now. */
void recording__begin(struct recording *r);

/** recording__end() - Nothing is counted any more: the last window ends now. */
void recording__end(struct recording *r);

/** recording__drain() - One pass over all rings, into the file. */
int recording__drain(struct recording *r);

/** recording__tick() - Whatever is due: sampling period, totals, a checkpoint of the file. */
int recording__tick(struct recording *r);

/** recording__finish() - Last totals, the probes' hits, the file complete. Probes are detached. */
int recording__finish(struct recording *r);

const struct recording_counts *recording__counts(const struct recording *r);

#endif /* PERF_CHURN_CMD_RECORDING_H */
