/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * listener.h - what listener.bpf.c hands to listener.c. Includes nothing, like bpf/preload.h before
 * it.
 */
#ifndef PERF_CHURN_TESTS_LISTENER_H
#define PERF_CHURN_TESTS_LISTENER_H

#define LISTENER_NR_IPS		6

/**
 * struct listener_sums - Of one process.
 * @since: Sum of all preload_call.since.
 * @hits: By kind.
 * @weight, @weighted_bytes: Of PRELOAD_ALLOC.
 * @freed_weight: Of PRELOAD_FREE.
 */
struct listener_sums {
	struct preload_totals since;
	__u64 hits[4];
	__u64 weight;
	__u64 weighted_bytes;
	__u64 freed_weight;
};

/**
 * struct listener_event - One call of the hook.
 * @ips: The stack as frame pointers have it, from the hook on.
 */
struct listener_event {
	__u32 pid, tid;
	__u64 time_ns;
	struct preload_call call;
	__u64 ips[LISTENER_NR_IPS];
};

#endif /* PERF_CHURN_TESTS_LISTENER_H */
