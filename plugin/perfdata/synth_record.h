/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * synth_record.h - records as the kernel would have written them.
 */
#ifndef PERF_CHURN_PERFDATA_SYNTH_RECORD_H
#define PERF_CHURN_PERFDATA_SYNTH_RECORD_H

#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "stack/locate.h"

#define SYNTH_NAME_MAX_BYTES	4096

struct pdwriter;

/** struct synth_mmap2 - PERF_RECORD_MMAP2 up to its name. */
struct synth_mmap2 {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 start, len, pgoff;
	union {
		struct {
			__u32 maj, min;
			__u64 ino, ino_generation;
		};
		struct {
			__u8 build_id_bytes, reserved1;
			__u16 reserved2;
			__u8 build_id[BUILD_ID_MAX_BYTES];
		};
	};
	__u32 prot, flags;
};

/** synth_mmap2__set_build_id() - In place of device and inode; without one they stay. */
void synth_mmap2__set_build_id(struct synth_mmap2 *m, const struct build_id *id);

/**
 * synth_record__write() - Write the fixed part, the name, and the sample_id trailer.
 * @head: Fixed part, @head_bytes of it; its size is set here.
 * @name: Padded to 8 bytes with at least one NUL; NULL: this record has none.
 *
 * A name that is too long for a record (no path is) is left out with its record.
 *
 * Return: As pdwriter__write().
 */
int synth_record__write(struct pdwriter *w, struct perf_event_header *head, size_t head_bytes,
			const char *name, pid_t pid, pid_t tid);

/**
 * synth__modules() - Write MMAP2 records for the kernel's modules.
 * @root: Stands before /proc, /sys and /lib; "" but in tests.
 * @release: The kernel's, which names the folder below /lib/modules.
 *
 * A module is named by its file, or "[name]" where modules.dep knows none.
 */
int synth__modules(struct pdwriter *w, const char *root, const char *release);

#endif /* PERF_CHURN_PERFDATA_SYNTH_RECORD_H */
