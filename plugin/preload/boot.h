/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * boot.h - calls before the next definitions are known, and of blocks from then.
 */
#ifndef PERF_CHURN_PRELOAD_BOOT_H
#define PERF_CHURN_PRELOAD_BOOT_H

#include <stddef.h>

void *boot_malloc(size_t size);
void *boot_calloc(size_t nr, size_t size);
void *boot_realloc(void *old, size_t size);
void *boot_memalign(size_t align, size_t size);
void *boot_aligned_alloc(size_t align, size_t size);
int boot_posix_memalign(void **ret, size_t align, size_t size);
void *boot_valloc(size_t size);
void *boot_pvalloc(size_t size);
void boot_free(void *ptr);

#endif /* PERF_CHURN_PRELOAD_BOOT_H */
