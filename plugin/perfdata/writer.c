// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layout, and how the file stays whole at every moment:
 *
 *   header | attrs, ids | feature payloads | data ...... | feature table
 *
 * perf looks for the feature table right behind the data, but its entries may point anywhere, so
 * the payloads stand in front and never move. A checkpoint moves the data's end: new data goes
 * behind the old table, a new table behind that, and as many bytes as the table is long are held
 * back; they overwrite the old table last, just before the header gets the new data size, both by
 * stores into mapped pages. Killed at any time, the file is whole up to the last checkpoint.
 *
 * The data begins with a FINISHED_ROUND, since perf warns of a data section that is empty.
 *
 * A recorder that dies leaves a file that looks like one that was finished. So VERSION says that it
 * was not, until the end, when other text of the same size takes its place.
 *
 * With a compressor, the buffer becomes records of compressed records when it is flushed, and all
 * that is said above is about those. A checkpoint flushes the compressor, too.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>
#include <linux/perf_event.h>

#include "writer.h"

#include "write_blob.h"
#include "write_features.h"
#include "write_file.h"
#include "write_zstd.h"
#include "util/msg.h"

#define ATTR_BYTES	PERF_ATTR_SIZE_VER7
#define BUFFER_BYTES	(512 * 1024)
#define MAX_FEATURES	32
#define ROUND_TYPE	68		/* PERF_RECORD_FINISHED_ROUND */
#define IGNORED_TYPE	65		/* PERF_RECORD_HEADER_EVENT_TYPE: no perf looks into one */

struct section {
	__u64 offset, bytes;
};

struct file_header {
	char magic[8];
	__u64 header_bytes;
	__u64 attr_bytes;
	struct section attrs, data, event_types;
	__u64 features[4];
};

static const struct perf_event_header finished_round = {
	.type = ROUND_TYPE, .size = sizeof(finished_round),
};

struct pdwriter {
	struct write_file file;
	int err;			/* first error; sticks */
	struct file_header *header;	/* the file's first page, mapped; NULL: write instead */
	struct section table[MAX_FEATURES];
	enum pdfeature bits[MAX_FEATURES];
	size_t nr_features;
	__u64 data_offset;
	__u64 committed;		/* data bytes the header speaks of */
	__u64 written;			/* data bytes in the file, but for the held-back ones */
	size_t appending;		/* more that may be there, in part */
	char head[MAX_FEATURES * sizeof(struct section)];
	size_t head_bytes;		/* held back: belong where the table is now */
	char *buffer;
	size_t buffered;
	struct zip *zip;		/* NULL: records go into the file as they are */
	__u64 plain_bytes, packed_bytes;
	bool cut_short;
	__u64 first_ns, last_ns;
};

static int write_at(struct pdwriter *w, const void *data, size_t bytes, __u64 offset)
{
	const char *from = data;
	ssize_t n;

	while (bytes) {
		n = pwrite(w->file.fd, from, bytes, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		from += n;
		bytes -= n;
		offset += n;
	}
	return 0;
}

int pdwriter__new(const char *path, struct pdwriter **ret)
{
	struct pdwriter *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		return -ENOMEM;
	w->file.fd = -1;
	w->buffer = malloc(BUFFER_BYTES);
	if (w->buffer)
		err = write_file__open(&w->file, path);
	if (err) {
		pdwriter__free(w);
		return err;
	}
	*ret = w;
	return 0;
}

void pdwriter__free(struct pdwriter *w)
{
	if (!w)
		return;
	if (w->header)
		munmap(w->header, sizeof(*w->header));
	write_file__exit(&w->file);
	zip__free(w->zip);
	free(w->buffer);
	free(w);
}

int pdwriter__publish(struct pdwriter *w)
{
	int err = w->err ?: write_file__publish(&w->file);

	w->err = err;
	return err;
}

/* attrs, each with the section of its ids; the ids themselves go before, behind the header. */
static void put_attrs(struct blob *out, const struct pdwriter_event *events, size_t nr,
		      struct file_header *header)
{
	struct section *ids = calloc(nr ?: 1, sizeof(*ids));
	struct perf_event_attr attr;
	size_t i;

	if (!ids) {
		out->failed = true;
		return;
	}
	for (i = 0; i < nr; i++) {
		ids[i].offset = out->bytes;
		ids[i].bytes = events[i].nr_ids * sizeof(__u64);
		blob__put(out, events[i].ids, ids[i].bytes);
	}
	header->attrs.offset = out->bytes;
	header->attrs.bytes = nr * (ATTR_BYTES + sizeof(struct section));
	for (i = 0; i < nr; i++) {
		attr = *events[i].attr;
		attr.size = ATTR_BYTES;
		blob__put(out, &attr, ATTR_BYTES);
		blob__put(out, &ids[i], sizeof(ids[i]));
	}
	free(ids);
}

static int put_features(struct pdwriter *w, struct blob *out, const struct pdfeature_input *in,
			struct file_header *header)
{
	static const char zeros[8];
	size_t i, nr = 0;
	int err = 0;

	for (i = 0; i < pdfeatures__nr() && !err; i++) {
		enum pdfeature bit = pdfeature__at(i);

		if (!pdfeature__wanted(i, in))
			continue;
		w->bits[nr] = bit;
		w->table[nr].offset = out->bytes;
		err = pdfeature__build(i, in, out);
		w->table[nr].bytes = out->bytes - w->table[nr].offset;
		header->features[bit / 64] |= 1ULL << (bit % 64);
		blob__put(out, zeros, -out->bytes & 7);
		nr++;
	}
	w->nr_features = nr;
	return err;
}

/*
 * Not on btrfs: a page that is to be copied on write may find the disk full, and a store cannot
 * return an error. Nor where shared mappings are not to be had.
 */
static void map_header(struct pdwriter *w)
{
	struct statfs fs;
	void *map;

	if (fstatfs(w->file.fd, &fs) || fs.f_type == BTRFS_SUPER_MAGIC)
		return;
	map = mmap(NULL, sizeof(*w->header), PROT_READ | PROT_WRITE, MAP_SHARED, w->file.fd, 0);
	if (map != MAP_FAILED)
		w->header = map;
}

static size_t table_bytes(const struct pdwriter *w)
{
	return w->nr_features * sizeof(struct section);
}

/* The header comes last: a file without one is none, a file with one is whole. */
static int write_front(struct pdwriter *w, const struct blob *front)
{
	const size_t header = sizeof(struct file_header);

	return write_at(w, w->table, table_bytes(w), w->data_offset + w->written) ?:
	       write_at(w, front->data + header, front->bytes - header, header) ?:
	       write_at(w, front->data, header, 0);
}

static __u64 feature_offset(const struct pdwriter *w, enum pdfeature bit)
{
	size_t i = 0;

	while (w->bits[i] != bit)
		i++;
	return w->table[i].offset;
}

static int write_ratio(struct pdwriter *w)
{
	__u32 ratio;

	if (!w->packed_bytes)
		return 0;
	ratio = (w->plain_bytes + w->packed_bytes / 2) / w->packed_bytes;
	return write_at(w, &ratio, sizeof(ratio),
			feature_offset(w, PDFEATURE_COMPRESSED) + PDFEATURE_RATIO_OFFSET);
}

/* What was not known yet when the features were written. */
static int update_features(struct pdwriter *w)
{
	const __u64 times[2] = { w->first_ns, w->last_ns };

	return write_at(w, times, sizeof(times), feature_offset(w, PDFEATURE_SAMPLE_TIME)) ?:
	       write_ratio(w);
}

/* A store that changes nothing: the page is there and may be written when the time comes. */
static void touch(void *byte)
{
	*(volatile char *)byte = *(volatile char *)byte;
}

static int change_over_by_writes(struct pdwriter *w)
{
	return write_at(w, w->head, w->head_bytes, w->data_offset + w->committed) ?:
	       write_at(w, &w->written, sizeof(w->written),
			offsetof(struct file_header, data.bytes));
}

/*
 * Between the first and the last store below the file is not whole. No system call, on whose way
 * out SIGKILL would strike, and no page fault lies between them.
 */
static int change_over(struct pdwriter *w)
{
	__u64 at = w->data_offset + w->committed;
	size_t in_page = at & (sysconf(_SC_PAGESIZE) - 1);
	size_t bytes = in_page + w->head_bytes;
	char *map = MAP_FAILED;

	if (w->header)
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->file.fd, at - in_page);
	if (map == MAP_FAILED)
		return change_over_by_writes(w);
	touch(&w->header->data.bytes);
	touch(map + in_page);
	touch(map + bytes - 1);
	memcpy(map + in_page, w->head, w->head_bytes);
	__atomic_store_n(&w->header->data.bytes, w->written, __ATOMIC_RELEASE);
	munmap(map, bytes);
	return 0;
}

/* Table behind the data, held-back bytes over the old table, the header last. */
static int commit(struct pdwriter *w)
{
	int err;

	err = update_features(w) ?:
	      write_at(w, w->table, table_bytes(w), w->data_offset + w->written) ?:
	      change_over(w);
	if (err)
		return err;
	w->committed = w->written;
	w->head_bytes = 0;
	return 0;
}

/* Compressed records begin at any byte: the end of what is held back may be within a header. */
static bool read_record_header(const struct pdwriter *w, __u64 at, struct perf_event_header *ret)
{
	size_t held = 0, rest = sizeof(*ret);
	__u64 behind = at - w->committed;

	if (behind < w->head_bytes) {
		held = w->head_bytes - behind < rest ? w->head_bytes - behind : rest;
		memcpy(ret, w->head + behind, held);
		rest -= held;
	}
	if (pread(w->file.fd, (char *)ret + held, rest, w->data_offset + at + held) != (ssize_t)rest)
		return false;
	return ret->size >= sizeof(*ret);
}

/* Where the last record since the checkpoint ends that does so by @end. */
static __u64 end_of_records(const struct pdwriter *w, __u64 end)
{
	struct perf_event_header header;
	__u64 at = w->committed;

	while (at + sizeof(header) <= end && read_record_header(w, at, &header) &&
	       at + header.size <= end)
		at += header.size;
	return at;
}

/*
 * The disk is full, with a part of the last write in the file, or of the table. Of the records that
 * are whole those are kept behind which there is room for a table: it takes the place of others.
 */
static void salvage(struct pdwriter *w)
{
	__u64 end = w->written + w->appending, room_end;
	struct stat st;

	w->buffered = 0;
	w->written = w->committed;
	if (fstat(w->file.fd, &st))
		return;
	room_end = st.st_size - w->data_offset - table_bytes(w);
	end = end_of_records(w, end < room_end ? end : room_end);
	if (end >= w->committed + table_bytes(w)) {
		w->written = end;
		if (commit(w))
			w->written = w->committed;
	}
	/* What is behind the table was never part of the file. */
	if (ftruncate(w->file.fd, pdwriter__bytes(w)))
		pr_debug("%s: cannot be shortened: %s\n", w->file.path, strerror(errno));
}

static int fail(struct pdwriter *w, int err)
{
	if (w->err)
		return w->err;
	w->err = err;
	if (w->committed)
		salvage(w);
	pr_err("%s: cannot write: %s%s\n", w->file.path, strerror(-err),
	       w->committed && w->file.published ? "; what is there up to now can be read" : "");
	return err;
}

int pdwriter__start(struct pdwriter *w, const struct pdwriter_event *events, size_t nr_events,
		    const struct pdwriter_info *info)
{
	struct pdfeature_input in = {
		.events = events, .nr_events = nr_events, .info = info, .attr_bytes = ATTR_BYTES,
	};
	struct file_header header = {
		.magic = "PERFILE2", .header_bytes = sizeof(header),
		.attr_bytes = ATTR_BYTES + sizeof(struct section), .data.bytes = sizeof(finished_round),
	};
	struct blob front = {};
	int err = 0;

	if (info->compression_level)
		err = zip__new(info->compression_level, &w->zip);
	blob__put(&front, &header, sizeof(header));
	put_attrs(&front, events, nr_events, &header);
	err = err ?: put_features(w, &front, &in, &header);
	header.data.offset = w->data_offset = front.bytes;
	w->written = sizeof(finished_round);
	blob__put(&front, &finished_round, sizeof(finished_round));
	if (!err && front.failed)
		err = -ENOMEM;
	if (!err) {
		memcpy(front.data, &header, sizeof(header));
		err = write_front(w, &front);
	}
	blob__exit(&front);
	if (err)
		return fail(w, err);
	w->committed = w->written;
	map_header(w);
	return 0;
}

/* The first bytes since the last checkpoint are held back: the table stands in their place. */
static int append(struct pdwriter *w, const void *data, size_t bytes)
{
	size_t hold = table_bytes(w) - w->head_bytes;
	int err;

	if (hold > bytes)
		hold = bytes;
	w->appending = bytes;
	memcpy(w->head + w->head_bytes, data, hold);
	w->head_bytes += hold;
	err = write_at(w, (const char *)data + hold, bytes - hold,
		       w->data_offset + w->written + hold);
	if (err)
		return err;
	w->written += bytes;
	w->appending = 0;
	return 0;
}

static int append_compressed(struct pdwriter *w)
{
	const struct perf_event_header *record;
	size_t done = 0;
	ssize_t taken;
	int err = 0;

	while (!err && done < w->buffered) {
		taken = zip__next(w->zip, w->buffer + done, w->buffered - done, &record);
		if (taken < 0)
			return taken;
		done += taken;
		w->plain_bytes += taken;
		w->packed_bytes += record->size;
		err = append(w, record, record->size);
	}
	return err;
}

static int flush(struct pdwriter *w)
{
	int err = w->zip ? append_compressed(w) : append(w, w->buffer, w->buffered);

	if (!err)
		w->buffered = 0;
	return err;
}

int pdwriter__write(struct pdwriter *w, const void *records, size_t bytes)
{
	int err;

	if (w->err)
		return w->err;
	if (bytes > BUFFER_BYTES - w->buffered) {
		err = flush(w);
		if (err)
			return fail(w, err);
	}
	if (bytes > BUFFER_BYTES)
		return -EINVAL;
	memcpy(w->buffer + w->buffered, records, bytes);
	w->buffered += bytes;
	return 0;
}

int pdwriter__round(struct pdwriter *w)
{
	return pdwriter__write(w, &finished_round, sizeof(finished_round));
}

/* With less data than the table is long the new table would overlap the old one. */
static int pad(struct pdwriter *w)
{
	char record[sizeof(struct perf_event_header) + sizeof(w->head)] = {};
	struct perf_event_header header = { .type = IGNORED_TYPE, .size = sizeof(header) };
	size_t bytes = w->written - w->committed;

	if (bytes >= table_bytes(w))
		return 0;
	header.size += table_bytes(w) - bytes;
	memcpy(record, &header, sizeof(header));
	return append(w, record, header.size);
}

static int write_checkpoint(struct pdwriter *w)
{
	int err = flush(w);

	if (!err && w->written == w->committed)
		return update_features(w);
	return err ?: pad(w) ?: commit(w) ?: pdwriter__publish(w);
}

int pdwriter__checkpoint(struct pdwriter *w)
{
	int err = w->err ?: write_checkpoint(w);

	return err ? fail(w, err) : 0;
}

void pdwriter__set_times(struct pdwriter *w, __u64 first_ns, __u64 last_ns)
{
	w->first_ns = first_ns;
	w->last_ns = last_ns;
	/* No checkpoint will come any more. */
	if (w->err && w->committed)
		update_features(w);
}

/* Some file systems (NFS, quotas) tell of a full disk only when a descriptor is closed. */
static int close_duplicate(const struct pdwriter *w)
{
	int fd = dup(w->file.fd);

	return fd >= 0 && close(fd) ? -errno : 0;
}

static int mark_finished(struct pdwriter *w)
{
	struct blob version = {};
	int err = -ENOMEM;

	if (w->cut_short)
		return 0;
	blob__put_string(&version, pdfeature__version(true));
	if (!version.failed)
		err = write_at(w, version.data, version.bytes,
			       feature_offset(w, PDFEATURE_VERSION));
	blob__exit(&version);
	return err;
}

void pdwriter__cut_short(struct pdwriter *w)
{
	w->cut_short = true;
}

int pdwriter__finish(struct pdwriter *w)
{
	int err = w->err;

	err = err ?: write_checkpoint(w) ?: pdwriter__publish(w) ?: close_duplicate(w) ?:
	      mark_finished(w);
	return err ? fail(w, err) : 0;
}

__u64 pdwriter__bytes(const struct pdwriter *w)
{
	return w->data_offset + w->written + w->buffered + table_bytes(w);
}

void pdwriter__compression(const struct pdwriter *w, __u64 *plain_bytes, __u64 *packed_bytes)
{
	*plain_bytes = w->plain_bytes;
	*packed_bytes = w->packed_bytes;
}
