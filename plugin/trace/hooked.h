/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hooked.h - which processes have the preload library, and how many allocate without it: programs that
 * the loader would not load it into, or that were started with another environment.
 */
#ifndef PERF_CHURN_TRACE_HOOKED_H
#define PERF_CHURN_TRACE_HOOKED_H

#include <stddef.h>
#include <sys/types.h>

struct hooked;

int hooked__new(struct hooked **ret);
void hooked__free(struct hooked *h);

/** hooked__load() - The library was mapped in @pid. */
void hooked__load(struct hooked *h, pid_t pid);

/** hooked__fork() - A child has what its parent has. */
void hooked__fork(struct hooked *h, pid_t parent, pid_t child);

/** hooked__reset() - The process has ended, or has a new program. */
void hooked__reset(struct hooked *h, pid_t pid);

/** hooked__allocator() - An allocator was mapped in @pid: counted, once a program, if it has no library. */
void hooked__allocator(struct hooked *h, pid_t pid);

/** hooked__nr_without() - Programs that were found to allocate without the library. */
size_t hooked__nr_without(const struct hooked *h);

#endif /* PERF_CHURN_TRACE_HOOKED_H */
