/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * preload.h - where our preload library is, and how a program comes to load it.
 */
#ifndef PERF_CHURN_TARGET_PRELOAD_H
#define PERF_CHURN_TARGET_PRELOAD_H

/**
 * preload__library() - Path of libperf-churn.so.
 * @ret: Absolute, malloc'ed.
 *
 * Beside our own executable (as built), or in ../lib/perf-churn from there (as installed). The
 * environment variable PERF_CHURN_PRELOAD names another one.
 *
 * Return: 0, -ENOENT when it is not there, -EINVAL as preload__value(), -ENOMEM. Prints nothing.
 */
int preload__library(char **ret);

/**
 * preload__value() - What LD_PRELOAD must be for a program to load the library, too.
 * @library: As preload__library() gave it.
 * @old: What the variable is now; may be NULL.
 * @ret: @library before @old; just @old when it is in there. malloc'ed.
 *
 * Return: 0, -ENOMEM, or -EINVAL for a path that the variable cannot hold: the loader takes blanks and
 * colons for ends of names and expands "$ORIGIN". Prints nothing.
 */
int preload__value(const char *library, const char *old, char **ret);

/**
 * preload__setenv() - Have what this process executes load the library: set LD_PRELOAD.
 *
 * Return: As preload__value().
 */
int preload__setenv(const char *library);

/**
 * preload__enable() - preload__setenv() with our library; a line says so when there is none.
 *
 * Return: As these.
 */
int preload__enable(void);

#endif /* PERF_CHURN_TARGET_PRELOAD_H */
