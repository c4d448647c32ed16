// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"
#include "util/msg.h"

/* A file of 16 header bytes is a pipe's contents; one of 72 has no features (before 2.6.33). */
#define PIPE_HEADER_BYTES	16
#define OLD_HEADER_BYTES	offsetof(struct file_header, features)

/* The attr as Linux 6.12 knows it; what came with 6.3 (config3) does not change any layout. */
#define KNOWN_ATTR_BYTES	136
#define MIN_ATTR_BYTES		PERF_ATTR_SIZE_VER0
#define MAX_ATTR_BYTES		4096

#define MAX_EVENTS		8192
#define MAX_IDS			((__u64)1 << 24)

bool pdreader__has(const struct pdreader *r, const struct file_section *section)
{
	return section->offset <= r->file_bytes &&
	       section->bytes <= r->file_bytes - section->offset;
}

static int refuse(const struct pdreader *r, const char *why)
{
	pr_err("%s: %s\n", r->path, why);
	return -EINVAL;
}

static int refuse_damaged(const struct pdreader *r, const char *what)
{
	pr_err("%s: damaged perf.data file: %s\n", r->path, what);
	return -EINVAL;
}

static int refuse_short(const struct pdreader *r)
{
	return refuse(r, "truncated perf.data file: it ends within its header");
}

static int refuse_io(const struct pdreader *r, int err)
{
	if (err == -EINVAL)
		return refuse_short(r);
	pr_err("%s: cannot read: %s\n", r->path, strerror(-err));
	return err;
}

static int check_magic(const struct pdreader *r, const char *magic)
{
	static const char magic_be[] = "2ELIFREP";

	if (!memcmp(magic, "PERFILE2", 8))
		return 0;
	if (!memcmp(magic, magic_be, 8))
		return refuse(r, "recorded on a machine of the other byte order: "
				 "read it on a machine of that kind");
	if (!memcmp(magic, "PERFFILE", 8) || !memcmp(magic, "ELIFFREP", 8))
		return refuse(r, "written by a perf before Linux 3.7: record it again");
	return refuse(r, "not a perf.data file");
}

static int check_header(const struct pdreader *r, const struct file_header *hdr)
{
	if (hdr->header_bytes != sizeof(*hdr) && hdr->header_bytes != OLD_HEADER_BYTES)
		return refuse(r, "header of an unknown version: a newer perf may read this file");
	if (hdr->attr_bytes < MIN_ATTR_BYTES + sizeof(struct file_section) ||
	    hdr->attr_bytes > MAX_ATTR_BYTES || hdr->attrs.bytes % hdr->attr_bytes)
		return refuse_damaged(r, "size of its event attributes");
	if (!hdr->attrs.bytes)
		return refuse_damaged(r, "no events");
	if (hdr->attrs.bytes / hdr->attr_bytes > MAX_EVENTS)
		return refuse_damaged(r, "too many events");
	if (hdr->data.offset < hdr->header_bytes || hdr->data.offset > ~0ULL - hdr->data.bytes)
		return refuse_damaged(r, "place of its data");
	if (!pdreader__has(r, &hdr->attrs))
		return refuse_short(r);
	return 0;
}

static int read_file_header(struct pdreader *r, struct file_header *hdr)
{
	int err;

	*hdr = (struct file_header){};
	if (!r->file_bytes)
		return refuse(r, "the file is empty");
	if (r->file_bytes < sizeof(hdr->magic))
		return refuse(r, "not a perf.data file");
	err = pdreader__pread(r, hdr->magic, sizeof(hdr->magic), 0);
	if (err)
		return refuse_io(r, err);
	err = check_magic(r, hdr->magic);
	if (err)
		return err;
	err = pdreader__pread(r, hdr, offsetof(struct file_header, attr_bytes), 0);
	if (!err && hdr->header_bytes == PIPE_HEADER_BYTES)
		return refuse(r, "recorded into a pipe: record with -o FILE, or convert it by "
				 "'perf inject -i OLD -o NEW' of perf 6.12 or newer");
	err = err ?: pdreader__pread(r, hdr, OLD_HEADER_BYTES, 0);
	if (!err && hdr->header_bytes != OLD_HEADER_BYTES)
		err = pdreader__pread(r, hdr, sizeof(*hdr), 0);
	if (err)
		return refuse_io(r, err);
	return check_header(r, hdr);
}

static bool all_zero(const char *bytes, size_t nr)
{
	while (nr && !*bytes) {
		bytes++;
		nr--;
	}
	return !nr;
}

/*
 * An attr of a newer perf is longer than ours. It may be read as long as what we do not know is
 * zero: that is what a perf would write that does not use it. The ids stand at the entry's end.
 */
static int parse_attr(const struct pdreader *r, struct event *event, const char *entry,
		      size_t entry_bytes)
{
	size_t room_bytes = entry_bytes - sizeof(event->ids);
	struct perf_event_attr *attr = &event->pub.attr;
	size_t attr_bytes, own_bytes;

	memcpy(attr, entry, MIN_ATTR_BYTES);
	attr_bytes = attr->size ?: MIN_ATTR_BYTES;
	if (attr_bytes < MIN_ATTR_BYTES || attr_bytes > room_bytes)
		return refuse_damaged(r, "size of an event attribute");
	if (attr_bytes > KNOWN_ATTR_BYTES &&
	    !all_zero(entry + KNOWN_ATTR_BYTES, attr_bytes - KNOWN_ATTR_BYTES))
		return refuse(r, "recorded by a newer perf with event settings that are not known "
				 "here: update perf churn");
	own_bytes = attr_bytes < sizeof(*attr) ? attr_bytes : sizeof(*attr);
	memcpy(attr, entry, own_bytes);
	memcpy(&event->ids, entry + room_bytes, sizeof(event->ids));
	if (sample_layout__init(&event->layout, attr))
		return refuse(r, "its samples hold fields that are not known here: "
				 "update perf churn");
	return 0;
}

static int read_attrs(struct pdreader *r, const struct file_header *hdr)
{
	char *entries = malloc(hdr->attrs.bytes);
	size_t i;
	int err;

	r->nr_events = hdr->attrs.bytes / hdr->attr_bytes;
	r->events = calloc(r->nr_events, sizeof(*r->events));
	err = entries && r->events ? 0 : -ENOMEM;
	if (!err) {
		err = pdreader__pread(r, entries, hdr->attrs.bytes, hdr->attrs.offset);
		if (err)
			err = refuse_io(r, err);
	}
	for (i = 0; i < r->nr_events && !err; i++) {
		r->events[i].pub.idx = i;
		err = parse_attr(r, &r->events[i], entries + i * hdr->attr_bytes,
				 hdr->attr_bytes);
	}
	free(entries);
	return err;
}

static int read_ids(struct pdreader *r, const struct event *event)
{
	size_t i, nr = event->ids.bytes / sizeof(__u64);
	__u64 *ids = malloc(event->ids.bytes);
	int err = ids ? 0 : -ENOMEM;

	if (!err) {
		err = pdreader__pread(r, ids, event->ids.bytes, event->ids.offset);
		if (err)
			err = refuse_io(r, err);
	}
	for (i = 0; i < nr && !err; i++)
		err = idmap__add(&r->ids, ids[i], event->pub.idx);
	free(ids);
	return err;
}

static int read_all_ids(struct pdreader *r)
{
	__u64 nr = 0;
	size_t i;
	int err;

	for (i = 0; i < r->nr_events; i++) {
		const struct event *event = &r->events[i];

		if (!event->ids.bytes)
			continue;
		if (event->ids.bytes % sizeof(__u64))
			return refuse_damaged(r, "size of a list of sample ids");
		if (!pdreader__has(r, &event->ids))
			return refuse_short(r);
		nr += event->ids.bytes / sizeof(__u64);
		if (nr > MAX_IDS)
			return refuse_damaged(r, "too many sample ids");
		err = read_ids(r, event);
		if (err)
			return err;
	}
	return 0;
}

/* The id must be found before it is known which event's layout a record has. */
static int check_layouts(struct pdreader *r)
{
	const struct sample_layout *first = &r->events[0].layout;
	const __u64 by_id = PERF_SAMPLE_IDENTIFIER;
	size_t i;

	r->sample_id_all = r->events[0].pub.attr.sample_id_all;
	for (i = 1; i < r->nr_events; i++) {
		const struct sample_layout *layout = &r->events[i].layout;

		if (r->events[i].pub.attr.sample_id_all != r->sample_id_all)
			return refuse_damaged(r, "sample_id_all differs between its events");
		if (layout->sample_type & first->sample_type & by_id)
			continue;
		if (layout->sample_type != first->sample_type || layout->id_word < 0)
			return refuse(r, "its samples do not say which event they belong to");
	}
	return 0;
}

/* What a record section starts with is no feature table: its size field makes the offset huge. */
static bool is_feature_table(const struct pdreader *r, const struct file_header *hdr)
{
	struct file_section first;

	return !pdreader__pread(r, &first, sizeof(first), hdr->data.offset) &&
	       first.offset >= hdr->data.offset + sizeof(first) && pdreader__has(r, &first);
}

static bool has_features(const struct file_header *hdr)
{
	return hdr->features[0] | hdr->features[1] | hdr->features[2] | hdr->features[3];
}

/*
 * A recorder that was killed leaves a data size of 0 behind (stock perf writes it, and the
 * features, at the end): then the data are all that follows.
 */
static void find_data(struct pdreader *r, const struct file_header *hdr)
{
	r->data = hdr->data;
	if (!hdr->data.bytes && !(has_features(hdr) && is_feature_table(r, hdr))) {
		r->data.bytes = r->file_bytes > hdr->data.offset ?
				r->file_bytes - hdr->data.offset : 0;
		r->info.truncated = r->info.unfinished = true;
		pr_warning("%s: the recording was not finished, reading what is there\n",
			   r->path);
	} else if (!pdreader__has(r, &hdr->data)) {
		r->data.bytes = r->file_bytes > hdr->data.offset ?
				r->file_bytes - hdr->data.offset : 0;
		r->info.truncated = true;
		pr_warning("%s: truncated, %llu of %llu bytes of data are there\n", r->path,
			   (unsigned long long)r->data.bytes,
			   (unsigned long long)hdr->data.bytes);
	}
	r->info.data_bytes = r->data.bytes;
}

int pdreader__read_header(struct pdreader *r, struct file_header *hdr)
{
	int err = read_file_header(r, hdr);

	err = err ?: read_attrs(r, hdr);
	err = err ?: read_all_ids(r);
	err = err ?: check_layouts(r);
	if (err == -ENOMEM)
		pr_err("%s: out of memory\n", r->path);
	if (!err)
		find_data(r, hdr);
	return err;
}
