/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_UTIL_PARSE_H
#define PERF_CHURN_UTIL_PARSE_H

#include <linux/types.h>

/**
 * parse_u64() - A whole decimal number, nothing before or after it.
 * @ret: Set on success only.
 *
 * Return: 0, -EINVAL for text that is no number, -ERANGE for one outside [@min, @max].
 */
int parse_u64(const char *text, __u64 min, __u64 max, __u64 *ret);

/**
 * parse_size() - A byte count with an optional suffix B, K, M or G (powers of 1024).
 */
int parse_size(const char *text, __u64 min, __u64 max, __u64 *ret);

/**
 * parse_pids() - A comma-separated list of process ids, as perf's -p takes it.
 * @ret: malloc'ed array, duplicates removed; the caller frees it.
 * @ret_nr: Number of entries, at least 1.
 *
 * Return: 0, -EINVAL, -ERANGE or -ENOMEM. Prints nothing.
 */
int parse_pids(const char *text, int **ret, int *ret_nr);

/**
 * parse_cpus() - A comma-separated list of CPUs and ranges of them, like 0-3,6.
 * @nr_max: Numbers are below it.
 * @ret: malloc'ed array, ascending; the caller frees it.
 * @ret_nr: Number of entries, at least 1.
 *
 * Return: 0, -EINVAL for what is no list, or has a CPU twice, -ERANGE or -ENOMEM. Prints nothing.
 */
int parse_cpus(const char *text, int nr_max, int **ret, int *ret_nr);

#endif /* PERF_CHURN_UTIL_PARSE_H */
