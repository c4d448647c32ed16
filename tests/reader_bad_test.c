// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the reader refuses, in one line each, and what it makes of files that are cut.
 */
#include <errno.h>
#include <sys/stat.h>

#include "perfdata_image.h"
#include "perfdata_read.h"

#include <kselftest_harness.h>

#define ATTRS_OFFSET	112		/* header and one id */
#define DATA_OFFSET	(ATTRS_OFFSET + 144)

FIXTURE(bad) {
	struct image_file f;
	struct notes n;
	char dir[64];
	char path[80];
};

FIXTURE_SETUP(bad)
{
	image_file__init(&self->f);
	image__sample(&self->f.data, 1, 100, 1);
	strcpy(self->dir, "/tmp/reader_bad_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/file", self->dir);
}

FIXTURE_TEARDOWN(bad)
{
	image_file__exit(&self->f);
	unlink(self->path);
	rmdir(self->dir);
}

static void read_image(FIXTURE_DATA(bad) *self, struct image *im)
{
	char path[64];
	int fd = image__publish(im->bytes, im->nr, path);

	read_notes(path, &self->n);
	close(fd);
	image__free(im);
}

static void put_u64(struct image *im, size_t pos, __u64 value)
{
	memcpy(im->bytes + pos, &value, sizeof(value));
}

/* Refused with one line that says @why. */
#define EXPECT_REFUSED(err, why) do {						\
	EXPECT_EQ(err, self->n.open_err);					\
	EXPECT_EQ(1, self->n.nr_lines);						\
	EXPECT_NE(NULL, strstr(self->n.stderr_text, why)) {			\
		TH_LOG("it said: %s", self->n.stderr_text);			\
	}									\
} while (0)

FIXTURE(header) {
	struct image_file f;
	struct notes n;
};

FIXTURE_SETUP(header)
{
	image_file__init(&self->f);
	image__sample(&self->f.data, 1, 100, 1);
}

FIXTURE_TEARDOWN(header)
{
	image_file__exit(&self->f);
}

/* One place of the header changed. */
FIXTURE_VARIANT(header) {
	size_t pos;
	__u64 value;
	const char *why;
};

#define HEADER(name, ...) FIXTURE_VARIANT_ADD(header, name) { __VA_ARGS__ }

HEADER(no_magic, .pos = 0, .value = 0x464c457f, .why = "not a perf.data file");
HEADER(foreign_endian, .pos = 0, .value = 0x50455246494c4532, .why = "other byte order");
HEADER(old_magic, .pos = 0, .value = 0x454c494646524550, .why = "before Linux 3.7");
HEADER(pipe_mode, .pos = 8, .value = 16, .why = "recorded into a pipe: record with -o FILE");
HEADER(future_header, .pos = 8, .value = 112, .why = "header of an unknown version");
HEADER(no_attr_bytes, .pos = 16, .value = 0, .why = "size of its event attributes");
HEADER(odd_attr_bytes, .pos = 16, .value = 136, .why = "size of its event attributes");
HEADER(huge_attr_bytes, .pos = 16, .value = 1 << 20, .why = "size of its event attributes");
HEADER(attrs_behind_the_end, .pos = 24, .value = ~0ULL, .why = "ends within its header");
HEADER(no_events, .pos = 32, .value = 0, .why = "no events");
HEADER(many_events, .pos = 32, .value = 144ULL << 50, .why = "too many events");
HEADER(data_in_the_header, .pos = 40, .value = 8, .why = "place of its data");
HEADER(data_that_wrap, .pos = 48, .value = ~0ULL, .why = "place of its data");
HEADER(attr_too_small, .pos = ATTRS_OFFSET + 4, .value = 8, .why = "event attribute");
HEADER(attr_too_large, .pos = ATTRS_OFFSET + 4, .value = 136, .why = "event attribute");
HEADER(unknown_sample_type, .pos = ATTRS_OFFSET + 24, .value = 1 << 25, .why = "not known here");
HEADER(odd_ids, .pos = ATTRS_OFFSET + 136, .value = 7, .why = "list of sample ids");
HEADER(many_ids, .pos = ATTRS_OFFSET + 136, .value = 1ULL << 60, .why = "ends within its header");

TEST_F(header, is_refused_in_one_line)
{
	struct image im = image_file__make(&self->f);
	char path[64];
	int fd;

	put_u64(&im, variant->pos, variant->value);
	fd = image__publish(im.bytes, im.nr, path);
	read_notes(path, &self->n);
	close(fd);
	image__free(&im);
	EXPECT_REFUSED(-EINVAL, variant->why);
}

TEST_F(bad, an_empty_file_is_refused)
{
	struct image im = {};

	read_image(self, &im);
	EXPECT_REFUSED(-EINVAL, "the file is empty");
}

TEST_F(bad, a_short_text_is_refused)
{
	struct image im = {};

	image__add(&im, "hi\n", 3);
	read_image(self, &im);
	EXPECT_REFUSED(-EINVAL, "not a perf.data file");
}

TEST_F(bad, a_missing_file_is_refused)
{
	read_notes(self->path, &self->n);
	EXPECT_REFUSED(-ENOENT, "No such file or directory (try 'perf churn record' first)");
}

TEST_F(bad, a_folder_is_refused)
{
	read_notes(self->dir, &self->n);
	EXPECT_REFUSED(-EISDIR, "is a folder");
}

TEST_F(bad, a_fifo_is_refused_and_not_waited_for)
{
	ASSERT_EQ(0, mkfifo(self->path, 0600));
	read_notes(self->path, &self->n);
	EXPECT_REFUSED(-EINVAL, "is no regular file");
}

TEST_F(bad, an_unreadable_file_is_refused)
{
	int fd = open(self->path, O_CREAT | O_WRONLY, 0000);
	bool is_root = geteuid() == 0;

	ASSERT_LE(0, fd);
	close(fd);
	if (is_root) {
		ASSERT_EQ(0, chmod(self->dir, 0755));
		ASSERT_EQ(0, seteuid(65534));
	}
	read_notes(self->path, &self->n);
	if (is_root)
		ASSERT_EQ(0, seteuid(0));
	EXPECT_REFUSED(-EACCES, "Permission denied");
}

/* A perf with a longer attr: fine while what we do not know is not used. */
TEST_F(bad, a_longer_attr_is_read_as_long_as_its_rest_is_zero)
{
	struct image im;

	self->f.attr_entry_bytes = 200 + 16;
	self->f.events[0].attr.size = 200;
	im = image_file__make(&self->f);
	read_image(self, &im);
	EXPECT_EQ(0, self->n.open_err);
	EXPECT_EQ(1, self->n.nr_samples);

	im = image_file__make(&self->f);
	put_u64(&im, ATTRS_OFFSET + 144, 1);
	read_image(self, &im);
	EXPECT_REFUSED(-EINVAL, "recorded by a newer perf");
}

TEST_F(bad, a_first_edition_attr_is_read)
{
	struct image im;

	self->f.attr_entry_bytes = 64 + 16;
	self->f.events[0].attr.size = 0;
	im = image_file__make(&self->f);
	read_image(self, &im);
	EXPECT_EQ(0, self->n.open_err);
	EXPECT_EQ(1, self->n.nr_samples);
}

TEST_F(bad, samples_without_a_way_to_their_event_are_refused)
{
	struct image im;

	image_file__add_event(&self->f, PERF_TYPE_SOFTWARE, 0, 2)->attr.sample_type =
		PERF_SAMPLE_IP | PERF_SAMPLE_ID;
	im = image_file__make(&self->f);
	read_image(self, &im);
	EXPECT_REFUSED(-EINVAL, "which event they belong to");
}

TEST_F(bad, sample_id_all_must_be_the_same)
{
	struct image im;

	image_file__add_event(&self->f, PERF_TYPE_SOFTWARE, 0, 2)->attr.sample_id_all = 0;
	im = image_file__make(&self->f);
	read_image(self, &im);
	EXPECT_REFUSED(-EINVAL, "sample_id_all differs");
}

/* The recorder died: stock perf leaves a data size of 0. */
TEST_F(bad, a_data_size_of_0_means_up_to_the_end)
{
	struct image im;

	image__sample(&self->f.data, 1, 200, 2);
	self->f.data_bytes = 0;
	self->f.feature_bits = 1 << 3 | 1 << 12;
	im = image_file__make(&self->f);
	im.nr = im.marks[2] - 5;		/* no features, and the last record is cut */
	read_image(self, &im);
	EXPECT_EQ(0, self->n.open_err);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_TRUE(self->n.truncated);
	EXPECT_EQ(1, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
	EXPECT_NE(NULL, strstr(self->n.stderr_text, "was not finished"));
}

TEST_F(bad, zeros_at_the_end_of_an_unfinished_file_are_its_end)
{
	static const char zeros[100];
	struct image im;

	image__add(&self->f.data, zeros, sizeof(zeros));
	self->f.data_bytes = 0;
	im = image_file__make(&self->f);
	read_image(self, &im);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
}

/* Our own recorder died between two checkpoints: the header is right about what it covers. */
TEST_F(bad, what_the_header_does_not_cover_is_not_read)
{
	struct image im;

	self->f.data_bytes = self->f.data.nr;
	image__sample(&self->f.data, 1, 200, 2);
	im = image_file__make(&self->f);
	read_image(self, &im);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_samples);
	EXPECT_EQ(0, self->n.nr_lines);
}

TEST_F(bad, every_cut_delivers_what_is_whole)
{
	struct image im;
	size_t cut;

	for (cut = 1; cut < 20; cut++) {
		image__sample(&self->f.data, 1, 100 + cut, cut);
		if (cut % 4 == 0)
			image__round(&self->f.data);
	}
	image_file__string(&self->f, 3, "host");
	im = image_file__make(&self->f);
	for (cut = 0; cut < im.nr; cut++) {
		struct image part = {};
		size_t i, nr_samples = 0;

		image__add(&part, im.bytes, cut);
		read_image(self, &part);
		for (i = 0; i + 1 < im.nr_marks && im.marks[i + 1] <= cut; i++)
			nr_samples += im.bytes[im.marks[i]] == PERF_RECORD_SAMPLE;
		if (cut < DATA_OFFSET) {
			EXPECT_EQ(-EINVAL, self->n.open_err);
		} else {
			EXPECT_EQ(0, self->n.open_err);
			EXPECT_EQ(0, self->n.read_err);
			EXPECT_EQ(nr_samples, self->n.nr_samples);
			EXPECT_EQ(true, self->n.truncated);
		}
		EXPECT_EQ(1, self->n.nr_lines) {
			TH_LOG("cut at %zu: %s", cut, self->n.stderr_text);
		}
	}
	image__free(&im);
}

/* A size that is wrong in a file that is whole. */
TEST_F(bad, garbage_ends_the_read_after_what_came_before)
{
	struct image im;

	image__sample(&self->f.data, 1, 200, 2);
	image__sample(&self->f.data, 1, 300, 3);
	im = image_file__make(&self->f);
	im.bytes[im.marks[2] + 6] = 4;
	read_image(self, &im);
	EXPECT_EQ(0, self->n.open_err);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(2, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);

	im = image_file__make(&self->f);
	im.bytes[im.marks[2] + 6] = 200;
	read_image(self, &im);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(2, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
	EXPECT_FALSE(self->n.truncated);
}

TEST_HARNESS_MAIN
