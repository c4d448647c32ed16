/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reader.h - a perf.data file, read once from front to back.
 *
 * Records arrive ordered by time. Memory is bounded: at most what one round (FINISHED_ROUND to
 * FINISHED_ROUND) holds, and never more than a fixed cap. Nothing in the file is trusted: every
 * length is checked, a bad one ends the read with one clear line and a negative errno.
 */
#ifndef PERF_CHURN_PERFDATA_READER_H
#define PERF_CHURN_PERFDATA_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct pdreader;
struct tep_format_field;

/**
 * struct pdevent - One evsel of the file.
 * @idx: Position in the file, from 0.
 * @attr: As in the file.
 * @name: From EVENT_DESC, else made from the attr ("cycles", "system:event"); never NULL.
 * @format: Opaque (the libtraceevent format), NULL when the event is no tracepoint.
 */
struct pdevent {
	int idx;
	struct perf_event_attr attr;
	const char *name;
	void *format;
};

/**
 * struct pdinfo - The feature sections; a string is NULL where the file has none.
 * @data_bytes: Size of the data section.
 * @nr_late: Records read that should have come before others; known after the read.
 * @truncated: The file is not whole: data, or feature sections behind it, are cut short or damaged.
 * @unfinished: The recorder did not live to finish the recording, or could not write it; the file may
 *	well be whole.
 */
struct pdinfo {
	const char *hostname, *osrelease, *version, *arch, *cpudesc;
	const char *const *cmdline;	/* NULL-terminated */
	int nr_cpus_online, nr_cpus_avail;
	__u64 first_time_ns, last_time_ns;	/* SAMPLE_TIME; 0: unknown */
	__u64 total_mem_kb;
	int clockid;				/* -1: unknown */
	__u64 data_bytes;
	__u64 nr_late;
	bool truncated, unfinished;
};

/**
 * struct pdsample - One decoded PERF_RECORD_SAMPLE; pointers are valid during the callback.
 * @cpumode: PERF_RECORD_MISC_USER, _KERNEL, ...
 * @ips, @nr_ips: Callchain with PERF_CONTEXT_* markers, NULL/0 when not recorded.
 * @raw, @raw_bytes: Payload of a tracepoint; unaligned.
 * @regs, @regs_abi, @regs_mask: User registers in mask order, NULL when not recorded.
 * @stack, @stack_bytes: User stack copy (the dyn_size part), NULL when not recorded.
 */
struct pdsample {
	const struct pdevent *event;
	__u16 cpumode;
	__u64 ip, time, addr, period;
	__u32 pid, tid, cpu;
	const __u64 *ips;
	__u64 nr_ips;
	const void *raw;
	__u32 raw_bytes;
	const __u64 *regs;
	__u64 regs_abi, regs_mask;
	const void *stack;
	__u64 stack_bytes;
};

/** struct pdmap - PERF_RECORD_MMAP or MMAP2, decoded. @build_id_bytes 0: none recorded. */
struct pdmap {
	__u16 cpumode;
	__u32 pid, tid;
	__u64 start, len, pgoff, ino, ino_generation;
	__u32 maj, min, prot, flags;
	__u8 build_id[20];
	int build_id_bytes;
	const char *filename;
};

/**
 * struct pdreader_ops - What the caller wants to see; NULL members are skipped.
 * A callback that returns non-zero ends the read with that value.
 * @only: Only samples of this event; nothing else is decoded or put in order. NULL: all.
 */
struct pdreader_ops {
	const struct pdevent *only;
	int (*sample)(void *ctx, const struct pdsample *s);
	int (*mmap)(void *ctx, __u64 time, const struct pdmap *m);
	int (*comm)(void *ctx, __u64 time, __u32 pid, __u32 tid, const char *comm, bool exec);
	int (*fork)(void *ctx, __u64 time, __u32 pid, __u32 ppid, __u32 tid, __u32 ptid);
	int (*exit)(void *ctx, __u64 time, __u32 pid, __u32 tid);
	int (*lost)(void *ctx, __u64 time, const struct pdevent *event, __u64 nr);
	/* Bytes of the data section read so far, for a progress bar. */
	void (*progress)(void *ctx, __u64 done_bytes, __u64 total_bytes);
};

/**
 * pdreader__open() - Open and check a perf.data file, read attrs and features.
 *
 * Return: 0, or a negative errno after one line on stderr that names the file, what is wrong
 * and what to do (-ENOENT, -EACCES, -EINVAL: no perf.data, foreign endian, future version,
 * pipe-mode or truncated file).
 */
int pdreader__open(const char *path, struct pdreader **ret);
void pdreader__close(struct pdreader *r);

const struct pdinfo *pdreader__info(const struct pdreader *r);
size_t pdreader__nr_events(const struct pdreader *r);
const struct pdevent *pdreader__event(const struct pdreader *r, size_t idx);

/**
 * pdreader__read() - Read all records, in time order.
 *
 * Return: 0, a callback's value, or a negative errno (printed). A data section cut short is
 * read up to the cut: 0 with pdinfo.truncated set and a warning, as perf does for files of a
 * killed recorder. Garbage inside it is -EINVAL after what came before was delivered; in a file that
 * is truncated it counts as the cut.
 */
int pdreader__read(struct pdreader *r, const struct pdreader_ops *ops, void *ctx);

/**
 * pdevent__field() - Look a tracepoint field up by name, once per event, not per sample.
 *
 * Return: NULL when the event has no such field.
 */
const struct tep_format_field *pdevent__field(const struct pdevent *event, const char *name);

/**
 * pdfield__u64() - Read an integer field of any width out of a sample's raw data.
 *
 * Return: 0, or -EINVAL when the payload is too short.
 */
int pdfield__u64(const struct tep_format_field *field, const struct pdsample *s, __u64 *ret);

/** pdfield__str() - Copy a char-array field, always NUL-terminated. */
int pdfield__str(const struct tep_format_field *field, const struct pdsample *s,
		 char *buf, size_t bytes);

/**
 * pdfield__bytes() - Copy a field of any type that has exactly that size.
 *
 * Return: 0, or -EINVAL when it has another one, or the payload is too short.
 */
int pdfield__bytes(const struct tep_format_field *field, const struct pdsample *s,
		   void *buf, size_t bytes);

#endif /* PERF_CHURN_PERFDATA_READER_H */
