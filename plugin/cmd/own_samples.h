/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * own_samples.h - samples that no ring delivers: totals, and at the end what was probed.
 */
#ifndef PERF_CHURN_CMD_OWN_SAMPLES_H
#define PERF_CHURN_CMD_OWN_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

struct pdwriter;
struct probes;

/**
 * own_sample__write() - Write a sample, with the time that it is now.
 * @sample_id: SYNTHETIC_*_SAMPLE_ID.
 * @pid, @ip: Where to show it.
 * @raw: Payload; @raw_bytes of it, at most 256.
 *
 * Return: 0 or a negative errno, printed.
 */
int own_sample__write(struct pdwriter *out, __u64 sample_id, pid_t pid, __u64 ip, const void *raw,
		      size_t raw_bytes);

/** own_sample__write_at() - The same with a time, which the last round but one must not have passed. */
int own_sample__write_at(struct pdwriter *out, __u64 sample_id, __u64 time_ns, pid_t pid, __u64 ip,
			 const void *raw, size_t raw_bytes);

/**
 * own_samples__write_images() - For each probed object churn:probe and churn:range samples.
 * @warn_silent: Warn when none of them had any hit.
 *
 * Context: Reads each of these files: some ms an object.
 * Return: 0 or a negative errno.
 */
int own_samples__write_images(struct pdwriter *out, struct probes *probes, bool warn_silent);

#endif /* PERF_CHURN_CMD_OWN_SAMPLES_H */
