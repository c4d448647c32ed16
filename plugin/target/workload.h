/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * workload.h - a command that we launch, held back until the recording is ready.
 */
#ifndef PERF_CHURN_TARGET_WORKLOAD_H
#define PERF_CHURN_TARGET_WORKLOAD_H

#include <stdbool.h>
#include <sys/types.h>

struct workload;
struct process_image;

/**
 * workload__new() - Fork a child that waits before exec.
 * @argv: NULL-terminated; searched on PATH by the child's execvp().
 *
 * The child gets default signal dispositions (but goes on ignoring SIGHUP, if we do: nohup) and our
 * stdin, stdout, stderr. Should we die before workload__start(), it exits by itself; once started
 * it lives on without us.
 *
 * Return: 0, -ENOMEM, or the errno of fork(2) or socketpair(2), printed.
 */
int workload__new(char **argv, struct workload **ret);

pid_t workload__pid(const struct workload *w);

/**
 * workload__start() - Let it exec.
 *
 * Return: 0, or the errno of the child's exec (-ENOENT, -EACCES ...), printed; -EALREADY.
 */
int workload__start(struct workload *w);

/**
 * workload__poll() - Reap without waiting.
 * @status: Wait status, once it ended.
 *
 * Return: true when it has ended.
 */
bool workload__poll(struct workload *w, int *status);

/**
 * workload__kill() - SIGTERM, as perf does when the recording is interrupted; then reap.
 *
 * Waits for its end, but not longer than to the next signal that we handle. workload__poll() then
 * has the status.
 */
void workload__kill(struct workload *w);

/** workload__free() - Forget it; one that was never started exits. NULL is fine. */
void workload__free(struct workload *w);

/**
 * workload__images() - Files that a command will map before its first allocation.
 * @argv: The command. Scripts are followed to their interpreter (#!).
 * @ret: As process__images(): the executable, its loader, and the libraries the loader lists
 *	(LD_PRELOAD and LD_LIBRARY_PATH honoured); only the executable when it is static.
 *
 * Return: 0, -ENOENT when the command is not found, -EACCES, -ENOEXEC when it is no x86-64 ELF
 * file, -ELOOP for scripts of scripts of scripts, -ENOMEM. Prints nothing.
 */
int workload__images(char **argv, struct process_image **ret, size_t *ret_nr);

#endif /* PERF_CHURN_TARGET_WORKLOAD_H */
