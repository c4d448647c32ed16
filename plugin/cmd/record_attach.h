/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_attach.h - puts probes into what the options name, and says why it cannot.
 */
#ifndef PERF_CHURN_CMD_RECORD_ATTACH_H
#define PERF_CHURN_CMD_RECORD_ATTACH_H

#include <sys/types.h>

struct callchains;
struct follow;
struct record_opts;
struct workload;

/**
 * record_attach__workload() - Probe the files that the command is going to map.
 * @chains: Gets their tables ready, too; may be NULL.
 *
 * Return: 0; -ENOENT when it has no allocator; another negative errno. Printed.
 */
int record_attach__workload(const struct record_opts *opts, struct follow *follow,
			    struct callchains *chains, struct workload *workload);

/** record_attach__pid() - Probe one running process. Return: as above; -ESRCH when it ended. */
int record_attach__pid(struct follow *follow, pid_t pid);

/**
 * record_attach__targets() - Probe the processes of -p and -u, or all with -a.
 *
 * With several targets one that ends, or has no allocator, does not stop the others.
 * Return: 0 when one has probes; else as above.
 */
int record_attach__targets(const struct record_opts *opts, struct follow *follow);

#endif /* PERF_CHURN_CMD_RECORD_ATTACH_H */
