/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_UTIL_FILES_H
#define PERF_CHURN_UTIL_FILES_H

/**
 * files__raise_limit() - Allow us as many open files as the hard limit does, as perf does.
 *
 * Each event and each probe is a file. Programs that are started afterwards inherit the limit.
 *
 * Return: 0, or -EMFILE when even the hard limit is too small to begin with, printed.
 */
int files__raise_limit(void);

/** files__say_too_many() - Print that the limit was met, and what to do; once, however often called. */
void files__say_too_many(void);

#endif /* PERF_CHURN_UTIL_FILES_H */
