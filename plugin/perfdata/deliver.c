// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <perf/event.h>

#include "deliver.h"
#include "read_blob.h"
#include "util/msg.h"

static void init_time_bytes(struct deliverer *d)
{
	const struct pdreader *r = d->r;
	int word = r->events[0].layout.time_word;
	size_t i;

	for (i = 1; i < r->nr_events && word >= 0; i++) {
		if (r->events[i].layout.time_word != word)
			word = -1;
	}
	if (word >= 0)
		d->time_bytes = sizeof(struct perf_event_header) + word * sizeof(__u64);
}

static void init_wanted(struct deliverer *d)
{
	const struct pdreader_ops *ops = d->ops;

	d->wanted_types = (__u64)!!ops->sample << PERF_RECORD_SAMPLE |
			  (__u64)!!ops->mmap << PERF_RECORD_MMAP |
			  (__u64)!!ops->mmap << PERF_RECORD_MMAP2 |
			  (__u64)!!ops->comm << PERF_RECORD_COMM |
			  (__u64)!!ops->fork << PERF_RECORD_FORK |
			  (__u64)!!ops->exit << PERF_RECORD_EXIT |
			  (__u64)!!ops->lost << PERF_RECORD_LOST |
			  (__u64)!!ops->lost << PERF_RECORD_LOST_SAMPLES;
}

void deliverer__init(struct deliverer *d, const struct pdreader *r,
		     const struct pdreader_ops *ops, void *ctx)
{
	*d = (struct deliverer){ .r = r, .ops = ops, .ctx = ctx };
	d->last_event = &r->events[0];
	init_time_bytes(d);
	init_wanted(d);
}

/* A record's end, and so its trailer, need not be aligned. */
static __u64 word_at(const void *pos)
{
	__u64 word;

	memcpy(&word, pos, sizeof(word));
	return word;
}

/* Id 0 is the first event: perf leaves the trailers of what it synthesised empty. */
static const struct event *find_event(struct deliverer *d, __u64 id)
{
	const struct pdreader *r = d->r;
	int idx;

	if (id == d->last_id)
		return d->last_event;
	idx = r->nr_events == 1 || !id ? 0 : idmap__find(&r->ids, id);
	if (idx < 0)
		return NULL;
	d->last_id = id;
	d->last_event = &r->events[idx];
	return d->last_event;
}

static const struct event *sample_event(struct deliverer *d, const struct perf_event_header *hdr)
{
	int id_word = d->r->events[0].layout.id_word;

	if (id_word < 0 || d->r->nr_events == 1)
		return &d->r->events[0];
	if (hdr->size < sizeof(*hdr) + (id_word + 1) * sizeof(__u64))
		return NULL;
	return find_event(d, word_at((const char *)(hdr + 1) + id_word * sizeof(__u64)));
}

/* Of any other record, by the trailer. */
static const struct event *record_event(struct deliverer *d, const struct perf_event_header *hdr)
{
	int id_word = d->r->events[0].layout.trailer_id_word;
	const struct event *event = &d->r->events[0];

	if (id_word && d->r->nr_events > 1) {
		if (hdr->size < sizeof(*hdr) + id_word * sizeof(__u64))
			return NULL;
		event = find_event(d, word_at((const char *)hdr + hdr->size -
					      id_word * sizeof(__u64)));
	}
	if (event && hdr->size < sizeof(*hdr) + event->layout.nr_trailer_words * sizeof(__u64))
		return NULL;
	return event;
}

static int find_sample_time(struct deliverer *d, const struct perf_event_header *hdr, __u64 *ret)
{
	const struct event *event = sample_event(d, hdr);
	int word;

	if (!event)
		return -EINVAL;
	word = event->layout.time_word;
	if (word < 0)
		return 0;
	if (hdr->size < sizeof(*hdr) + (word + 1) * sizeof(__u64))
		return -EINVAL;
	*ret = word_at((const char *)(hdr + 1) + word * sizeof(__u64));
	return 0;
}

/* Of any record but a sample: in its trailer, 0 where it has none. */
static __u64 trailer_time(const struct event *event, const struct perf_event_header *hdr)
{
	int word = event->layout.trailer_time_word;

	return word ? word_at((const char *)hdr + hdr->size - word * sizeof(__u64)) : 0;
}

int deliverer__find_time(struct deliverer *d, const struct perf_event_header *hdr, __u64 *ret)
{
	const struct event *event;
	__u64 time = 0;
	int err = 0;

	if (hdr->type == PERF_RECORD_SAMPLE) {
		err = find_sample_time(d, hdr, &time);
	} else {
		event = record_event(d, hdr);
		if (!event)
			return -EINVAL;
		time = trailer_time(event, hdr);
	}
	if (time && time != ~0ULL)
		*ret = time;
	return err;
}

bool deliverer__skips(struct deliverer *d, const struct perf_event_header *hdr)
{
	const struct event *event;

	if (!d->ops->only)
		return false;
	if (hdr->type != PERF_RECORD_SAMPLE)
		return true;
	/* A damaged one is none of ours. */
	event = sample_event(d, hdr);
	return !event || &event->pub != d->ops->only;
}

static int damaged(struct deliverer *d)
{
	d->damaged = true;
	return -EINVAL;
}

static int deliver_sample(struct deliverer *d, __u64 time, const struct perf_event_header *hdr)
{
	const struct event *event = sample_event(d, hdr);

	if (!event || sample__decode(&event->layout, hdr, &d->sample))
		return damaged(d);
	d->sample.event = &event->pub;
	d->sample.time = time;
	return d->ops->sample(d->ctx, &d->sample);
}

/* A string up to the trailer, which the kernel pads to whole words. */
static const char *take_rest(struct blob *b)
{
	return blob__text(b, b->left_bytes);
}

static int deliver_comm(struct deliverer *d, __u64 time, __u16 misc, struct blob *b)
{
	__u32 pid = blob__u32(b);
	__u32 tid = blob__u32(b);
	const char *comm = take_rest(b);

	if (b->bad)
		return damaged(d);
	return d->ops->comm(d->ctx, time, pid, tid, comm, misc & PERF_RECORD_MISC_COMM_EXEC);
}

static int deliver_task(struct deliverer *d, __u64 time, __u32 type, struct blob *b)
{
	__u32 pid = blob__u32(b);
	__u32 ppid = blob__u32(b);
	__u32 tid = blob__u32(b);
	__u32 ptid = blob__u32(b);

	if (b->bad)
		return damaged(d);
	if (type == PERF_RECORD_EXIT)
		return d->ops->exit(d->ctx, time, pid, tid);
	return d->ops->fork(d->ctx, time, pid, ppid, tid, ptid);
}

/* A ring was full; the id is that of the event which found room again. */
static int deliver_lost(struct deliverer *d, __u64 time, struct blob *b)
{
	const struct event *event = find_event(d, blob__u64(b));
	__u64 nr = blob__u64(b);

	if (b->bad || !event)
		return damaged(d);
	d->nr_lost_in_rings += nr;
	return d->ops->lost(d->ctx, time, &event->pub, nr);
}

/*
 * What the kernel lost besides has a time. Without one it is perf's sum of an event, written when
 * it ends, and the rings told most of it before: only what exceeds that is news. What a BPF
 * filter dropped on purpose is not lost.
 */
static int deliver_lost_samples(struct deliverer *d, __u64 time,
				const struct perf_event_header *hdr,
				const struct event *event, struct blob *b)
{
	__u64 nr = blob__u64(b), nr_known = 0;

	if (b->bad)
		return damaged(d);
	if (hdr->misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF)
		return 0;
	if (!trailer_time(event, hdr))
		nr_known = nr < d->nr_lost_in_rings ? nr : d->nr_lost_in_rings;
	d->nr_lost_in_rings -= nr_known;
	nr -= nr_known;
	return nr ? d->ops->lost(d->ctx, time, &event->pub, nr) : 0;
}

/* u8 size, 3 bytes reserved, 20 bytes: in the place of device and inode. */
static bool take_map_buildid(struct pdmap *map, struct blob *b)
{
	const unsigned char *pos = (const unsigned char *)blob__take(b, 24);

	if (!pos || pos[0] > sizeof(map->build_id))
		return false;
	map->build_id_bytes = pos[0];
	memcpy(map->build_id, pos + 4, pos[0]);
	return true;
}

static bool take_map_inode(struct pdmap *map, struct blob *b)
{
	map->maj = blob__u32(b);
	map->min = blob__u32(b);
	map->ino = blob__u64(b);
	map->ino_generation = blob__u64(b);
	return !b->bad;
}

static bool take_map2(struct pdmap *map, __u16 misc, struct blob *b)
{
	bool ok = misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? take_map_buildid(map, b) :
							  take_map_inode(map, b);

	map->prot = blob__u32(b);
	map->flags = blob__u32(b);
	return ok;
}

static void add_buildid(const struct deliverer *d, struct pdmap *map)
{
	const struct buildid *id = pdreader__find_buildid(d->r, map->filename);

	if (!id || map->build_id_bytes)
		return;
	memcpy(map->build_id, id->id, sizeof(map->build_id));
	map->build_id_bytes = id->id_bytes;
}

static int deliver_mmap(struct deliverer *d, __u64 time, const struct perf_event_header *hdr,
			struct blob *b)
{
	struct pdmap map = { .cpumode = hdr->misc & PERF_RECORD_MISC_CPUMODE_MASK };

	map.pid = blob__u32(b);
	map.tid = blob__u32(b);
	map.start = blob__u64(b);
	map.len = blob__u64(b);
	map.pgoff = blob__u64(b);
	if (hdr->type == PERF_RECORD_MMAP)
		map.prot = hdr->misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : PROT_EXEC;
	else if (!take_map2(&map, hdr->misc, b))
		return damaged(d);
	map.filename = take_rest(b);
	if (b->bad)
		return damaged(d);
	add_buildid(d, &map);
	return d->ops->mmap(d->ctx, time, &map);
}

static int deliver_other(struct deliverer *d, __u64 time, struct perf_event_header *hdr)
{
	const struct event *event = record_event(d, hdr);
	struct blob b = { .pos = (char *)(hdr + 1) };

	if (!event)
		return damaged(d);
	b.left_bytes = hdr->size - sizeof(*hdr) - event->layout.nr_trailer_words * sizeof(__u64);
	switch (hdr->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return deliver_mmap(d, time, hdr, &b);
	case PERF_RECORD_COMM:
		return deliver_comm(d, time, hdr->misc, &b);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return deliver_task(d, time, hdr->type, &b);
	case PERF_RECORD_LOST:
		return deliver_lost(d, time, &b);
	case PERF_RECORD_LOST_SAMPLES:
		return deliver_lost_samples(d, time, hdr, event, &b);
	}
	return 0;
}

int deliverer__deliver(struct deliverer *d, __u64 time, void *record)
{
	struct perf_event_header *hdr = record;
	int ret;

	if (hdr->type == PERF_RECORD_SAMPLE)
		ret = deliver_sample(d, time, hdr);
	else
		ret = deliver_other(d, time, hdr);
	if (d->damaged && !d->quiet)
		pr_err("%s: damaged record (type %u, %u bytes, time %llu)\n", d->r->path,
		       hdr->type, hdr->size, (unsigned long long)time);
	return ret;
}
