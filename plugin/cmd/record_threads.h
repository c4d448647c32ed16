/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_threads.h - the threads that events are opened on.
 */
#ifndef PERF_CHURN_CMD_RECORD_THREADS_H
#define PERF_CHURN_CMD_RECORD_THREADS_H

#include <stddef.h>
#include <sys/types.h>

struct record_opts;

/** struct record_threads - Begins as {}; the caller frees @tids. */
struct record_threads {
	pid_t *tids;
	size_t nr;
};

/**
 * record_threads__list() - All threads that the targets have now; none with -a.
 * @command: Process id of the command if that is the target, else 0.
 *
 * Return: 0, -ESRCH when all have ended, -ENOMEM.
 */
int record_threads__list(const struct record_opts *opts, pid_t command, struct record_threads *ret);

/** record_threads__choose() - Of @all, those that -t names; all without -t. Return: as above. */
int record_threads__choose(const struct record_opts *opts, const struct record_threads *all,
			   struct record_threads *ret);

#endif /* PERF_CHURN_CMD_RECORD_THREADS_H */
