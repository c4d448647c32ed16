/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * finish.h - from the record that the BPF program emitted to the sample that the file holds.
 */
#ifndef PERF_CHURN_TRACE_FINISH_H
#define PERF_CHURN_TRACE_FINISH_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>

/* A finished sample is at most this much longer than the emitted one. */
#define FINISH_MAX_GROWTH	16
#define FINISH_MAX_BYTES	(65536 + FINISH_MAX_GROWTH)

/**
 * struct finish_result - What was done.
 * @event_id: CHURN_ALLOC_ID or CHURN_FREE_ID.
 * @repaired: The immediate caller was missing in the callchain and was put in.
 */
struct finish_result {
	__u32 event_id;
	bool repaired;
};

/**
 * finish_sample() - Finish a churn sample.
 * @sample_type: The event's sample_type, as rings.c opens it.
 * @regs_mask: Its sample_regs_user.
 * @in: PERF_RECORD_SAMPLE as it came out of the ring.
 * @out: Room for FINISH_MAX_BYTES, 8-byte aligned.
 *
 * Sets period to the weight, ip to the call instruction in the caller (return address - 1), and
 * makes the user callchain begin there: the allocator's own frame goes, the caller comes in where
 * the frame pointer walk has skipped it. With a stack copy, the chain stays as it is, and user
 * registers and copy are moved to the same point, so that an unwinder starts in the caller.
 *
 * Return: Bytes in @out; -EINVAL when @in is no such sample.
 */
int finish_sample(__u64 sample_type, __u64 regs_mask, const struct perf_event_header *in,
		  void *out, struct finish_result *result);

/**
 * finish_scale() - Multiply a finished sample's weight and period.
 * @sample_type: As it stands in the file.
 * @random: From 0 to 1, decides which way the weight is rounded: sums stay right.
 *
 * Return: 0; -EINVAL when it is no such sample.
 */
int finish_scale(__u64 sample_type, struct perf_event_header *sample, double factor, double random);

#endif /* PERF_CHURN_TRACE_FINISH_H */
