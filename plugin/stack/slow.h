/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow.h - the slow functions of an allocator (families.h) as places to probe, for --slow-path.
 *
 * They are local functions, so their names are in .symtab or in the debug file. glibc's, in a
 * stripped libc.so.6, are also found by what calls what (slow_calls.h).
 */
#ifndef PERF_CHURN_STACK_SLOW_H
#define PERF_CHURN_STACK_SLOW_H

struct probe_image;

/**
 * slow_image__new() - As probe_image__new(), but with the slow functions as sites.
 *
 * Our own preload library is found as there: with its hooks.
 *
 * Return: As probe_image__new(); -ENODATA, printed, for an allocator whose slow functions cannot
 * be told for sure.
 */
int slow_image__new(const char *path, const char *name, struct probe_image **ret);

#endif /* PERF_CHURN_STACK_SLOW_H */
