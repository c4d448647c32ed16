// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "perfdata_image.h"
#include "perfdata/reader.h"
#include "perfdata/sample.h"

#include <kselftest_harness.h>

#define ALL_BITS	(PERF_SAMPLE_MAX - 1)
#define BRANCH_COUNTERS	(1ULL << 19)

/* A sample with every field there is, as the kernel orders them. */
FIXTURE(full) {
	struct perf_event_attr attr;
	struct sample_layout layout;
	struct image im;
	struct pdsample s;
	size_t nr_ips_pos, raw_size_pos, branch_nr_pos, stack_size_pos, dyn_size_pos, read_nr_pos;
};

static void add_read_group(struct image *im)
{
	int i;

	image__u64(im, 2);			/* nr */
	image__u64(im, 11);			/* enabled */
	image__u64(im, 12);			/* running */
	for (i = 0; i < 2; i++) {
		image__u64(im, 20);		/* value */
		image__u64(im, 21);		/* id */
		image__u64(im, 22);		/* lost */
	}
}

static void add_head(struct image *im)
{
	image__u64(im, 1);			/* identifier */
	image__u64(im, 0x401000);		/* ip */
	image__u32(im, 10);			/* pid */
	image__u32(im, 11);			/* tid */
	image__u64(im, 123456789);		/* time */
	image__u64(im, 0xadd7);			/* addr */
	image__u64(im, 1);			/* id */
	image__u64(im, 2);			/* stream */
	image__u32(im, 3);			/* cpu */
	image__u32(im, 0);
	image__u64(im, 4000);			/* period */
}

static void add_branches(struct image *im)
{
	int i;

	image__u64(im, 2);
	image__u64(im, -1);			/* hw_idx */
	for (i = 0; i < 2 * 3 + 2; i++)
		image__u64(im, i);
}

static void add_tail(struct image *im)
{
	image__u64(im, 5);			/* weight */
	image__u64(im, 6);			/* data_src */
	image__u64(im, 7);			/* transaction */
	image__u64(im, PERF_SAMPLE_REGS_ABI_64);
	image__u64(im, 0x1111);			/* one register */
	image__u64(im, 8);			/* phys_addr */
	image__u64(im, 9);			/* cgroup */
	image__u64(im, 4096);			/* data page size */
	image__u64(im, 4096);			/* code page size */
	image__u64(im, 16);			/* aux size and data */
	image__u64(im, 0);
	image__u64(im, 0);
}

FIXTURE_SETUP(full)
{
	struct image *im = &self->im;

	self->attr.sample_type = ALL_BITS;
	self->attr.read_format = PERF_FORMAT_MAX - 1;
	self->attr.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX | BRANCH_COUNTERS;
	self->attr.sample_regs_user = 0x7;
	self->attr.sample_regs_intr = 0x100;
	ASSERT_EQ(0, sample_layout__init(&self->layout, &self->attr));

	image__begin(im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	add_head(im);
	self->read_nr_pos = im->nr;
	add_read_group(im);
	self->nr_ips_pos = im->nr;
	image__u64(im, 3);
	image__u64(im, PERF_CONTEXT_USER);
	image__u64(im, 0x401000);
	image__u64(im, 0x402000);
	self->raw_size_pos = im->nr;
	image__u32(im, 12);
	image__add(im, "raw data....", 12);
	self->branch_nr_pos = im->nr;
	add_branches(im);
	image__u64(im, PERF_SAMPLE_REGS_ABI_64);
	image__u64(im, 0xa);
	image__u64(im, 0xb);
	image__u64(im, 0xc);
	self->stack_size_pos = im->nr;
	image__u64(im, 16);
	image__add(im, "0123456789abcdef", 16);
	self->dyn_size_pos = im->nr;
	image__u64(im, 10);
	add_tail(im);
	image__end(im, 0);
}

FIXTURE_TEARDOWN(full)
{
	image__free(&self->im);
}

static int decode(FIXTURE_DATA(full) *self)
{
	return sample__decode(&self->layout, (void *)self->im.bytes, &self->s);
}

static void put_u64(struct image *im, size_t pos, __u64 value)
{
	memcpy(im->bytes + pos, &value, sizeof(value));
}

TEST_F(full, every_field_is_found)
{
	const struct pdsample *s = &self->s;

	ASSERT_EQ(0, decode(self));
	EXPECT_EQ(PERF_RECORD_MISC_KERNEL, s->cpumode);
	EXPECT_EQ(0x401000, s->ip);
	EXPECT_EQ(10, s->pid);
	EXPECT_EQ(11, s->tid);
	EXPECT_EQ(123456789, s->time);
	EXPECT_EQ(0xadd7, s->addr);
	EXPECT_EQ(3, s->cpu);
	EXPECT_EQ(4000, s->period);
	ASSERT_EQ(3, s->nr_ips);
	EXPECT_EQ(0x402000, s->ips[2]);
	ASSERT_EQ(12, s->raw_bytes);
	EXPECT_EQ(0, memcmp("raw data....", s->raw, 12));
	EXPECT_EQ(PERF_SAMPLE_REGS_ABI_64, s->regs_abi);
	EXPECT_EQ(7, s->regs_mask);
	ASSERT_NE(NULL, s->regs);
	EXPECT_EQ(0xc, s->regs[2]);
	ASSERT_EQ(10, s->stack_bytes);
	EXPECT_EQ(0, memcmp("0123456789", s->stack, 10));
}

TEST_F(full, any_cut_is_damage)
{
	__u16 bytes;

	for (bytes = 8; bytes < self->im.nr; bytes++) {
		/* A copy of just that size, so that a sanitizer sees a read behind it. */
		struct image cut = {};

		image__add(&cut, self->im.bytes, bytes);
		cut.bytes = realloc(cut.bytes, bytes);
		memcpy(cut.bytes + 6, &bytes, sizeof(bytes));
		EXPECT_EQ(-EINVAL, sample__decode(&self->layout, (void *)cut.bytes, &self->s));
		free(cut.bytes);
	}
}

TEST_F(full, counts_beyond_the_record_are_damage)
{
	static const __u64 values[] = { 100, 1ULL << 61, 1ULL << 62, ~0ULL, ~0ULL / 3 + 1 };
	const size_t places[] = { self->read_nr_pos, self->nr_ips_pos, self->branch_nr_pos,
				  self->stack_size_pos, self->dyn_size_pos };
	size_t i, j;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		__u64 right;

		memcpy(&right, self->im.bytes + places[i], sizeof(right));
		for (j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			put_u64(&self->im, places[i], values[j]);
			EXPECT_EQ(-EINVAL, decode(self));
		}
		put_u64(&self->im, places[i], right);
		EXPECT_EQ(0, decode(self));
	}
}

TEST_F(full, raw_size_beyond_the_record_is_damage)
{
	memset(self->im.bytes + self->raw_size_pos, 0xff, 4);
	EXPECT_EQ(-EINVAL, decode(self));
}

TEST_F(full, stack_size_must_be_whole_words)
{
	put_u64(&self->im, self->stack_size_pos, 12);
	EXPECT_EQ(-EINVAL, decode(self));
}

TEST(bits_that_are_not_known_are_refused)
{
	struct sample_layout layout;
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_MAX };

	EXPECT_EQ(-EOPNOTSUPP, sample_layout__init(&layout, &attr));
	attr.sample_type = PERF_SAMPLE_READ;
	attr.read_format = PERF_FORMAT_MAX;
	EXPECT_EQ(-EOPNOTSUPP, sample_layout__init(&layout, &attr));
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = BRANCH_COUNTERS << 1;
	EXPECT_EQ(-EOPNOTSUPP, sample_layout__init(&layout, &attr));
	/* Without the field the bits do not matter. */
	attr.sample_type = PERF_SAMPLE_IP;
	EXPECT_EQ(0, sample_layout__init(&layout, &attr));
}

TEST(what_is_not_recorded_is_empty)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_IP, .sample_period = 77 };
	struct sample_layout layout;
	struct image im = {};
	struct pdsample s;

	memset(&s, 0xff, sizeof(s));
	ASSERT_EQ(0, sample_layout__init(&layout, &attr));
	image__begin(&im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	image__u64(&im, 0x1234);
	image__end(&im, 0);
	ASSERT_EQ(0, sample__decode(&layout, (void *)im.bytes, &s));
	EXPECT_EQ(0x1234, s.ip);
	EXPECT_EQ((__u32)-1, s.pid);
	EXPECT_EQ((__u32)-1, s.cpu);
	EXPECT_EQ(77, s.period);
	EXPECT_EQ(0, s.nr_ips);
	EXPECT_EQ(NULL, s.ips);
	EXPECT_EQ(NULL, s.raw);
	EXPECT_EQ(0, s.raw_bytes);
	EXPECT_EQ(NULL, s.regs);
	EXPECT_EQ(NULL, s.stack);
	EXPECT_EQ(0, s.stack_bytes);
	image__free(&im);
}

/* Kernel threads have neither registers nor a stack to copy. */
TEST(empty_registers_and_stack_take_one_word_each)
{
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT,
		.sample_regs_user = 0xff,
	};
	struct sample_layout layout;
	struct image im = {};
	struct pdsample s;

	ASSERT_EQ(0, sample_layout__init(&layout, &attr));
	image__begin(&im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	image__u64(&im, PERF_SAMPLE_REGS_ABI_NONE);
	image__u64(&im, 0);
	image__u64(&im, 1);
	image__end(&im, 0);
	EXPECT_EQ(0, sample__decode(&layout, (void *)im.bytes, &s));
	EXPECT_EQ(NULL, s.regs);
	EXPECT_EQ(NULL, s.stack);
	image__free(&im);
}

TEST(single_reads_have_no_count)
{
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	struct sample_layout layout;
	struct image im = {};
	struct pdsample s;

	ASSERT_EQ(0, sample_layout__init(&layout, &attr));
	image__begin(&im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	image__u64(&im, 1000);			/* value */
	image__u64(&im, 2000);			/* enabled */
	image__u64(&im, 3000);			/* id */
	image__u64(&im, 1);			/* callchain */
	image__u64(&im, 0xabc);
	image__end(&im, 0);
	ASSERT_EQ(0, sample__decode(&layout, (void *)im.bytes, &s));
	ASSERT_EQ(1, s.nr_ips);
	EXPECT_EQ(0xabc, s.ips[0]);
	image__free(&im);
}

TEST_HARNESS_MAIN
