/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk_files.h - the files that traced processes map, and the walker's tables of them.
 *
 * Compiling a table takes milliseconds, for large files a quarter of a second: a thread of its own
 * does it, those that most mappings show first. Until then a file is pending.
 */
#ifndef PERF_CHURN_STACK_WALK_FILES_H
#define PERF_CHURN_STACK_WALK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

#include "tables.h"

struct object_id;
struct walk_files;
struct walk_object;

/**
 * struct walk_files_stats - For messages and the benchmark.
 * @nr_files: Files with a table.
 * @nr_without: Files that have no CFI.
 * @nr_unreadable: Files that could not be opened, or are damaged.
 * @nr_too_many: Files for which the tables had no room.
 * @build_ns: CPU time that compiling took.
 */
struct walk_files_stats {
	size_t nr_files, nr_without, nr_unreadable, nr_too_many;
	__u64 build_ns;
	struct walk_tables_size tables;
};

int walk_files__new(const struct walk_memory *mem, struct walk_files **ret);

/** walk_files__free() - Stops the thread. */
void walk_files__free(struct walk_files *f);

/**
 * walk_files__get() - The object for a mapping; its table is built if need be.
 * @id: A name that is no file's is anonymous memory.
 *
 * The file is opened here, before its process is gone. It is known by its build-id, so that all
 * processes share one table; else by device and inode.
 *
 * Return: NULL when out of memory; what cannot be read is an object without CFI.
 */
struct walk_object *walk_files__get(struct walk_files *f, const struct object_id *id);

/** walk_files__changed() - Has any object got its table since the last call? */
bool walk_files__changed(struct walk_files *f);

/** walk_files__wait() - Wait until all tables that were asked for are there, at most @timeout_ms. */
void walk_files__wait(struct walk_files *f, int timeout_ms);

/**
 * walk_object__fill() - Describe a mapping of the object to the walker.
 * @pgoff: File offset that @map->start shows.
 * @map: start and end are set, the rest is filled in.
 */
void walk_object__fill(const struct walk_object *o, __u64 pgoff, struct walk_map *map);

void walk_files__stats(struct walk_files *f, struct walk_files_stats *ret);

#endif /* PERF_CHURN_STACK_WALK_FILES_H */
