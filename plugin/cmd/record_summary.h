/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_summary.h - what a recording says at its end: losses, each with its remedy, and perf's kind
 * of closing line.
 */
#ifndef PERF_CHURN_CMD_RECORD_SUMMARY_H
#define PERF_CHURN_CMD_RECORD_SUMMARY_H

#include <stdbool.h>
#include <linux/types.h>

struct record_opts;
struct recording_counts;
struct window_result;

/**
 * struct record_written - Sizes.
 * @file_bytes: The file.
 * @plain_bytes: Records that were compressed, and @packed_bytes: those that hold them; 0 without -z.
 */
struct record_written {
	__u64 file_bytes, plain_bytes, packed_bytes;
};

/** record_summary__nr_lost() - Samples lost, whatever the cause. */
__u64 record_summary__nr_lost(const struct recording_counts *c);

/**
 * record_summary__print() - All of it, to stderr.
 * @windows: What windows tell; NULL: probes were on all the time.
 * @cut_short: The recording failed; what was recorded up to then is in the file.
 */
void record_summary__print(const struct record_opts *opts, const struct recording_counts *c,
			   const struct window_result *windows, const struct record_written *written,
			   bool cut_short);

#endif /* PERF_CHURN_CMD_RECORD_SUMMARY_H */
