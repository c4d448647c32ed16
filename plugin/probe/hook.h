/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook.h - our own preload library as an image to probe: its hook in place of entry points.
 */
#ifndef PERF_CHURN_PROBE_HOOK_H
#define PERF_CHURN_PROBE_HOOK_H

#include <stdbool.h>
#include <sys/types.h>

struct elf_file;
struct probe_image;
struct process_image;

/**
 * hook_image__new() - Find hook and counter of libperf-churn.so.
 * @name: Path as the target sees it.
 *
 * Return: 0, -ENOENT when the file is not that library, -ENOMEM.
 */
int hook_image__new(const struct elf_file *file, const char *name, struct probe_image **ret);

/**
 * hook__is_shadowed() - Does a process call another's malloc, which comes before that of the library?
 * @library: That it maps.
 *
 * Return: false also when that cannot be seen.
 */
bool hook__is_shadowed(pid_t pid, const struct process_image *library);

#endif /* PERF_CHURN_PROBE_HOOK_H */
