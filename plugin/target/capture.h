/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * capture.h - run a short command and take what it prints.
 */
#ifndef PERF_CHURN_TARGET_CAPTURE_H
#define PERF_CHURN_TARGET_CAPTURE_H

/**
 * capture__run() - Run a program, without a shell, in our environment; it reads from /dev/null.
 * @argv: @argv[0] is its path; not searched on PATH.
 * @timeout_ms: After which it is killed.
 * @ret: What it wrote to stdout (stderr is thrown away), as a string; the caller frees it.
 *
 * Return: 0 when it exited with 0; -EPROTO when it did not; -ETIMEDOUT; -EFBIG for more than a
 * megabyte of text; or the errno of what failed.
 */
int capture__run(const char * const *argv, int timeout_ms, char **ret);

#endif /* PERF_CHURN_TARGET_CAPTURE_H */
