/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * read.h - what the files of the reader share; nobody outside of this room includes it.
 *
 * reader.c opens and closes; read_header.c, read_features.c and read_tracing.c take the file's
 * head and tail apart; read_data.c runs the data section through read_stream.c (chunks, zstd)
 * and order.c (time); deliver.c and sample.c decode a record and call back.
 */
#ifndef PERF_CHURN_PERFDATA_READ_H
#define PERF_CHURN_PERFDATA_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "read_idmap.h"
#include "reader.h"
#include "sample.h"

#define NR_FEATURE_WORDS 4

struct tep_handle;

/* As in the file: perf_file_section and perf_file_header of perf's util/header.h. */
struct file_section {
	__u64 offset;
	__u64 bytes;
};

struct file_header {
	char magic[8];
	__u64 header_bytes;
	__u64 attr_bytes;
	struct file_section attrs;
	struct file_section data;
	struct file_section event_types;
	__u64 features[NR_FEATURE_WORDS];
};
_Static_assert(sizeof(struct file_header) == 104, "perf.data header");

/**
 * struct event - A pdevent and how to decode its samples.
 * @pub: What the caller sees; @pub.name is @name, or points into a feature payload.
 * @ids: Where the file lists the event's sample ids.
 * @name: Name made here, owned; NULL where the file has one.
 */
struct event {
	struct pdevent pub;
	struct sample_layout layout;
	struct file_section ids;
	char *name;
};

/**
 * struct buildid - One row of the BUILD_ID feature, for mappings recorded without one.
 */
struct buildid {
	const char *filename;
	__u8 id[20];
	int id_bytes;
};

/**
 * struct pdreader - An open file.
 * @data: The records that are there: cut at the end of file, up to it where the recorder died.
 * @sample_id_all: Records other than samples have a trailer.
 * @payloads: Feature sections read so far, which names and strings point into.
 */
struct pdreader {
	char *path;
	int fd;
	__u64 file_bytes;
	struct file_section data;
	struct event *events;
	size_t nr_events;
	struct idmap ids;
	bool sample_id_all;
	struct tep_handle *tep;
	struct pdinfo info;
	const char **cmdline;
	struct buildid *buildids;
	size_t nr_buildids;
	char **payloads;
	size_t nr_payloads;
};

/**
 * pdreader__pread() - Read exactly @bytes at @offset.
 *
 * Return: 0, -EINVAL where the file ends before, or the errno of pread(2); prints nothing.
 */
int pdreader__pread(const struct pdreader *r, void *buf, __u64 bytes, __u64 offset);

/** pdreader__has() - The file is long enough to hold a section. */
bool pdreader__has(const struct pdreader *r, const struct file_section *section);

/**
 * pdreader__read_header() - Check the header, read attrs and sample ids, find the data.
 * @hdr: Filled in.
 *
 * Return: 0 or a negative errno after one line on stderr.
 */
int pdreader__read_header(struct pdreader *r, struct file_header *hdr);

/**
 * pdreader__read_features() - Read the feature sections, and give the events their names.
 *
 * A damaged section is left out with a warning: the samples can be read without it.
 *
 * Return: 0 or -ENOMEM.
 */
int pdreader__read_features(struct pdreader *r, const struct file_header *hdr);
void pdreader__free_features(struct pdreader *r);

/**
 * pdreader__parse_tracing() - Find the formats of this file's tracepoints in TRACING_DATA.
 *
 * Return: 0, -EINVAL for a damaged section (not printed), -ENOMEM.
 */
int pdreader__parse_tracing(struct pdreader *r, char *payload, size_t bytes);

/** pdreader__add_builtin_formats() - Our own events have a format even where the file lost it. */
void pdreader__add_builtin_formats(struct pdreader *r);

/** pdreader__find_buildid() - What the BUILD_ID feature says about a file, or NULL. */
const struct buildid *pdreader__find_buildid(const struct pdreader *r, const char *filename);

/**
 * event_name__make() - A name for an event whose file has none, as perf would write it.
 * @event: Its attr and, for a tracepoint, its format.
 *
 * Return: malloc'ed, NULL without memory.
 */
char *event_name__make(const struct pdevent *event);

#endif /* PERF_CHURN_PERFDATA_READ_H */
