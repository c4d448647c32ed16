/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perfdata_image.h - build perf.data files byte by byte, right ones and wrong ones.
 *
 * Deliberately without any of the code of plugin/perfdata.
 */
#ifndef PERF_CHURN_TESTS_PERFDATA_IMAGE_H
#define PERF_CHURN_TESTS_PERFDATA_IMAGE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#define MAX_IMAGE_EVENTS 8
#define MAX_IMAGE_MARKS 256

/**
 * struct image - A growing byte buffer; @marks are the offsets where records begin.
 */
struct image {
	char *bytes;
	size_t nr;
	size_t nr_max;
	size_t marks[MAX_IMAGE_MARKS];
	size_t nr_marks;
};

static inline void image__add(struct image *im, const void *bytes, size_t nr)
{
	while (im->nr + nr > im->nr_max) {
		im->nr_max = im->nr_max ? im->nr_max * 2 : 4096;
		im->bytes = realloc(im->bytes, im->nr_max);
		if (!im->bytes)
			abort();
	}
	if (nr)
		memcpy(im->bytes + im->nr, bytes, nr);
	im->nr += nr;
}

static inline void image__free(struct image *im)
{
	free(im->bytes);
	memset(im, 0, sizeof(*im));
}

static inline void image__u8(struct image *im, __u8 v)
{
	image__add(im, &v, sizeof(v));
}

static inline void image__u16(struct image *im, __u16 v)
{
	image__add(im, &v, sizeof(v));
}

static inline void image__u32(struct image *im, __u32 v)
{
	image__add(im, &v, sizeof(v));
}

static inline void image__u64(struct image *im, __u64 v)
{
	image__add(im, &v, sizeof(v));
}

/* A string and zeros up to a multiple of @align bytes, at least one. */
static inline void image__padded(struct image *im, const char *text, size_t align)
{
	size_t bytes = strlen(text) + 1;

	image__add(im, text, bytes);
	for (; bytes % align; bytes++)
		image__u8(im, 0);
}

/* perf's form of a string in a feature section. */
static inline void image__string(struct image *im, const char *text)
{
	image__u32(im, (strlen(text) + 64) / 64 * 64);
	image__padded(im, text, 64);
}

/* Begin a record; image__end() fills in its size. */
static inline void image__begin(struct image *im, __u32 type, __u16 misc)
{
	if (im->nr_marks < MAX_IMAGE_MARKS)
		im->marks[im->nr_marks++] = im->nr;
	image__u32(im, type);
	image__u16(im, misc);
	image__u16(im, 0);
}

static inline void image__end(struct image *im, size_t start)
{
	__u16 bytes = im->nr - start;

	memcpy(im->bytes + start + 6, &bytes, sizeof(bytes));
}

/* Every event of these files: IDENTIFIER, IP, TID, TIME, and sample_id_all. */
#define IMAGE_SAMPLE_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
				 PERF_SAMPLE_TIME)

static inline void image__trailer(struct image *im, __u64 id, __u64 time)
{
	image__u32(im, 100);
	image__u32(im, 101);
	image__u64(im, time);
	image__u64(im, id);
}

/* The ip of a sample is how the tests tell it from others. */
static inline void image__sample(struct image *im, __u64 id, __u64 time, __u64 ip)
{
	size_t start = im->nr;

	image__begin(im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	image__u64(im, id);
	image__u64(im, ip);
	image__u32(im, 100);
	image__u32(im, 101);
	image__u64(im, time);
	image__end(im, start);
}

/* A sample that carries raw data, too (sample_type with RAW). */
static inline void image__raw_sample(struct image *im, __u64 id, __u64 time, const void *raw,
				     __u32 bytes)
{
	static const char zeros[8];
	size_t start = im->nr;
	__u32 padded_bytes = (bytes + 4 + 7) / 8 * 8 - 4;

	image__begin(im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	image__u64(im, id);
	image__u64(im, 0);
	image__u32(im, 100);
	image__u32(im, 101);
	image__u64(im, time);
	image__u32(im, padded_bytes);
	image__add(im, raw, bytes);
	image__add(im, zeros, padded_bytes - bytes);
	image__end(im, start);
}

static inline void image__comm(struct image *im, __u64 time, __u16 misc, const char *comm)
{
	size_t start = im->nr;

	image__begin(im, PERF_RECORD_COMM, misc);
	image__u32(im, 100);
	image__u32(im, 101);
	image__padded(im, comm, 8);
	image__trailer(im, 0, time);
	image__end(im, start);
}

static inline void image__round(struct image *im)
{
	size_t start = im->nr;

	image__begin(im, 68, 0);
	image__end(im, start);
}

/**
 * struct image_event - An evsel; @attr.size and the common sample_type are set by default.
 */
struct image_event {
	struct perf_event_attr attr;
	__u64 ids[4];
	size_t nr_ids;
};

/**
 * struct image_file - What a file shall consist of. Set up by image_file__init() with one
 * cpu-clock event of id 1; change it, then image_file__make().
 * @attr_entry_bytes: Room per attr in the file, ids section included.
 * @data_bytes: What the header says; -1: the truth.
 */
struct image_file {
	struct image_event events[MAX_IMAGE_EVENTS];
	size_t nr_events;
	size_t attr_entry_bytes;
	struct image data;
	struct image features[64];
	__u64 feature_bits;
	__s64 data_bytes;
};

static inline struct image_event *image_file__add_event(struct image_file *f, __u32 type,
							__u64 config, __u64 id)
{
	struct image_event *e = &f->events[f->nr_events++];

	e->attr.type = type;
	e->attr.config = config;
	e->attr.size = 128;
	e->attr.sample_type = IMAGE_SAMPLE_TYPE;
	e->attr.sample_id_all = 1;
	e->ids[0] = id;
	e->nr_ids = 1;
	return e;
}

static inline void image_file__init(struct image_file *f)
{
	memset(f, 0, sizeof(*f));
	f->attr_entry_bytes = 128 + 16;
	f->data_bytes = -1;
	image_file__add_event(f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1);
}

static inline void image_file__exit(struct image_file *f)
{
	int i;

	image__free(&f->data);
	for (i = 0; i < 64; i++)
		image__free(&f->features[i]);
}

static inline struct image *image_file__feature(struct image_file *f, int bit)
{
	f->feature_bits |= 1ULL << bit;
	return &f->features[bit];
}

static inline void image_file__string(struct image_file *f, int bit, const char *text)
{
	image__string(image_file__feature(f, bit), text);
}

static inline void add_attrs(const struct image_file *f, struct image *im)
{
	static const char zeros[256];
	__u64 ids_offset = 104;
	size_t i;

	for (i = 0; i < f->nr_events; i++) {
		const struct image_event *e = &f->events[i];
		size_t own_bytes = f->attr_entry_bytes - 16;

		if (own_bytes > sizeof(e->attr))
			own_bytes = sizeof(e->attr);
		image__add(im, &e->attr, own_bytes);
		image__add(im, zeros, f->attr_entry_bytes - 16 - own_bytes);
		image__u64(im, ids_offset);
		image__u64(im, e->nr_ids * 8);
		ids_offset += e->nr_ids * 8;
	}
}

static inline void add_features(const struct image_file *f, struct image *im)
{
	__u64 offset = im->nr + 16 * __builtin_popcountll(f->feature_bits);
	int i;

	for (i = 0; i < 64; i++) {
		if (!(f->feature_bits >> i & 1))
			continue;
		image__u64(im, offset);
		image__u64(im, f->features[i].nr);
		offset += f->features[i].nr;
	}
	for (i = 0; i < 64; i++)
		image__add(im, f->features[i].bytes, f->features[i].nr);
}

static inline void add_header(const struct image_file *f, struct image *im)
{
	size_t i, nr_ids = 0;

	for (i = 0; i < f->nr_events; i++)
		nr_ids += f->events[i].nr_ids;
	image__add(im, "PERFILE2", 8);
	image__u64(im, 104);
	image__u64(im, f->attr_entry_bytes);
	image__u64(im, 104 + nr_ids * 8);
	image__u64(im, f->nr_events * f->attr_entry_bytes);
	image__u64(im, 104 + nr_ids * 8 + f->nr_events * f->attr_entry_bytes);
	image__u64(im, f->data_bytes < 0 ? f->data.nr : (__u64)f->data_bytes);
	image__u64(im, 0);
	image__u64(im, 0);
	image__u64(im, f->feature_bits);
	for (i = 0; i < 3; i++)
		image__u64(im, 0);
	for (i = 0; i < f->nr_events; i++)
		image__add(im, f->events[i].ids, f->events[i].nr_ids * 8);
}

/**
 * image_file__make() - The bytes of the file; the caller frees them by image__free().
 *
 * The marks of the data become marks of the file, and so does the data's end.
 */
static inline struct image image_file__make(const struct image_file *f)
{
	struct image im = {};
	size_t i;

	add_header(f, &im);
	add_attrs(f, &im);
	for (i = 0; i < f->data.nr_marks; i++)
		im.marks[i] = im.nr + f->data.marks[i];
	im.nr_marks = f->data.nr_marks;
	image__add(&im, f->data.bytes, f->data.nr);
	if (im.nr_marks < MAX_IMAGE_MARKS)
		im.marks[im.nr_marks++] = im.nr;
	add_features(f, &im);
	return im;
}

/**
 * image__publish() - Put bytes where they can be opened.
 * @path: Filled with a path to them that is good until the returned fd is closed.
 */
static inline int image__publish(const char *bytes, size_t nr, char path[64])
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	snprintf(path, 64, "/proc/self/fd/%d", fd);
	if (fd < 0)
		abort();
	while (nr) {
		ssize_t written = write(fd, bytes, nr);

		if (written <= 0)
			abort();
		bytes += written;
		nr -= written;
	}
	return fd;
}

/* What tracefs says about "churn_test:sample": one field of each kind. */
static const char image_format[] =
	"name: sample\n"
	"ID: 700\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:u64 size;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int delta;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:u8 tiny;\toffset:20;\tsize:1;\tsigned:0;\n"
	"\tfield:s8 below;\toffset:21;\tsize:1;\tsigned:1;\n"
	"\tfield:short narrow;\toffset:22;\tsize:2;\tsigned:1;\n"
	"\tfield:char comm[8];\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\n"
	"print fmt: \"size=%Lu %s\", REC->size, __get_str(path)\n";

/* TRACING_DATA with one event of system "churn_test". */
static inline void image__tracing(struct image *im, const char *format)
{
	image__add(im, "\x17\x08\x44tracing0.6", 14);
	image__u8(im, 0);			/* little endian */
	image__u8(im, 8);			/* size of long */
	image__u32(im, 4096);
	image__add(im, "header_page", 12);
	image__u64(im, 0);
	image__add(im, "header_event", 13);
	image__u64(im, 0);
	image__u32(im, 0);			/* ftrace formats */
	image__u32(im, 1);			/* systems */
	image__add(im, "churn_test", 11);
	image__u32(im, 1);
	image__u64(im, strlen(format));
	image__add(im, format, strlen(format));
	image__u32(im, 0);			/* kallsyms */
	image__u32(im, 0);			/* printk formats */
	image__u64(im, 0);			/* command lines */
}

/* The raw data of image_format: 40 bytes and the path at their end. */
static inline void image__tracing_raw(struct image *raw, __u64 size)
{
	image__u16(raw, 700);
	image__u16(raw, 0);
	image__u32(raw, 101);
	image__u64(raw, size);
	image__u32(raw, -5);
	image__u8(raw, 200);
	image__u8(raw, -3);
	image__u16(raw, -300);
	image__add(raw, "abcdefgh", 8);		/* fills its array: no NUL */
	image__u32(raw, 36 | 5 << 16);
	image__add(raw, "/bin", 5);
}

static inline __u32 next_random(__u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Up to four bytes changed, and one time in four the end cut off. */
static inline void image__damage(struct image *im, __u32 *state)
{
	static const __u8 values[] = { 0, 1, 0x7f, 0x80, 0xff };
	int nr = 1 + next_random(state) % 4;

	while (nr--) {
		size_t pos = next_random(state) % im->nr;

		if (next_random(state) % 2)
			im->bytes[pos] ^= 1 << next_random(state) % 8;
		else
			im->bytes[pos] = values[next_random(state) % sizeof(values)];
	}
	if (next_random(state) % 4 == 0)
		im->nr = next_random(state) % (im->nr + 1);
}

#endif /* PERF_CHURN_TESTS_PERFDATA_IMAGE_H */
