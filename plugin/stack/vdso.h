/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_STACK_VDSO_H
#define PERF_CHURN_STACK_VDSO_H

struct build_id;

/**
 * vdso__open() - Our own [vdso] as a file, if it is the recorded one.
 * @want: The recorded build-id; with 0 bytes ours is taken as it is.
 * @file: A path that opens it while the descriptor is open; the caller frees it.
 *
 * Return: A descriptor, the caller's to close; -ESTALE: another kernel's; -ENOENT.
 */
int vdso__open(const struct build_id *want, char **file);

#endif /* PERF_CHURN_STACK_VDSO_H */
