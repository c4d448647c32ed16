/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walked.h - from what the stack walker emitted to the sample that the file holds.
 */
#ifndef PERF_CHURN_TRACE_WALKED_H
#define PERF_CHURN_TRACE_WALKED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "walk_memory.h"

#define WALKED_MAX_BYTES	65536

/**
 * struct walked - A record of the walker, taken apart. Pointers are into the record, and unaligned.
 * @event, @event_bytes: The churn event in it; none in a CPU sample's.
 * @event_id: CHURN_ALLOC_ID or CHURN_FREE_ID; 0: a CPU sample.
 * @kernel, @nr_kernel: Kernel part of the callchain, with its marker.
 * @ips: User addresses, head.nr of them, when the stack was walked, else
 * @copy, @stack: what is to be walked yet; copy.bytes of stack.
 */
struct walked {
	const struct perf_event_header *header;
	pid_t pid;
	__u64 time_ns;
	const char *event;
	size_t event_bytes;
	__u32 event_id;
	const char *kernel;
	__u64 nr_kernel;
	struct walk_head head;
	const char *ips;
	struct walk_copy copy;
	const char *stack;
};

/**
 * walked__parse() - Take a record apart.
 * @is_cpu: From the rings of CPU samples.
 *
 * Return: 0, or -EINVAL when it is nothing that the walker emits.
 */
int walked__parse(const struct perf_event_header *record, bool is_cpu, struct walked *ret);

/**
 * walked__finish() - Make the sample.
 * @ips, @nr: The user's part of the callchain, innermost first.
 * @out: Room for WALKED_MAX_BYTES, 8-byte aligned.
 * @repaired: Set when the stack was empty and the caller alone was put in.
 *
 * A CPU sample becomes one of its event: id, period, the kernel's addresses, the user's. A churn
 * sample gets its weight as period and the call instruction in the caller as ip; its callchain
 * begins there, too.
 *
 * Return: Bytes in @out; -EINVAL when they would be too many.
 */
int walked__finish(const struct walked *w, const __u64 *ips, __u32 nr, void *out, bool *repaired);

#endif /* PERF_CHURN_TRACE_WALKED_H */
