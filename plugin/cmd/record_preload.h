/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_preload.h - does the target carry our preload library, or can it be made to?
 */
#ifndef PERF_CHURN_CMD_RECORD_PRELOAD_H
#define PERF_CHURN_CMD_RECORD_PRELOAD_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/types.h>

struct record_opts;

/**
 * struct record_preload - What was decided.
 * @wanted: Hook the preload library.
 * @session: Of a command, see probes_opts.session; 0 for running processes.
 * @reason: Why a command that could have been meant for it is not; NULL: it is, or was not.
 */
struct record_preload {
	bool wanted;
	__u64 session;
	const char *reason;
};

/**
 * record_preload__choose() - Decide, and prepare our environment for the command.
 * @launches: The command is the target.
 *
 * To be called before the command is forked.
 *
 * Return: 0, or a negative errno where --method=preload was asked for and cannot be, printed.
 */
int record_preload__choose(const struct record_opts *opts, bool launches,
			   struct record_preload *ret);

/** record_preload__loaded() - Has a running process the library, and calls its malloc? */
bool record_preload__loaded(pid_t pid);

#endif /* PERF_CHURN_CMD_RECORD_PRELOAD_H */
