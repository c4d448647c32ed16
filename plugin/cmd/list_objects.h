/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * list_objects.h - the allocators in what a target maps, with the places to probe.
 */
#ifndef PERF_CHURN_CMD_LIST_OBJECTS_H
#define PERF_CHURN_CMD_LIST_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

struct probe_image;

/**
 * struct list_objects - What was found.
 * @nr_refused: Allocators whose slow functions are not known.
 * @slow_path: As was asked for.
 * @preloads: The target has our preload library, or will: record uses that, not probes on these.
 * @why_not: Why a command will not; NULL otherwise.
 */
struct list_objects {
	struct probe_image **images;
	size_t nr, nr_refused;
	bool slow_path;
	bool preloads;
	const char *why_not;
};

/**
 * list_objects__of_pids() - Those of running processes, each file once.
 * @slow_path: With their slow functions in place of the entry points.
 * @ret: Set on success only; free with list_objects__exit().
 *
 * Return: 0; -ENOENT when there is none; another negative errno. Printed.
 */
int list_objects__of_pids(const int *pids, int nr_pids, bool slow_path, struct list_objects *ret);

/** list_objects__of_command() - Those that a command will map, as far as can be told before. */
int list_objects__of_command(char **argv, bool slow_path, struct list_objects *ret);

void list_objects__exit(struct list_objects *list);

#endif /* PERF_CHURN_CMD_LIST_OBJECTS_H */
