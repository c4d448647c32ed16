/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk_spaces.h - the address spaces of traced processes, kept up to date for the stack walker.
 *
 * Fed with the records of the tracking event in any order within a pass over the rings; acts on
 * them in the order of time, and tells the walker what has changed.
 */
#ifndef PERF_CHURN_STACK_WALK_SPACES_H
#define PERF_CHURN_STACK_WALK_SPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "walk_files.h"

#define WALK_SPACES_LAST_PASS	(~0ULL)

struct process_image;
struct walk_spaces;

/** struct walk_spaces_stats - For messages. */
struct walk_spaces_stats {
	size_t nr_processes;
	__u64 nr_no_room;		/* times a process had more mappings than there was room for */
	struct walk_files_stats files;
};

int walk_spaces__new(const struct walk_memory *mem, struct walk_spaces **ret);
void walk_spaces__free(struct walk_spaces *s);

/**
 * walk_spaces__add_process() - Take in what a running process maps.
 *
 * Return: 0 or the errno of reading /proc/PID/maps. Prints nothing.
 */
int walk_spaces__add_process(struct walk_spaces *s, pid_t pid);

/** walk_spaces__add_images() - Compile the tables of files that a program is going to map. */
void walk_spaces__add_images(struct walk_spaces *s, const struct process_image *images, size_t nr);

/** walk_spaces__wait() - Until these tables are there, at most @timeout_ms. */
void walk_spaces__wait(struct walk_spaces *s, int timeout_ms);

/** walk_spaces__record() - A record of the tracking event; copied. */
void walk_spaces__record(struct walk_spaces *s, const struct perf_event_header *record);

/**
 * walk_spaces__update() - The rings have been read: act on the records from before that.
 * @pass_ns: CLOCK_MONOTONIC at the beginning of the pass; later records wait for the next. Or
 *	WALK_SPACES_LAST_PASS.
 *
 * Return: do any wait?
 */
bool walk_spaces__update(struct walk_spaces *s, __u64 pass_ns);

/** walk_spaces__nr_changes() - While it stays the same, no walk ends other than before. */
__u64 walk_spaces__nr_changes(const struct walk_spaces *s);

/**
 * walk_spaces__walk() - Walk a copied stack.
 * @time_ns: When it was copied: which of a process's programs it is of.
 * @ips: Room for WALK_MAX_FRAMES.
 *
 * Return: enum walk_status; WALK_NO_MAP and WALK_PENDING may change with time.
 */
int walk_spaces__walk(struct walk_spaces *s, pid_t pid, __u64 time_ns,
		      const struct walk_copy *copy, const void *stack, __u32 max, __u64 *ips,
		      __u32 *nr);

void walk_spaces__stats(struct walk_spaces *s, struct walk_spaces_stats *ret);

#endif /* PERF_CHURN_STACK_WALK_SPACES_H */
