// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data section, from front to back: chunks are filled from the file, records are queued by
 * their time and delivered when a round ends or memory runs short. Compressed records are filled
 * into a second stream, whose records go the same way.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <perf/event.h>

#include "deliver.h"
#include "order.h"
#include "read.h"
#include "read_stream.h"
#include "read_zstd.h"
#include "util/msg.h"

/* Queue and the chunks it points into; perf has no limit there. */
#define MAX_QUEUED_BYTES	((size_t)64 << 20)

/* From the newest perf: like COMPRESSED, with the size of the data in front and padding behind. */
#define PERF_RECORD_COMPRESSED2	83

/**
 * struct pass - One pass over the data.
 * @pos: File offset of what is read next; @file holds what is in front of it.
 * @last_time: Time of the last record that had one.
 * @stopped: A callback, or a damaged record on its way to one, ended the read.
 * @aligned: Copy of a record that is not aligned in its chunk.
 */
struct pass {
	struct pdreader *r;
	struct deliverer deliverer;
	struct chunk_pool pool;
	struct stream file;
	struct stream unzipped;
	struct unzip *unzip;
	struct order order;
	__u64 pos;
	__u64 last_time;
	bool stopped;
	__u64 aligned[65536 / sizeof(__u64)];
};

static struct pass *pass__new(struct pdreader *r, const struct pdreader_ops *ops, void *ctx)
{
	struct pass *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->r = r;
	p->pos = r->data.offset;
	p->file.pool = &p->pool;
	p->unzipped.pool = &p->pool;
	deliverer__init(&p->deliverer, r, ops, ctx);
	return p;
}

static void pass__free(struct pass *p)
{
	size_t i;

	for (i = 0; i < p->order.nr; i++)
		chunk__put(chunk__of(p->order.entries[i].record), &p->pool);
	order__exit(&p->order);
	unzip__free(p->unzip);
	stream__exit(&p->file);
	stream__exit(&p->unzipped);
	chunk_pool__exit(&p->pool);
	free(p);
}

static void *align_record(struct pass *p, void *record, __u16 bytes)
{
	if ((uintptr_t)record % sizeof(__u64) == 0)
		return record;
	return memcpy(p->aligned, record, bytes);
}

static int deliver(void *ctx, __u64 time, void *record)
{
	struct perf_event_header hdr;
	struct pass *p = ctx;
	int ret;

	memcpy(&hdr, record, sizeof(hdr));
	ret = deliverer__deliver(&p->deliverer, time, align_record(p, record, hdr.size));
	chunk__put(chunk__of(record), &p->pool);
	p->stopped = ret;
	return ret;
}

static size_t queued_bytes(const struct pass *p)
{
	return p->pool.nr_used * CHUNK_BYTES + order__bytes(&p->order);
}

/* Of a file that is not whole enough has been said: there it ends. */
static int bad_record(const struct pass *p, const struct perf_event_header *hdr)
{
	if (p->r->info.truncated)
		return -ENODATA;
	pr_err("%s: damaged near offset %llu: record of type %u, %u bytes\n", p->r->path,
	       (unsigned long long)(p->pos - stream__left_bytes(&p->file)), hdr->type, hdr->size);
	return -EINVAL;
}

static int bad_compression(const struct pass *p)
{
	if (p->r->info.truncated)
		return -ENODATA;
	pr_err("%s: its compressed data are damaged\n", p->r->path);
	return -EINVAL;
}

static int queue_record(struct pass *p, const struct perf_event_header *hdr, void *record)
{
	void *record_aligned;
	int err;

	if (!deliverer__wants(&p->deliverer, hdr->type))
		return 0;
	record_aligned = align_record(p, record, hdr->size);
	if (deliverer__skips(&p->deliverer, record_aligned))
		return 0;
	if (deliverer__time(&p->deliverer, record_aligned, &p->last_time))
		return bad_record(p, hdr);
	err = order__push(&p->order, p->last_time, record);
	if (!err)
		chunk__of(record)->nr_refs++;
	return err;
}

static int limit_memory(struct pass *p)
{
	int err = 0;

	while (!err && p->order.nr && queued_bytes(p) > MAX_QUEUED_BYTES)
		err = order__flush_half(&p->order, deliver, p);
	return err;
}

static int take_records(struct pass *p, struct stream *s);

/* A few bytes may unzip to very many: memory is watched here, too. */
static int unzip_records(struct pass *p, const void *data, size_t bytes)
{
	ssize_t got_bytes;
	int err;

	if (!p->unzip) {
		p->unzip = unzip__new();
		if (!p->unzip)
			return -ENOMEM;
	}
	unzip__feed(p->unzip, data, bytes);
	do {
		err = stream__make_room(&p->unzipped);
		if (err)
			return err;
		got_bytes = unzip__run(p->unzip, &p->unzipped);
		if (got_bytes < 0)
			return bad_compression(p);
		err = take_records(p, &p->unzipped) ?: limit_memory(p);
	} while (got_bytes && !err);
	return err;
}

static int take_compressed(struct pass *p, const struct perf_event_header *hdr, const char *record)
{
	size_t head_bytes = sizeof(*hdr);
	__u64 bytes = hdr->size - head_bytes;

	if (hdr->type == PERF_RECORD_COMPRESSED2) {
		head_bytes += sizeof(bytes);
		if (hdr->size < head_bytes)
			return bad_record(p, hdr);
		memcpy(&bytes, record + sizeof(*hdr), sizeof(bytes));
		if (bytes > hdr->size - head_bytes)
			return bad_record(p, hdr);
	}
	return unzip_records(p, record + head_bytes, bytes);
}

/* Records with a payload behind them (AUX area traces): step over it. */
static int skip_payload(struct pass *p, const struct perf_event_header *hdr, const char *record)
{
	size_t left_bytes = stream__left_bytes(&p->file) - hdr->size;
	__u64 end = p->r->data.offset + p->r->data.bytes;
	__u64 bytes = 0;
	__u32 short_bytes;

	if (hdr->size < sizeof(*hdr) + sizeof(bytes))
		return bad_record(p, hdr);
	memcpy(&bytes, record + sizeof(*hdr), sizeof(bytes));
	if (hdr->type == PERF_RECORD_HEADER_TRACING_DATA) {
		memcpy(&short_bytes, record + sizeof(*hdr), sizeof(short_bytes));
		bytes = ((__u64)short_bytes + 7) & ~7ULL;
	}
	if (bytes <= left_bytes) {
		p->file.head += bytes;
		return 0;
	}
	if (bytes - left_bytes > end - p->pos) {
		if (!p->r->info.truncated)
			return bad_record(p, hdr);
		bytes = end - p->pos + left_bytes;
	}
	p->pos += bytes - left_bytes;
	p->file.head += left_bytes;
	return 0;
}

/* Records that perf itself writes, not the kernel: all but a few are none of our concern. */
static int take_user_record(struct pass *p, struct stream *s, const struct perf_event_header *hdr,
			    const char *record)
{
	switch (hdr->type) {
	case PERF_RECORD_FINISHED_ROUND:
		return order__finish_round(&p->order, deliver, p);
	case PERF_RECORD_COMPRESSED:
	case PERF_RECORD_COMPRESSED2:
		return s == &p->file ? take_compressed(p, hdr, record) : bad_record(p, hdr);
	case PERF_RECORD_HEADER_TRACING_DATA:
	case PERF_RECORD_AUXTRACE:
		return s == &p->file ? skip_payload(p, hdr, record) : bad_record(p, hdr);
	}
	return 0;
}

/* After a crash of the machine a file may end in zeros that were never written. */
static bool ends_in_zeros(const struct pass *p, const struct perf_event_header *hdr)
{
	return p->r->info.truncated && !hdr->type && !hdr->size;
}

/* All whole records of a chunk; what is left is part of one. */
static int take_records(struct pass *p, struct stream *s)
{
	struct perf_event_header hdr;
	int err = 0;

	while (!err && stream__left_bytes(s) >= sizeof(hdr)) {
		char *record = stream__head(s);

		memcpy(&hdr, record, sizeof(hdr));
		if (hdr.size < sizeof(hdr)) {
			if (!ends_in_zeros(p, &hdr))
				return bad_record(p, &hdr);
			s->head = s->tail;
			break;
		}
		if (hdr.size > stream__left_bytes(s))
			break;
		if (hdr.type >= PERF_RECORD_USER_TYPE_START)
			err = take_user_record(p, s, &hdr, record);
		else
			err = queue_record(p, &hdr, record);
		s->head += hdr.size;
	}
	return err;
}

/* Return: 1 while there may be more, 0 at the end of what is there, or an error. */
static int fill(struct pass *p)
{
	__u64 left_bytes = p->r->data.offset + p->r->data.bytes - p->pos;
	ssize_t got_bytes;
	int err;

	if (!left_bytes)
		return 0;
	err = stream__make_room(&p->file);
	if (err)
		return err;
	got_bytes = stream__read(&p->file, p->r->fd, p->pos, left_bytes);
	if (got_bytes < 0) {
		pr_err("%s: cannot read: %s\n", p->r->path, strerror(-got_bytes));
		return got_bytes;
	}
	p->pos += got_bytes;
	return got_bytes > 0;
}

static void show_progress(const struct pass *p)
{
	const struct pdreader_ops *ops = p->deliverer.ops;

	if (ops->progress)
		ops->progress(p->deliverer.ctx, p->pos - p->r->data.offset, p->r->data.bytes);
}

/* A recorder that found the disk full may have left the first part of a record. */
static bool ends_in_a_record(const struct pass *p)
{
	return stream__left_bytes(&p->unzipped) && !p->r->info.unfinished;
}

/*
 * What the last chunk ends with is part of a record. Of a file that was cut this is the cut; of a
 * whole one, the record's size is wrong.
 */
static int check_end(struct pass *p)
{
	struct perf_event_header hdr = {};
	size_t left_bytes = stream__left_bytes(&p->file);

	if (p->pos < p->r->data.offset + p->r->data.bytes && !p->r->info.truncated) {
		pr_warning("%s: it became shorter while it was read\n", p->r->path);
		p->r->info.truncated = true;
	}
	if (p->r->info.truncated)
		return 0;
	if (!left_bytes)
		return ends_in_a_record(p) ? bad_compression(p) : 0;
	memcpy(&hdr, stream__head(&p->file), left_bytes < sizeof(hdr) ? left_bytes : sizeof(hdr));
	return bad_record(p, &hdr);
}

static int read_all(struct pass *p)
{
	int err;

	while ((err = fill(p)) > 0) {
		err = take_records(p, &p->file);
		err = err ?: limit_memory(p);
		if (err)
			return err;
		show_progress(p);
	}
	return err ?: check_end(p);
}

static void warn_late(const struct pass *p)
{
	if (p->order.nr_late)
		pr_warning("%s: %llu records are out of order, as when a CPU stalls while it writes one\n",
			   p->r->path, (unsigned long long)p->order.nr_late);
}

int pdreader__read(struct pdreader *r, const struct pdreader_ops *ops, void *ctx)
{
	struct pass *p = pass__new(r, ops, ctx);
	int err, flush_err;

	if (!p) {
		pr_err("%s: out of memory\n", r->path);
		return -ENOMEM;
	}
	p->deliverer.quiet = r->info.truncated;
	err = read_all(p);
	if (err == -ENODATA && !p->stopped)
		err = 0;
	if (!p->stopped) {
		if (err == -ENOMEM || err == -E2BIG)
			pr_err("%s: out of memory\n", r->path);
		p->deliverer.quiet |= err;
		flush_err = order__flush_all(&p->order, deliver, p);
		err = err ?: flush_err;
	}
	r->info.nr_late = p->order.nr_late;
	if (r->info.truncated && p->deliverer.damaged)
		err = 0;
	if (!err && !r->info.truncated)
		warn_late(p);
	pass__free(p);
	return err;
}
