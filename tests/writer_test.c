// SPDX-License-Identifier: GPL-2.0-only
/* The writer against our own reader: whole after each checkpoint, whatever comes later. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "perfdata/reader.h"
#include "perfdata/writer.h"
#include "util/msg.h"

#include <kselftest_harness.h>

#define SAMPLE_BYTES	40
#define SAMPLE_ID	77ULL

FIXTURE(writer) {
	char dir[32], path[64];
	struct perf_event_attr attr;
	struct pdwriter *w;
};

FIXTURE_SETUP(writer)
{
	static const char *argv[] = { "perf", "churn", "record" };
	const struct pdwriter_info info = { .argc = 3, .argv = argv, .clockid = CLOCK_MONOTONIC };
	const __u64 id = SAMPLE_ID;
	struct pdwriter_event event = { .name = "cpu-clock", .ids = &id, .nr_ids = 1 };

	msg__set_verbose(-2);
	strcpy(self->dir, "/tmp/writer_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/data", self->dir);
	self->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME,
	};
	event.attr = &self->attr;
	ASSERT_EQ(0, pdwriter__new(self->path, &self->w));
	ASSERT_EQ(0, pdwriter__start(self->w, &event, 1, &info));
}

FIXTURE_TEARDOWN(writer)
{
	char old[80];

	pdwriter__free(self->w);
	snprintf(old, sizeof(old), "%.63s.old", self->path);
	unlink(old);
	unlink(self->path);
	rmdir(self->dir);
}

static int write_samples(struct pdwriter *w, __u64 first, __u64 nr)
{
	struct {
		struct perf_event_header header;
		__u64 id, ip;
		__u32 pid, tid;
		__u64 time;
	} s = { .header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, SAMPLE_BYTES }, SAMPLE_ID };
	int err = 0;

	_Static_assert(sizeof(s) == SAMPLE_BYTES, "no holes");
	for (; nr && !err; nr--, first++) {
		s.ip = s.time = first;
		err = pdwriter__write(w, &s, sizeof(s));
	}
	return err;
}

/* Samples counted from 1: their number, or -1 when one is out of place. */
static int count_sample(void *ctx, const struct pdsample *s)
{
	__s64 *nr = ctx;

	if ((__u64)++*nr != s->ip)
		*nr = -1000000000;
	return 0;
}

static __s64 nr_samples(const char *path)
{
	const struct pdreader_ops ops = { .sample = count_sample };
	struct pdreader *r;
	__s64 nr = 0;
	int err;

	err = pdreader__open(path, &r);
	if (err)
		return err;
	err = pdreader__read(r, &ops, &nr);
	if (!err && pdreader__info(r)->truncated)
		err = -EPIPE;
	pdreader__close(r);
	return err ?: nr;
}

TEST_F(writer, file_is_whole_when_nothing_was_written)
{
	EXPECT_EQ(0, nr_samples(self->path));
}

TEST_F(writer, what_is_not_checkpointed_is_not_there)
{
	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	EXPECT_EQ(0, nr_samples(self->path));
}

TEST_F(writer, file_is_whole_at_each_checkpoint)
{
	__u64 nr = 0, step;

	for (step = 23; step < 40000; step *= 3) {
		ASSERT_EQ(0, write_samples(self->w, nr + 1, step));
		nr += step;
		ASSERT_EQ(0, pdwriter__checkpoint(self->w));
		EXPECT_EQ((__s64)nr, nr_samples(self->path));
	}
}

TEST_F(writer, flushes_between_checkpoints_do_not_harm_the_last)
{
	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	ASSERT_EQ(0, pdwriter__checkpoint(self->w));
	ASSERT_EQ(0, write_samples(self->w, 24, 100000));
	EXPECT_EQ(23, nr_samples(self->path));
	ASSERT_EQ(0, pdwriter__checkpoint(self->w));
	EXPECT_EQ(100023, nr_samples(self->path));
}

TEST_F(writer, finish_writes_the_last_few)
{
	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	ASSERT_EQ(0, pdwriter__checkpoint(self->w));
	ASSERT_EQ(0, write_samples(self->w, 24, 1));
	pdwriter__set_times(self->w, 1, 24);
	ASSERT_EQ(0, pdwriter__finish(self->w));
	EXPECT_EQ(24, nr_samples(self->path));
}

TEST_F(writer, finish_tells_the_times)
{
	struct pdreader *r;

	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	pdwriter__set_times(self->w, 5, 9);
	ASSERT_EQ(0, pdwriter__finish(self->w));
	ASSERT_EQ(0, pdreader__open(self->path, &r));
	EXPECT_EQ(5, (int)pdreader__info(r)->first_time_ns);
	EXPECT_EQ(9, (int)pdreader__info(r)->last_time_ns);
	EXPECT_STREQ("record", pdreader__info(r)->cmdline[2]);
	pdreader__close(r);
}

TEST_F(writer, keeps_an_old_file)
{
	struct pdwriter *again;
	struct stat st;
	char old[80];

	snprintf(old, sizeof(old), "%.63s.old", self->path);
	ASSERT_EQ(0, pdwriter__new(self->path, &again));
	EXPECT_EQ(-1, stat(old, &st));
	ASSERT_EQ(0, pdwriter__publish(again));
	pdwriter__free(again);
	EXPECT_EQ(0, stat(old, &st));
}

static int nr_files(const char *dir)
{
	DIR *d = opendir(dir);
	int nr = 0;

	while (d && readdir(d))
		nr++;
	if (d)
		closedir(d);
	return nr - 2;	/* . and .. */
}

TEST_F(writer, one_that_is_not_published_leaves_everything_as_it_was)
{
	struct pdwriter *again;

	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	ASSERT_EQ(0, pdwriter__finish(self->w));
	ASSERT_EQ(0, pdwriter__new(self->path, &again));
	EXPECT_EQ(2, nr_files(self->dir));
	pdwriter__free(again);
	EXPECT_EQ(1, nr_files(self->dir));
	EXPECT_EQ(23, nr_samples(self->path));

	ASSERT_EQ(0, unlink(self->path));
	ASSERT_EQ(0, pdwriter__new(self->path, &again));
	pdwriter__free(again);
	EXPECT_EQ(0, nr_files(self->dir));
}

TEST_F(writer, an_empty_file_that_is_not_published_stays_empty)
{
	struct pdwriter *again;
	struct stat st;

	ASSERT_EQ(0, truncate(self->path, 0));
	ASSERT_EQ(0, pdwriter__new(self->path, &again));
	ASSERT_EQ(0, pdwriter__publish(self->w));
	pdwriter__free(again);
	ASSERT_EQ(0, stat(self->path, &st));
	EXPECT_EQ(0, st.st_size);
	EXPECT_EQ(1, nr_files(self->dir));
}

TEST(refuses_a_missing_folder_and_a_pipe)
{
	struct pdwriter *w;

	msg__set_verbose(-2);
	EXPECT_EQ(-ENOENT, pdwriter__new("/tmp/no/such/folder/data", &w));
	EXPECT_EQ(-EINVAL, pdwriter__new("-", &w));
	EXPECT_EQ(-EINVAL, pdwriter__new("/dev/null", &w));
	EXPECT_EQ(-EINVAL, pdwriter__new("/dev/full", &w));
}

TEST_HARNESS_MAIN
