/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_load.h - the parts of one recording, and which BPF programs it loads.
 */
#ifndef PERF_CHURN_CMD_RECORD_LOAD_H
#define PERF_CHURN_CMD_RECORD_LOAD_H

#include <stdbool.h>

#include "record_opts.h"
#include "record_preload.h"
#include "record_threads.h"

/* The parts of one recording, made in this order. */
struct record {
	const struct record_opts *opts;
	struct workload *workload;
	struct hit_child *hit_child;	/* until the budget has it */
	struct probes *probes;
	struct record_budget *budget;	/* NULL: probes are on all the time */
	struct record_threads chosen;	/* the only ones to record, if any */
	struct rings *rings;
	struct follow *follow;
	struct recording *recording;
	bool traces_workload;	/* else the command only sets the duration */
	struct record_preload preload;
	bool windows;		/* probes are on in windows only */
	double sample_ns;	/* what a CPU sample costs, 0: not known or asked */
	char wanted[CPU_EVENT_MAX][64];	/* CPU events as they were asked for */
	int workload_status;
	bool workload_started, workload_ended;
};

/** record__looks_first() - All probes all the time, on what runs already: what that costs is said beforehand. */
bool record__looks_first(const struct record *r);

/** record__load_probes() - Return: 0 or a negative errno, printed. */
int record__load_probes(struct record *r);

#endif /* PERF_CHURN_CMD_RECORD_LOAD_H */
