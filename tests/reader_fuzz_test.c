// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files with bits flipped, bytes replaced and ends cut, the same ones in every run. The point is
 * that nothing crashes, hangs or is read out of bounds: run it under sanitizers (make check SAN=1).
 */
#define LIBFUZZER
#include "fuzz_reader.c"

#include <zstd.h>

#include "perfdata_image.h"

#include <kselftest_harness.h>

#define NR_ROUNDS 1000

static void fuzz(const struct image *good, __u32 seed)
{
	int i;

	for (i = 0; i < NR_ROUNDS; i++) {
		struct image im = {};

		image__add(&im, good->bytes, good->nr);
		image__damage(&im, &seed);
		LLVMFuzzerTestOneInput((void *)im.bytes, im.nr);
		image__free(&im);
	}
}

static void add_features_of_all_kinds(struct image_file *f)
{
	struct image *im = image_file__feature(f, 11);

	image__u32(im, 2);
	image__string(im, "perf");
	image__string(im, "record");
	image_file__string(f, 3, "host");
	image__u64(image_file__feature(f, 7), 8ULL << 32 | 8);
	image__tracing(image_file__feature(f, 1), image_format);
	im = image_file__feature(f, 2);
	image__begin(im, 67, 0);
	image__u32(im, 1);
	for (int i = 0; i < 3; i++)
		image__u64(im, 0x1234567);
	image__padded(im, "/bin/a", 64);
	image__end(im, 0);
	im = image_file__feature(f, 12);
	image__u32(im, 1);
	image__u32(im, 128);
	image__add(im, &f->events[0].attr, 128);
	image__u32(im, 1);
	image__string(im, "clock");
	image__u64(im, 1);
}

static void add_records_of_all_kinds(struct image *im)
{
	struct image raw = {};
	size_t start;
	int i;

	image__tracing_raw(&raw, 4096);
	for (i = 0; i < 6; i++) {
		image__sample(im, 1, 100 + i, i);
		image__raw_sample(im, 2, 101 + i, raw.bytes, raw.nr);
		image__comm(im, 0, 0, "comm");
		start = im->nr;
		image__begin(im, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID * (i & 1));
		image__u64(im, 100);
		for (int word = 0; word < 7; word++)
			image__u64(im, word ? 0x10 : 0x400000);
		image__padded(im, "/bin/a", 8);
		image__trailer(im, 1, 105);
		image__end(im, start);
		if (i % 2)
			image__round(im);
	}
	image__free(&raw);
}

TEST(damaged_files_of_all_records_are_survived)
{
	struct image_file f;
	struct image im;

	image_file__init(&f);
	image_file__add_event(&f, PERF_TYPE_TRACEPOINT, 700, 2)->attr.sample_type |=
		PERF_SAMPLE_RAW;
	add_features_of_all_kinds(&f);
	add_records_of_all_kinds(&f.data);
	im = image_file__make(&f);
	fuzz(&im, 1);
	image__free(&im);
	image_file__exit(&f);
}

TEST(damaged_samples_of_all_fields_are_survived)
{
	struct image_event *e;
	struct image_file f;
	struct image im;
	int i, word;

	image_file__init(&f);
	e = &f.events[0];
	e->attr.sample_type = PERF_SAMPLE_MAX - 1;
	e->attr.read_format = PERF_FORMAT_MAX - 1;
	e->attr.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
	e->attr.sample_regs_user = 0xff;
	e->attr.sample_regs_intr = 0xf;
	for (i = 0; i < 20; i++) {
		size_t start = f.data.nr;

		/* All counts are 1 or 2: most of them fit, whatever they count. */
		image__begin(&f.data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		image__u64(&f.data, 1);
		for (word = 0; word < 80; word++)
			image__u64(&f.data, 1 + word % 2);
		image__end(&f.data, start);
	}
	im = image_file__make(&f);
	fuzz(&im, 2);
	image__free(&im);
	image_file__exit(&f);
}

TEST(damaged_compressed_files_are_survived)
{
	struct image plain = {}, im;
	struct image_file f;
	char packed[4096];
	size_t start;
	int i;

	for (i = 0; i < 200; i++)
		image__sample(&plain, 1, 100 + i, i * 7919);
	image_file__init(&f);
	start = f.data.nr;
	image__begin(&f.data, 81, 0);
	image__add(&f.data, packed,
		   ZSTD_compress(packed, sizeof(packed), plain.bytes, plain.nr, 1));
	image__end(&f.data, start);
	image__sample(&f.data, 1, 99, 5);
	im = image_file__make(&f);
	fuzz(&im, 3);
	image__free(&im);
	image__free(&plain);
	image_file__exit(&f);
}

TEST_HARNESS_MAIN
