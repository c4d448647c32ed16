// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/resource.h>
#include <zstd.h>

#include "perfdata_image.h"
#include "perfdata_read.h"

#include <kselftest_harness.h>

FIXTURE(reader) {
	struct image_file f;
	struct notes n;
};

FIXTURE_SETUP(reader)
{
	image_file__init(&self->f);
}

FIXTURE_TEARDOWN(reader)
{
	image_file__exit(&self->f);
}

static void read_bytes(FIXTURE_DATA(reader) *self, const char *bytes, size_t nr)
{
	char path[64];
	int fd = image__publish(bytes, nr, path);

	read_notes(path, &self->n);
	close(fd);
}

static void read_file(FIXTURE_DATA(reader) *self)
{
	struct image im = image_file__make(&self->f);

	read_bytes(self, im.bytes, im.nr);
	image__free(&im);
}

/* Open only; the caller closes both. */
static struct pdreader *open_file(FIXTURE_DATA(reader) *self, int *fd)
{
	struct image im = image_file__make(&self->f);
	struct pdreader *r = NULL;
	char path[64];

	*fd = image__publish(im.bytes, im.nr, path);
	image__free(&im);
	if (pdreader__open(path, &r))
		abort();
	return r;
}

static void add_lost(struct image *im, __u32 type, __u16 misc, __u64 time, __u64 nr)
{
	size_t start = im->nr;

	image__begin(im, type, misc);
	if (type == PERF_RECORD_LOST)
		image__u64(im, 1);
	image__u64(im, nr);
	image__trailer(im, 1, time);
	image__end(im, start);
}

/* A record of a type and with contents as given, and a trailer. */
static void add_record(struct image *im, __u32 type, __u16 misc, const void *bytes, size_t nr)
{
	size_t start = im->nr;

	image__begin(im, type, misc);
	image__add(im, bytes, nr);
	image__trailer(im, 1, 0);
	image__end(im, start);
}

TEST_F(reader, samples_arrive_with_their_fields)
{
	image__sample(&self->f.data, 1, 1000, 0x401000);
	read_file(self);
	ASSERT_EQ(0, self->n.open_err);
	ASSERT_EQ(0, self->n.read_err);
	EXPECT_EQ(0, self->n.nr_lines);
	EXPECT_FALSE(self->n.truncated);
	ASSERT_EQ(1, self->n.nr_samples);
	EXPECT_EQ(0x401000, self->n.ips[0]);
	EXPECT_EQ(1000, self->n.times[0]);
}

TEST_F(reader, a_file_without_records_is_fine)
{
	image_file__string(&self->f, 3, "host");
	read_file(self);
	EXPECT_EQ(0, self->n.open_err);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_FALSE(self->n.truncated);
	EXPECT_EQ(0, self->n.nr_lines);
}

TEST_F(reader, ids_lead_to_events_and_id_0_to_the_first)
{
	image_file__add_event(&self->f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 77);
	image__sample(&self->f.data, 77, 1000, 1);
	image__sample(&self->f.data, 1, 1001, 2);
	image__sample(&self->f.data, 77, 1002, 3);
	image__sample(&self->f.data, 0, 1003, 4);
	read_file(self);
	ASSERT_EQ(4, self->n.nr_samples);
	EXPECT_EQ(1, self->n.events[0]);
	EXPECT_EQ(0, self->n.events[1]);
	EXPECT_EQ(1, self->n.events[2]);
	EXPECT_EQ(0, self->n.events[3]);
}

TEST_F(reader, an_id_of_no_event_is_damage)
{
	image_file__add_event(&self->f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 77);
	image__sample(&self->f.data, 1, 1000, 1);
	image__sample(&self->f.data, 5, 1001, 2);
	read_file(self);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
}

TEST_F(reader, events_of_different_layouts_mix)
{
	struct image *im = &self->f.data;
	struct image_event *e;
	size_t start;

	e = image_file__add_event(&self->f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 77);
	e->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
	image__sample(im, 1, 1000, 0xa);
	start = im->nr;
	image__begin(im, PERF_RECORD_SAMPLE, 0);
	image__u64(im, 77);
	image__u64(im, 900);
	image__end(im, start);
	read_file(self);
	ASSERT_EQ(2, self->n.nr_samples);
	EXPECT_EQ(1, self->n.events[0]);
	EXPECT_EQ(900, self->n.times[0]);
	EXPECT_EQ(0xa, self->n.ips[1]);
}

TEST_F(reader, rings_are_brought_into_order)
{
	struct image *im = &self->f.data;

	image__sample(im, 1, 100, 1);
	image__sample(im, 1, 300, 3);
	image__sample(im, 1, 200, 2);
	image__round(im);
	image__sample(im, 1, 500, 5);
	image__sample(im, 1, 400, 4);
	image__round(im);
	image__sample(im, 1, 600, 6);
	read_file(self);
	ASSERT_EQ(6, self->n.nr_samples);
	EXPECT_EQ(0, self->n.nr_backwards);
	EXPECT_EQ(1, self->n.ips[0]);
	EXPECT_EQ(2, self->n.ips[1]);
	EXPECT_EQ(6, self->n.ips[5]);
}

TEST_F(reader, records_without_a_time_keep_their_place)
{
	struct image *im = &self->f.data;

	image__comm(im, 0, 0, "first");
	image__sample(im, 1, 100, 1);
	image__comm(im, 0, 0, "second");
	image__sample(im, 1, 200, 2);
	image__comm(im, 150, PERF_RECORD_MISC_COMM_EXEC, "third");
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_STREQ("comm 0 100/101 first\n"
		     "comm 100 100/101 second\n"
		     "comm 150 100/101 third exec\n", self->n.text);
}

TEST_F(reader, a_callback_can_stop)
{
	int i;

	for (i = 0; i < 10; i++)
		image__sample(&self->f.data, 1, i + 1, i);
	self->n.stop_at = 3;
	self->n.stop_value = -ECANCELED;
	read_file(self);
	EXPECT_EQ(-ECANCELED, self->n.read_err);
	EXPECT_EQ(3, self->n.nr_samples);
	EXPECT_EQ(0, self->n.nr_lines);
}

TEST_F(reader, unknown_records_are_skipped)
{
	struct image *im = &self->f.data;

	add_record(im, 40, 0, "of a kernel to come....", 24);
	add_record(im, 200, 0, "of a perf to come......", 24);
	add_record(im, PERF_RECORD_SWITCH, 0, "", 0);
	image__sample(im, 1, 100, 1);
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_samples);
}

TEST_F(reader, payloads_behind_records_are_stepped_over)
{
	struct image *im = &self->f.data;
	char *payload = calloc(1, 3 << 20);
	size_t start = im->nr;
	int i;

	image__begin(im, 71, 0);		/* AUXTRACE */
	image__u64(im, 3 << 20);
	for (i = 0; i < 4; i++)
		image__u64(im, 0);
	image__end(im, start);
	image__add(im, payload, 3 << 20);
	free(payload);
	image__sample(im, 1, 100, 1);
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_samples);
}

TEST_F(reader, tasks_and_maps_arrive)
{
	static const struct { __u32 pid, ppid, tid, ptid; __u64 time; } task = { 5, 4, 6, 4, 9 };
	struct image map = {};

	add_record(&self->f.data, PERF_RECORD_FORK, 0, &task, sizeof(task));
	add_record(&self->f.data, PERF_RECORD_EXIT, 0, &task, sizeof(task));
	image__u32(&map, 7);
	image__u32(&map, 8);
	image__u64(&map, 0x400000);
	image__u64(&map, 0x1000);
	image__u64(&map, 0x2000);
	image__padded(&map, "/bin/a", 8);
	add_record(&self->f.data, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, map.bytes, map.nr);
	add_record(&self->f.data, PERF_RECORD_MMAP, PERF_RECORD_MISC_MMAP_DATA, map.bytes, map.nr);
	image__free(&map);
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_STREQ("fork 0 5/6 from 4/4\n"
		     "exit 0 5/6\n"
		     "mmap 0 7/8 400000+1000@2000 /bin/a prot 4 ino 0 id \n"
		     "mmap 0 7/8 400000+1000@2000 /bin/a prot 0 ino 0 id \n", self->n.text);
}

static void add_map2(struct image *im, __u16 misc, __u8 id_bytes, const char *filename)
{
	struct image map = {};
	int i;

	image__u32(&map, 7);
	image__u32(&map, 8);
	image__u64(&map, 0x400000);
	image__u64(&map, 0x1000);
	image__u64(&map, 0);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		image__u32(&map, id_bytes);
		for (i = 0; i < 20; i++)
			image__u8(&map, 0xa0 + i);
	} else {
		image__u32(&map, 8);		/* major, minor */
		image__u32(&map, 1);
		image__u64(&map, 99);		/* inode */
		image__u64(&map, 0);
	}
	image__u32(&map, 5);
	image__u32(&map, 2);
	image__padded(&map, filename, 8);
	add_record(im, PERF_RECORD_MMAP2, misc, map.bytes, map.nr);
	image__free(&map);
}

static void add_buildid(struct image *im, __u16 misc, __u8 id_bytes, const char *filename)
{
	size_t start = im->nr;
	int i;

	image__begin(im, 67, misc);
	image__u32(im, -1);
	for (i = 0; i < 20; i++)
		image__u8(im, i + 1);
	image__u32(im, id_bytes);
	image__padded(im, filename, 64);
	image__end(im, start);
}

TEST_F(reader, build_ids_come_from_the_map_or_from_the_header)
{
	struct image *ids = image_file__feature(&self->f, 2);

	add_buildid(ids, 1 << 15, 4, "/lib/z");
	add_buildid(ids, 0, 0, "[kernel.kallsyms]");
	add_buildid(ids, 1 << 15, 2, "/bin/a");
	add_map2(&self->f.data, PERF_RECORD_MISC_MMAP_BUILD_ID, 3, "/bin/a");
	add_map2(&self->f.data, 0, 0, "/bin/a");
	add_map2(&self->f.data, 0, 0, "/lib/other");
	add_map2(&self->f.data, 0, 0, "[kernel.kallsyms]_text");
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_STREQ("mmap 0 7/8 400000+1000@0 /bin/a prot 5 ino 0 id a0a1a2\n"
		     "mmap 0 7/8 400000+1000@0 /bin/a prot 5 ino 99 id 0102\n"
		     "mmap 0 7/8 400000+1000@0 /lib/other prot 5 ino 99 id \n"
		     "mmap 0 7/8 400000+1000@0 [kernel.kallsyms]_text prot 5 ino 99 id "
		     "0102030405060708090a0b0c0d0e0f1011121314\n", self->n.text);
}

TEST_F(reader, a_build_id_too_long_is_damage)
{
	add_map2(&self->f.data, PERF_RECORD_MISC_MMAP_BUILD_ID, 21, "/bin/a");
	read_file(self);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_lines);
}

TEST_F(reader, a_string_without_an_end_is_damage)
{
	add_record(&self->f.data, PERF_RECORD_COMM, 0, "12345678no end..", 16);
	read_file(self);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(0, self->n.nr_others);
}

/* perf writes sums at the end of what the rings told before. */
TEST_F(reader, losses_are_counted_once)
{
	struct image *im = &self->f.data;

	add_lost(im, PERF_RECORD_LOST, 0, 100, 10);
	add_lost(im, PERF_RECORD_LOST_SAMPLES, 0, 200, 3);		/* by the kernel */
	add_lost(im, PERF_RECORD_LOST_SAMPLES, 1 << 15, 300, 500);	/* by a BPF filter */
	add_lost(im, PERF_RECORD_LOST_SAMPLES, 0, 0, 6);
	add_lost(im, PERF_RECORD_LOST_SAMPLES, 0, 0, 6);
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(10 + 3 + 2, self->n.nr_lost);
	EXPECT_STREQ("lost 100 cpu-clock 10\n"
		     "lost 200 cpu-clock 3\n"
		     "lost 300 cpu-clock 2\n", self->n.text);
}

/* Everything behind stays compressed; @cut bytes of the plain data per record. */
static void add_compressed(struct image *im, const struct image *plain, size_t cut, __u32 type)
{
	ZSTD_CStream *zstd = ZSTD_createCStream();
	static const char zeros[8];
	static char packed[32768];
	size_t pos, nr;

	ZSTD_initCStream(zstd, 1);
	for (pos = 0; pos < plain->nr; pos += nr) {
		ZSTD_inBuffer in = { plain->bytes + pos, 0, 0 };
		ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
		size_t start = im->nr;

		nr = plain->nr - pos < cut ? plain->nr - pos : cut;
		in.size = nr;
		if (ZSTD_isError(ZSTD_compressStream(zstd, &out, &in)) ||
		    ZSTD_flushStream(zstd, &out) || in.pos != nr)
			abort();
		image__begin(im, type, 0);
		if (type == 83)
			image__u64(im, out.pos);
		image__add(im, packed, out.pos);
		if (type == 83)
			image__add(im, zeros, -out.pos & 7);
		image__end(im, start);
	}
	ZSTD_freeCStream(zstd);
}

FIXTURE(compressed) {
	struct image_file f;
	struct notes n;
	struct image plain;
};

FIXTURE_SETUP(compressed)
{
	int i;

	image_file__init(&self->f);
	for (i = 0; i < 50000; i++)
		image__sample(&self->plain, 1, 1000 + i, i * 7919);
}

FIXTURE_TEARDOWN(compressed)
{
	image__free(&self->plain);
	image_file__exit(&self->f);
}

FIXTURE_VARIANT(compressed) {
	__u32 type;
	size_t cut;
};

FIXTURE_VARIANT_ADD(compressed, odd_cuts) { .type = 81, .cut = 1001 };
FIXTURE_VARIANT_ADD(compressed, with_size) { .type = 83, .cut = 30001 };

TEST_F(compressed, records_arrive_though_they_cross_the_cuts)
{
	struct image im;
	char path[64];
	int fd;

	add_compressed(&self->f.data, &self->plain, variant->cut, variant->type);
	image__sample(&self->f.data, 1, 999, 5);	/* unaligned behind the first form */
	image__comm(&self->f.data, 998, 0, "unaligned");
	image__round(&self->f.data);
	im = image_file__make(&self->f);
	fd = image__publish(im.bytes, im.nr, path);
	read_notes(path, &self->n);
	close(fd);
	image__free(&im);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(50001, self->n.nr_samples);
	EXPECT_EQ(0, self->n.nr_backwards);
	EXPECT_EQ(5, self->n.ips[0]);
	EXPECT_EQ(7919, self->n.ips[2]);
	EXPECT_STREQ("comm 998 100/101 unaligned\n", self->n.text);
}

TEST_F(reader, damaged_compression_is_one_line)
{
	add_record(&self->f.data, 81, 0, "this is no zstd frame at all", 28);
	read_file(self);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_lines);
}

/* 160 MB in one round: perf would hold it all. */
TEST_F(reader, memory_is_bounded_without_rounds)
{
	const size_t nr_samples = 4000000;
	struct rusage before, after;
	size_t i;

	image__sample(&self->f.data, 1, 1000, 0);
	for (i = 1; i < nr_samples; i++)
		image__sample(&self->f.data, 1, 1000 + i, i);
	getrusage(RUSAGE_SELF, &before);
	/* What the test itself holds: the file, once more, and in memory as a file. */
	read_file(self);
	getrusage(RUSAGE_SELF, &after);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(nr_samples, self->n.nr_samples);
	EXPECT_EQ(0, self->n.nr_backwards);
	EXPECT_GT(2 * (long)(self->f.data.nr_max >> 10) + (80L << 10),
		  after.ru_maxrss - before.ru_maxrss);
}

TEST_F(reader, records_out_of_order_are_said)
{
	struct image *im = &self->f.data;

	image__sample(im, 1, 100, 1);
	image__round(im);
	image__sample(im, 1, 300, 3);
	image__round(im);
	image__sample(im, 1, 400, 4);
	image__round(im);
	image__sample(im, 1, 50, 2);
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(4, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
	EXPECT_NE(NULL, strstr(self->n.stderr_text, "1 records are out of order"));
}

TEST_F(reader, headers_say_who_recorded)
{
	const struct pdinfo *info;
	struct pdreader *r;
	struct image *im;
	int fd;

	image_file__string(&self->f, 3, "host");
	image_file__string(&self->f, 4, "6.1.0");
	image_file__string(&self->f, 5, "bad\033[31m\n");
	image_file__string(&self->f, 6, "x86_64");
	im = image_file__feature(&self->f, 7);
	image__u32(im, 8);
	image__u32(im, 6);
	image__u64(image_file__feature(&self->f, 10), 1234);
	im = image_file__feature(&self->f, 11);
	image__u32(im, 2);
	image__string(im, "perf");
	image__string(im, "record");
	im = image_file__feature(&self->f, 21);
	image__u64(im, 11);
	image__u64(im, 22);
	im = image_file__feature(&self->f, 29);
	image__u32(im, 1);
	image__u32(im, 4);
	image__u64(im, 0);
	image__u64(im, 0);
	r = open_file(self, &fd);
	info = pdreader__info(r);
	EXPECT_STREQ("host", info->hostname);
	EXPECT_STREQ("6.1.0", info->osrelease);
	EXPECT_STREQ("bad?[31m?", info->version);
	EXPECT_STREQ("x86_64", info->arch);
	EXPECT_EQ(NULL, info->cpudesc);
	EXPECT_EQ(8, info->nr_cpus_avail);
	EXPECT_EQ(6, info->nr_cpus_online);
	EXPECT_EQ(1234, info->total_mem_kb);
	ASSERT_NE(NULL, info->cmdline);
	EXPECT_STREQ("perf", info->cmdline[0]);
	EXPECT_STREQ("record", info->cmdline[1]);
	EXPECT_EQ(NULL, info->cmdline[2]);
	EXPECT_EQ(11, info->first_time_ns);
	EXPECT_EQ(22, info->last_time_ns);
	EXPECT_EQ(4, info->clockid);
	pdreader__close(r);
	close(fd);
}

TEST_F(reader, damaged_features_do_not_stop_it)
{
	image__u32(image_file__feature(&self->f, 3), 1000);	/* longer than the section */
	image__u32(image_file__feature(&self->f, 11), -1);	/* that many words */
	image_file__string(&self->f, 4, "6.1.0");
	image__sample(&self->f.data, 1, 100, 1);
	read_file(self);
	EXPECT_EQ(0, self->n.open_err);
	EXPECT_EQ(1, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
	EXPECT_NE(NULL, strstr(self->n.stderr_text, "2 of its header sections are damaged"));
}

static void add_event_desc(struct image_file *f, const char *const *names)
{
	struct image *im = image_file__feature(f, 12);
	size_t i;

	image__u32(im, f->nr_events);
	image__u32(im, 128);
	for (i = 0; i < f->nr_events; i++) {
		image__add(im, &f->events[i].attr, 128);
		image__u32(im, f->events[i].nr_ids);
		image__string(im, names[i]);
		image__add(im, f->events[i].ids, f->events[i].nr_ids * 8);
	}
}

TEST_F(reader, names_come_from_the_file)
{
	static const char *const names[] = { "my clock", "other\tname" };
	struct pdreader *r;
	int fd;

	image__sample(&self->f.data, 1, 100, 1);
	image_file__add_event(&self->f, PERF_TYPE_RAW, 0x1a8, 2);
	add_event_desc(&self->f, names);
	r = open_file(self, &fd);
	ASSERT_EQ(2, pdreader__nr_events(r));
	EXPECT_STREQ("my clock", pdreader__event(r, 0)->name);
	EXPECT_STREQ("other?name", pdreader__event(r, 1)->name);
	EXPECT_EQ(NULL, pdreader__event(r, 2));
	pdreader__close(r);
	close(fd);
}

TEST_F(reader, names_are_made_where_the_file_has_none)
{
	static const char *const want[] = { "cpu-clock", "cycles:u", "tracepoint:9", "r1a8:k",
					    "event:40:7", "churn:free" };
	struct pdreader *r;
	size_t i;
	int fd;

	image__sample(&self->f.data, 1, 100, 1);
	image_file__add_event(&self->f, PERF_TYPE_HARDWARE, 1ULL << 32, 2)->attr.exclude_kernel = 1;
	image_file__add_event(&self->f, PERF_TYPE_TRACEPOINT, 9, 3);
	image_file__add_event(&self->f, PERF_TYPE_RAW, 0x1a8, 4)->attr.exclude_user = 1;
	image_file__add_event(&self->f, 40, 7, 5);
	image_file__add_event(&self->f, PERF_TYPE_TRACEPOINT, 65002, 6);
	r = open_file(self, &fd);
	ASSERT_EQ(6, pdreader__nr_events(r));
	for (i = 0; i < 6; i++)
		EXPECT_STREQ(want[i], pdreader__event(r, i)->name);
	/* Our own events are known without the file's help. */
	EXPECT_NE(NULL, pdevent__field(pdreader__event(r, 5), "lifetime_ns"));
	pdreader__close(r);
	close(fd);
}

TEST_HARNESS_MAIN
