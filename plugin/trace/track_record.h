/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * track_record.h - records of the tracking event, as the kernel writes them.
 */
#ifndef PERF_CHURN_TRACE_TRACK_RECORD_H
#define PERF_CHURN_TRACE_TRACK_RECORD_H

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/perf_event.h>
#include <linux/types.h>

/* What follows a record's own fields: TID TIME CPU IDENTIFIER. */
#define TRACK_TRAILER_BYTES	32

/* FORK, EXIT; COMM up to tid, which stands where ppid does */
struct task_record {
	struct perf_event_header header;
	__u32 pid, ppid, tid, ptid;
};

struct mmap2_record {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 start, len, pgoff;
	union {
		struct {
			__u32 maj, min;
			__u64 ino, ino_generation;
		};
		struct {
			__u8 build_id_bytes, reserved[3];
			__u8 build_id[20];
		};
	};
	__u32 prot, flags;
	char filename[];
};

/** track_record__time() - From the trailer; 0: it has none. */
static inline __u64 track_record__time(const struct perf_event_header *record)
{
	__u64 time_ns = 0;

	if (record->size >= sizeof(*record) + TRACK_TRAILER_BYTES)
		memcpy(&time_ns, (const char *)record + record->size - TRACK_TRAILER_BYTES + 8,
		       sizeof(time_ns));
	return time_ns;
}

/** mmap2_record__is_code() - Is it whole, with a name that ends, and a mapping of code? */
static inline bool mmap2_record__is_code(const struct mmap2_record *m)
{
	size_t room;

	if (m->header.size <= sizeof(*m) + TRACK_TRAILER_BYTES || !(m->prot & PROT_EXEC))
		return false;
	room = m->header.size - sizeof(*m) - TRACK_TRAILER_BYTES;
	return strnlen(m->filename, room) < room;
}

#endif /* PERF_CHURN_TRACE_TRACK_RECORD_H */
