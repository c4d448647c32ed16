/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * strpool.h - strings kept once, and made safe to print.
 */
#ifndef PERF_CHURN_STACK_STRPOOL_H
#define PERF_CHURN_STACK_STRPOOL_H

struct strpool;

/**
 * strpool__new() - An empty pool.
 * @ret: Set on success only; the caller frees it with strpool__free().
 *
 * Return: 0 or -ENOMEM.
 */
int strpool__new(struct strpool **ret);

/** strpool__free() - Free the pool and every string it handed out; NULL is fine. */
void strpool__free(struct strpool *pool);

/**
 * strpool__clean() - Keep a string from a file or an object, fit for a terminal.
 *
 * Control characters, the Unicode characters that act like them (C1, direction marks, line
 * separators) and bytes that are no UTF-8 become '?'. Equal strings give equal pointers.
 *
 * Return: The string, which lives as long as the pool; NULL when out of memory.
 */
const char *strpool__clean(struct strpool *pool, const char *text);

#endif /* PERF_CHURN_STACK_STRPOOL_H */
