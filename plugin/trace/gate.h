/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gate.h - from where to where hits of a process count (struct churn_gate); with probes_opts.gated.
 */
#ifndef PERF_CHURN_TRACE_GATE_H
#define PERF_CHURN_TRACE_GATE_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/types.h>

#include "bpf/control.h"

struct probes;

/**
 * gate__open() - Hits count from now on, under a new window number.
 * @pid: Process, or -1 for all (-a).
 * @calibration: As a rule CHURN_CALIBRATE_NOT.
 * @first_stray_ns: Set to when the first hit came before; 0: none has. May be NULL.
 */
int gate__open(struct probes *p, pid_t pid, enum churn_calibration calibration,
	       __u64 *first_stray_ns);

/** gate__shut() - And no more. Breakpoints may still be there. */
int gate__shut(struct probes *p, pid_t pid);

/**
 * gate__take_strays() - The probes are gone: when the last hit came on a shut gate; 0: none has. The
 * next stray will be the first one.
 */
__u64 gate__take_strays(struct probes *p, pid_t pid);

/** gate__drop() - The process has ended. */
void gate__drop(struct probes *p, pid_t pid);

#endif /* PERF_CHURN_TRACE_GATE_H */
