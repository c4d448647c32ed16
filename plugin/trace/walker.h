/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walker.h - the stack walker in the kernel, seen from here: its tables, mapped, and its counters.
 */
#ifndef PERF_CHURN_TRACE_WALKER_H
#define PERF_CHURN_TRACE_WALKER_H

#include <stdbool.h>
#include <linux/types.h>

#include "walk_memory.h"

struct probes;
struct rings;
struct walker;

/**
 * struct walker_stats - What became of the stacks.
 * @nr_ends: Walks in the kernel, by enum walk_status.
 * @nr_copied: Stacks that were copied, to be walked by the recorder.
 * @nr_lost_cpu: CPU samples lost: their ring was full, or no scratch memory was free.
 */
struct walker_stats {
	__u64 nr_ends[WALK_STATUS_NR];
	__u64 nr_copied;
	__u64 nr_lost_cpu;
};

/**
 * walker__new() - Map the tables, and follow forks and execs from now on.
 * @probes: Loaded with probes_opts.walking, and probes__walks(). Must outlive the walker.
 *
 * Return: 0 or a negative errno; the error is printed.
 */
int walker__new(struct probes *probes, struct walker **ret);
void walker__free(struct walker *w);

/** walker__connect() - Put the program on the CPU events, its output into the stack rings. */
int walker__connect(struct walker *w, const struct rings *rings);

/** walker__memory() - The tables, for who fills them. They live as long as the walker. */
const struct walk_memory *walker__memory(const struct walker *w);

/** walker__allow_copies() - Are stacks copied where there is no table yet? On from the start. */
void walker__allow_copies(struct walker *w, bool allow);

/** walker__took_copy() - One was read from its ring: there is room for others. */
void walker__took_copy(struct walker *w, bool is_cpu, __u32 bytes);

void walker__stats(const struct walker *w, struct walker_stats *ret);

#endif /* PERF_CHURN_TRACE_WALKER_H */
