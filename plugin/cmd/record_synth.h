/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_synth.h - records of what was there before the recording: the kernel and running processes.
 */
#ifndef PERF_CHURN_CMD_RECORD_SYNTH_H
#define PERF_CHURN_CMD_RECORD_SYNTH_H

struct record_opts;
struct recording;

/** record_synth__all() - Write them, and tell the stack walker. Return: 0 or a negative errno. */
int record_synth__all(const struct record_opts *opts, struct recording *r);

#endif /* PERF_CHURN_CMD_RECORD_SYNTH_H */
