/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_PERFDATA_WRITER_H
#define PERF_CHURN_PERFDATA_WRITER_H

#include <stddef.h>
#include <linux/types.h>

struct perf_event_attr;
struct pdwriter;

/**
 * struct pdwriter_event - One evsel as the file shall show it.
 * @attr: Copied; written with attr.size 128 (readers refuse a larger one than they know).
 * @name: For EVENT_DESC, e.g. "cycles" or "churn:alloc".
 * @ids: Sample ids of this evsel, @nr_ids of them; copied.
 */
struct pdwriter_event {
	const struct perf_event_attr *attr;
	const char *name;
	const __u64 *ids;
	size_t nr_ids;
};

/**
 * struct pdwriter_info - What the feature sections say.
 * @argv: Command line for CMDLINE, @argc words; not copied, must outlive the writer.
 * @clockid: The clock of all samples (CLOCKID and CLOCK_DATA).
 * @compression_level: 1 to 22: records are compressed, as perf record -z does it; 0: they are not.
 */
struct pdwriter_info {
	int argc;
	const char **argv;
	int clockid;
	int compression_level;
};

/**
 * pdwriter__new() - Create the file; an existing one stays what it is until pdwriter__publish().
 * @path: Output file; its folder must exist.
 * @ret: Set on success only.
 *
 * Return: 0 or a negative errno; the error is printed.
 */
int pdwriter__new(const char *path, struct pdwriter **ret);

/**
 * pdwriter__publish() - The recording is under way: the file takes its name, an existing one is kept as
 * PATH.old. The first checkpoint does so, too.
 *
 * Return: 0 or a negative errno, printed; all later calls return it, too.
 */
int pdwriter__publish(struct pdwriter *w);

/**
 * pdwriter__free() - Close. Without pdwriter__finish() the file stays as the last checkpoint left it,
 * marked as unfinished; one that was never published is removed, and an older one still in its place.
 */
void pdwriter__free(struct pdwriter *w);

/**
 * pdwriter__start() - Write header, attrs, ids and a first set of features.
 * @events: In evsel order. Tracepoint events with an id of enum churn_event_id get their
 *	format text into TRACING_DATA; other tracepoints get theirs from tracefs.
 *
 * From here on the file is one that perf reads, at every checkpoint. Its VERSION says that it is
 * unfinished.
 */
int pdwriter__start(struct pdwriter *w, const struct pdwriter_event *events, size_t nr_events,
		    const struct pdwriter_info *info);

/**
 * pdwriter__write() - Append one or more whole records (multiples of 8 bytes), buffered.
 *
 * Return: 0 or the errno of write(2), e.g. -ENOSPC: disk full. It is printed once and all later calls
 * return it, too. The records that fitted stay readable. SIGXFSZ must be ignored.
 */
int pdwriter__write(struct pdwriter *w, const void *records, size_t bytes);

/**
 * pdwriter__round() - Append PERF_RECORD_FINISHED_ROUND: a full pass over all rings is done.
 */
int pdwriter__round(struct pdwriter *w);

/**
 * pdwriter__checkpoint() - Flush, and make the file complete up to here: the feature table
 * is moved behind the data and the header's data size set, so that after kill -9 stock perf
 * reads everything up to the last checkpoint without a warning.
 */
int pdwriter__checkpoint(struct pdwriter *w);

/** pdwriter__set_times() - Time of the first and last sample, for SAMPLE_TIME. */
void pdwriter__set_times(struct pdwriter *w, __u64 first_ns, __u64 last_ns);

/** pdwriter__cut_short() - The recording has failed: the file stays marked as unfinished. */
void pdwriter__cut_short(struct pdwriter *w);

/**
 * pdwriter__finish() - Last checkpoint with the final features (SAMPLE_TIME, VERSION). No write
 * after it.
 */
int pdwriter__finish(struct pdwriter *w);

/**
 * pdwriter__bytes() - Size of the file, with what is still buffered, which is not compressed yet; after
 * an error as it is.
 */
__u64 pdwriter__bytes(const struct pdwriter *w);

/**
 * pdwriter__compression() - What was compressed up to now.
 * @plain_bytes: Size of the records.
 * @packed_bytes: And of those that hold them in the file; 0: nothing was compressed.
 */
void pdwriter__compression(const struct pdwriter *w, __u64 *plain_bytes, __u64 *packed_bytes);

#endif /* PERF_CHURN_PERFDATA_WRITER_H */
