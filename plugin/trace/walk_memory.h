/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk_memory.h - where the tables of the stack walker stand: in BPF maps that are mapped into the
 * recorder, or in plain memory.
 */
#ifndef PERF_CHURN_TRACE_WALK_MEMORY_H
#define PERF_CHURN_TRACE_WALK_MEMORY_H

#include <sys/types.h>
#include <linux/types.h>

#include "bpf/walk_tables.h"

/**
 * struct walk_memory - Arrays as bpf/walk_tables.h describes them.
 * @rules: Room for WALK_MAX_RULES; rule 0 is all zero.
 * @pages: Room for WALK_MAX_PAGES.
 * @maps: Room for WALK_MAX_MAPS.
 * @chunk: Rows of chunk @idx, WALK_CHUNK_ROWS of them; made when first asked for. NULL: no room.
 * @set_proc: Tell the walker a process's mappings; @proc NULL: forget it.
 *
 * Walks go on while the arrays are written: fill an element before anything points to it.
 */
struct walk_memory {
	struct walk_rule *rules;
	struct walk_page *pages;
	struct walk_map *maps;
	__u32 *(*chunk)(void *ctx, __u32 idx);
	int (*set_proc)(void *ctx, pid_t pid, const struct walk_proc *proc);
	void *ctx;
};

#endif /* PERF_CHURN_TRACE_WALK_MEMORY_H */
