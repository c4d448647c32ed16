/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * synthetic.h - samples that the recorder makes itself: churn:window, churn:probe, churn:range,
 * churn:stacks.
 */
#ifndef PERF_CHURN_TRACE_SYNTHETIC_H
#define PERF_CHURN_TRACE_SYNTHETIC_H

#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

/* Ids of our own samples: far from the kernel's, which count up from 1. */
#define SYNTHETIC_WINDOW_SAMPLE_ID	0x6368757257ULL
#define SYNTHETIC_PROBE_SAMPLE_ID	0x6368757250ULL
#define SYNTHETIC_RANGE_SAMPLE_ID	0x6368757252ULL
#define SYNTHETIC_STACKS_SAMPLE_ID	0x6368757253ULL

#define SYNTHETIC_MAX_BYTES		320

/** synthetic_attr() - The attr of such an event, as the file shows it. */
void synthetic_attr(struct perf_event_attr *attr, __u32 event_id);

/**
 * struct synthetic_sample - What goes into one.
 * @sample_id: SYNTHETIC_*_SAMPLE_ID.
 * @ip: A user address to show the sample at.
 * @raw: Payload; @raw_bytes of it, at most 256.
 */
struct synthetic_sample {
	__u64 sample_id;
	__u64 ip;
	__u64 time_ns;
	pid_t pid;
	const void *raw;
	size_t raw_bytes;
};

/**
 * synthetic_encode() - Lay a sample out as synthetic_attr() says.
 * @out: Room for SYNTHETIC_MAX_BYTES.
 *
 * Return: Its size in bytes.
 */
size_t synthetic_encode(const struct synthetic_sample *s, void *out);

#endif /* PERF_CHURN_TRACE_SYNTHETIC_H */
