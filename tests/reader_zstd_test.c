// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compressed records (perf record -z) that are cut, damaged, or hold more than memory does.
 */
#include <errno.h>
#include <sys/resource.h>
#include <zstd.h>

#include "perfdata_image.h"
#include "perfdata_read.h"

#include <kselftest_harness.h>

#define COMPRESSED	81
#define ROOM_BYTES	60000		/* of a record */

FIXTURE(zstd) {
	struct image_file f;
	struct image plain;
	struct notes n;
	ZSTD_CCtx *zstd;
};

FIXTURE_SETUP(zstd)
{
	image_file__init(&self->f);
	self->zstd = ZSTD_createCCtx();
	ASSERT_NE(NULL, self->zstd);
}

FIXTURE_TEARDOWN(zstd)
{
	ZSTD_freeCCtx(self->zstd);
	image__free(&self->plain);
	image_file__exit(&self->f);
}

/* What comes next in the stream, in as many records as it takes. */
static void add(FIXTURE_DATA(zstd) *self, const void *data, size_t bytes, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { data, bytes, 0 };
	static char packed[ROOM_BYTES];
	size_t left;

	do {
		ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
		size_t start = self->f.data.nr;

		left = ZSTD_compressStream2(self->zstd, &out, &in, how);
		if (ZSTD_isError(left))
			abort();
		if (!out.pos)
			continue;
		image__begin(&self->f.data, COMPRESSED, 0);
		image__add(&self->f.data, packed, out.pos);
		image__end(&self->f.data, start);
	} while (how == ZSTD_e_continue ? in.pos < in.size : left);
}

static void read_image(FIXTURE_DATA(zstd) *self, const struct image *im)
{
	char path[64];
	int fd = image__publish(im->bytes, im->nr, path);

	read_notes(path, &self->n);
	close(fd);
}

static void read_file(FIXTURE_DATA(zstd) *self)
{
	struct image im = image_file__make(&self->f);

	read_image(self, &im);
	image__free(&im);
}

/* Three samples a record, whole ones. */
static size_t add_samples(FIXTURE_DATA(zstd) *self, int nr_records)
{
	int i, k;

	for (i = 0; i < nr_records; i++) {
		self->plain.nr = 0;
		for (k = 0; k < 3; k++)
			image__sample(&self->plain, 1, 100 + 3 * i + k, 3 * i + k);
		add(self, self->plain.bytes, self->plain.nr, ZSTD_e_flush);
	}
	return 3 * nr_records;
}

TEST_F(zstd, every_cut_delivers_what_is_whole)
{
	struct image im;
	size_t cut;

	add_samples(self, 20);
	im = image_file__make(&self->f);
	for (cut = im.marks[0]; cut < im.nr; cut++) {
		struct image part = {};
		size_t i, nr_samples = 0;

		image__add(&part, im.bytes, cut);
		read_image(self, &part);
		image__free(&part);
		for (i = 0; i + 1 < im.nr_marks && im.marks[i + 1] <= cut; i++)
			nr_samples += 3;
		EXPECT_EQ(0, self->n.read_err);
		EXPECT_EQ(nr_samples, self->n.nr_samples);
		EXPECT_TRUE(self->n.truncated);
		EXPECT_EQ(1, self->n.nr_lines);
	}
	image__free(&im);
}

/* Where a byte is wrong the stream ends, or, as zstd has no checksum here, a value is another one. */
TEST_F(zstd, damage_is_one_line_after_what_came_before)
{
	struct image im;
	size_t at;

	add_samples(self, 3);
	im = image_file__make(&self->f);
	for (at = im.marks[1] + 8; at < im.marks[2]; at++) {
		im.bytes[at] ^= 0xff;
		read_image(self, &im);
		im.bytes[at] ^= 0xff;
		EXPECT_LE(3, self->n.nr_samples);
		EXPECT_EQ(0, (int)self->n.ips[0]);
		EXPECT_GE(1, self->n.nr_lines);
		EXPECT_FALSE(self->n.truncated);
	}
	image__free(&im);
}

TEST_F(zstd, damage_in_a_file_that_was_not_finished_is_its_end)
{
	size_t nr = add_samples(self, 3), start = self->f.data.nr;

	image__begin(&self->f.data, COMPRESSED, 0);
	image__add(&self->f.data, "\0\0\0\0\xff\xff\xff\xff", 8);
	image__end(&self->f.data, start);
	read_file(self);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_lines);

	self->f.data_bytes = 0;
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_TRUE(self->n.truncated);
	EXPECT_EQ(nr, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
}

static void add_part_of_a_sample(FIXTURE_DATA(zstd) *self)
{
	self->plain.nr = 0;
	image__sample(&self->plain, 1, 900, 9);
	add(self, self->plain.bytes, self->plain.nr - 5, ZSTD_e_flush);
}

TEST_F(zstd, a_stream_that_ends_within_a_record_is_damage)
{
	add_samples(self, 3);
	add_part_of_a_sample(self);
	read_file(self);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(9, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);
}

/* A recorder that met a full disk cuts its stream where a compressed record ends. */
TEST_F(zstd, but_not_in_a_recording_that_was_cut_short)
{
	image_file__string(&self->f, 5, "perf-churn 0.1 (unfinished) churn-abi/1");
	add_samples(self, 3);
	add_part_of_a_sample(self);
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(9, self->n.nr_samples);
	EXPECT_EQ(1, self->n.nr_lines);		/* that it was cut short */
}

TEST_F(zstd, compressed_records_hold_none)
{
	struct image inner = {};

	image__begin(&inner, COMPRESSED, 0);
	image__end(&inner, 0);
	add(self, inner.bytes, inner.nr, ZSTD_e_flush);
	image__free(&inner);
	read_file(self);
	EXPECT_EQ(-EINVAL, self->n.read_err);
	EXPECT_EQ(1, self->n.nr_lines);
}

TEST_F(zstd, records_without_a_byte_in_them_do_no_harm)
{
	size_t i, start;

	for (i = 0; i < 3; i++) {
		start = self->f.data.nr;
		image__begin(&self->f.data, COMPRESSED, 0);
		image__end(&self->f.data, start);
	}
	add_samples(self, 1);
	read_file(self);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_EQ(3, self->n.nr_samples);
}

FIXTURE(bomb) {
	FIXTURE_DATA(zstd) z;
};

/* What a few KB become: rounds, samples that have to be put in order, nothing at all. */
FIXTURE_VARIANT(bomb) {
	enum { ROUNDS, SAMPLES, ZEROS } what;
	int nr_mb;
	int err;
};
FIXTURE_VARIANT_ADD(bomb, rounds) { .what = ROUNDS, .nr_mb = 1024 };
FIXTURE_VARIANT_ADD(bomb, samples) { .what = SAMPLES, .nr_mb = 300 };
FIXTURE_VARIANT_ADD(bomb, zeros) { .what = ZEROS, .nr_mb = 1024, .err = -EINVAL };

FIXTURE_SETUP(bomb)
{
	image_file__init(&self->z.f);
	self->z.zstd = ZSTD_createCCtx();
	ASSERT_NE(NULL, self->z.zstd);
}

FIXTURE_TEARDOWN(bomb)
{
	ZSTD_freeCCtx(self->z.zstd);
	image__free(&self->z.plain);
	image_file__exit(&self->z.f);
}

static void fill_mb(struct image *plain, int what)
{
	static const char zeros[4096];

	plain->nr = 0;
	while (plain->nr + 4096 < 1 << 20) {
		if (what == ROUNDS)
			image__round(plain);
		else if (what == SAMPLES)
			image__sample(plain, 1, 100, 7);
		else
			image__add(plain, zeros, sizeof(zeros));
	}
}

TEST_F_TIMEOUT(bomb, memory_is_bounded, 120)
{
	struct rusage before, after;
	int i;

	fill_mb(&self->z.plain, variant->what);
	for (i = 0; i < variant->nr_mb; i++)
		add(&self->z, self->z.plain.bytes, self->z.plain.nr,
		    i + 1 < variant->nr_mb ? ZSTD_e_continue : ZSTD_e_flush);
	ASSERT_GT(1 << 20, self->z.f.data.nr);
	getrusage(RUSAGE_SELF, &before);
	read_file(&self->z);
	getrusage(RUSAGE_SELF, &after);
	EXPECT_EQ(variant->err, self->z.n.read_err);
	EXPECT_GT(90L << 10, after.ru_maxrss - before.ru_maxrss);
}

TEST_HARNESS_MAIN
