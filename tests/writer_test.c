// SPDX-License-Identifier: GPL-2.0-only
/* The writer against our own reader: whole after each checkpoint, whatever comes later. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
	struct pdwriter *w;
};

/* A file in a folder of its own, started. */
static int begin(char *dir, char *path, size_t path_bytes, int level, struct pdwriter **w)
{
	static const char *argv[] = { "perf", "churn", "record" };
	const struct pdwriter_info info = {
		.argc = 3, .argv = argv, .clockid = CLOCK_MONOTONIC, .compression_level = level,
	};
	const __u64 id = SAMPLE_ID;
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME,
	};
	const struct pdwriter_event event = {
		.attr = &attr, .name = "cpu-clock", .ids = &id, .nr_ids = 1,
	};

	msg__set_verbose(-2);
	strcpy(dir, "/tmp/writer_test.XXXXXX");
	if (!mkdtemp(dir))
		return -errno;
	snprintf(path, path_bytes, "%s/data", dir);
	return pdwriter__new(path, w) ?: pdwriter__start(*w, &event, 1, &info);
}

static void end(const char *dir, const char *path, struct pdwriter *w)
{
	char old[80];

	pdwriter__free(w);
	snprintf(old, sizeof(old), "%.63s.old", path);
	unlink(old);
	unlink(path);
	rmdir(dir);
}

FIXTURE_VARIANT(writer) {
	int level;	/* of compression */
};
FIXTURE_VARIANT_ADD(writer, plain) { .level = 0 };
FIXTURE_VARIANT_ADD(writer, compressed) { .level = 1 };

FIXTURE_SETUP(writer)
{
	ASSERT_EQ(0, begin(self->dir, self->path, sizeof(self->path), variant->level, &self->w));
}

FIXTURE_TEARDOWN(writer)
{
	end(self->dir, self->path, self->w);
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

	for (step = 1; step < 40000; step *= 3) {
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

static bool is_unfinished(const char *path)
{
	struct pdreader *r;
	bool unfinished;

	if (pdreader__open(path, &r))
		return false;
	unfinished = pdreader__info(r)->unfinished;
	pdreader__close(r);
	return unfinished;
}

TEST_F(writer, file_is_marked_until_it_is_finished)
{
	EXPECT_TRUE(is_unfinished(self->path));
	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	ASSERT_EQ(0, pdwriter__checkpoint(self->w));
	EXPECT_TRUE(is_unfinished(self->path));
	ASSERT_EQ(0, pdwriter__finish(self->w));
	EXPECT_FALSE(is_unfinished(self->path));
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

TEST_F(writer, file_of_a_failed_recording_stays_marked)
{
	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	pdwriter__cut_short(self->w);
	ASSERT_EQ(0, pdwriter__finish(self->w));
	EXPECT_TRUE(is_unfinished(self->path));
	EXPECT_EQ(23, nr_samples(self->path));
}

static __u64 file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_size;
}

/* A limit works as a full disk does: the last write gets some way, and then fails. */
static void limit_file(__u64 bytes)
{
	const struct rlimit limit = { bytes, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Buffer by buffer, or with checkpoints. */
static int fill_disk(struct pdwriter *w, __u64 first, bool checkpoints)
{
	int i, err = 0;

	for (i = 0; !err && i < 400; i++, first += 300) {
		err = write_samples(w, first, 300);
		if (!err && checkpoints)
			err = pdwriter__checkpoint(w);
	}
	return err;
}

FIXTURE(full_disk) {
	char dir[32], path[64];
	struct pdwriter *w;
};

FIXTURE_VARIANT(full_disk) {
	bool checkpoints;
	__u64 room_bytes;
};
#define ROOM(name, checkpoints_, bytes) \
	FIXTURE_VARIANT_ADD(full_disk, name) { .checkpoints = checkpoints_, .room_bytes = bytes }
ROOM(nothing, false, 0);
ROOM(less_than_a_table, false, 100);
ROOM(a_table_and_a_record, false, 40 + 8 + 14 * 16);
ROOM(first_buffer, false, 100000);
ROOM(second_buffer, false, 512 * 1024 + 40);
ROOM(third_buffer, false, 2 * 512 * 1024 + 333);
ROOM(within_a_table, true, 12000 * 7 + 8);
ROOM(within_data, true, 12000 * 7 + 7777);

FIXTURE_SETUP(full_disk)
{
	ASSERT_EQ(0, begin(self->dir, self->path, sizeof(self->path), 0, &self->w));
}

FIXTURE_TEARDOWN(full_disk)
{
	end(self->dir, self->path, self->w);
}

TEST_F(full_disk, keeps_all_whole_records_that_fit)
{
	__u64 limit, lost, bytes;
	__s64 nr;

	ASSERT_EQ(0, write_samples(self->w, 1, 23));
	ASSERT_EQ(0, pdwriter__checkpoint(self->w));
	bytes = file_bytes(self->path);
	limit = bytes + variant->room_bytes;
	limit_file(limit);
	EXPECT_EQ(-EFBIG, fill_disk(self->w, 24, variant->checkpoints));
	EXPECT_EQ(-EFBIG, pdwriter__finish(self->w));
	limit_file(RLIM_INFINITY);
	EXPECT_EQ(pdwriter__bytes(self->w), file_bytes(self->path));
	EXPECT_LE(file_bytes(self->path), limit);
	EXPECT_TRUE(is_unfinished(self->path));
	nr = nr_samples(self->path);
	EXPECT_EQ(bytes + (nr - 23) * SAMPLE_BYTES, file_bytes(self->path));
	/* Less than a table cannot be added: it would overlap the old one. */
	lost = limit - file_bytes(self->path);
	EXPECT_GT(variant->room_bytes < 300 ? 300 : SAMPLE_BYTES, lost);
}

FIXTURE(full_disk_z) {
	char dir[32], path[64];
	struct pdwriter *w;
};

FIXTURE_SETUP(full_disk_z)
{
	ASSERT_EQ(0, begin(self->dir, self->path, sizeof(self->path), 1, &self->w));
}

FIXTURE_TEARDOWN(full_disk_z)
{
	end(self->dir, self->path, self->w);
}

/* How much fits is up to zstd; the more room, the more. */
TEST_F(full_disk_z, keeps_what_fits_wherever_the_file_ends)
{
	__u64 room_bytes, limit, first;
	__s64 nr = 0, most = 23;

	for (room_bytes = 0; room_bytes < 30000; room_bytes += room_bytes < 600 ? 7 : 977) {
		if (room_bytes) {
			end(self->dir, self->path, self->w);
			ASSERT_EQ(0, begin(self->dir, self->path, sizeof(self->path), 1, &self->w));
		}
		ASSERT_EQ(0, write_samples(self->w, 1, 2000));
		ASSERT_EQ(0, pdwriter__checkpoint(self->w));
		limit = file_bytes(self->path) + room_bytes;
		limit_file(limit);
		first = 2001;
		EXPECT_EQ(-EFBIG, fill_disk(self->w, first, false));
		EXPECT_EQ(-EFBIG, pdwriter__finish(self->w));
		limit_file(RLIM_INFINITY);
		EXPECT_EQ(pdwriter__bytes(self->w), file_bytes(self->path));
		EXPECT_LE(file_bytes(self->path), limit);
		EXPECT_TRUE(is_unfinished(self->path));
		nr = nr_samples(self->path);
		EXPECT_LE(2000, nr);
		EXPECT_LE(most, nr);
		most = nr;
	}
	EXPECT_LT(3000, nr);
}

static __u32 random_word(__u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

static int count_stack_copy(void *ctx, const struct pdsample *s)
{
	__s64 *nr = ctx;

	*nr += s->ip == (__u64)*nr + 1;
	return 0;
}

/* The largest record there can be, of bytes that no compressor makes shorter, is cut in two. */
TEST_F(writer, what_cannot_be_compressed_arrives)
{
	static struct {
		struct perf_event_header header;
		__u64 id, ip;
		__u32 pid, tid;
		__u64 time;
		__u32 more[(65528 - SAMPLE_BYTES) / 4];
	} s = { .header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(s) }, SAMPLE_ID };
	const struct pdreader_ops ops = { .sample = count_stack_copy };
	struct pdreader *r;
	__u32 state = 1;
	__s64 nr = 0;
	size_t k;

	_Static_assert(sizeof(s) == 65528, "no holes");
	for (s.ip = s.time = 1; s.ip <= 40; s.ip = ++s.time) {
		for (k = 0; k < sizeof(s.more) / sizeof(s.more[0]); k++)
			s.more[k] = random_word(&state);
		ASSERT_EQ(0, pdwriter__write(self->w, &s, sizeof(s)));
	}
	ASSERT_EQ(0, pdwriter__finish(self->w));
	ASSERT_EQ(0, pdreader__open(self->path, &r));
	EXPECT_EQ(0, pdreader__read(r, &ops, &nr));
	EXPECT_EQ(40, nr);
	pdreader__close(r);
}

TEST_F(writer, tells_what_was_compressed)
{
	__u64 plain_bytes, packed_bytes;

	ASSERT_EQ(0, write_samples(self->w, 1, 10000));
	ASSERT_EQ(0, pdwriter__finish(self->w));
	pdwriter__compression(self->w, &plain_bytes, &packed_bytes);
	EXPECT_EQ(variant->level ? 10000 * SAMPLE_BYTES : 0, plain_bytes);
	EXPECT_LE(packed_bytes * 4, plain_bytes);
	EXPECT_EQ(10000, nr_samples(self->path));
}

TEST_F(writer, memory_of_the_highest_level_is_bounded)
{
	char dir[32], path[64];
	struct rusage before, after;
	struct pdwriter *w;

	if (!variant->level)
		return;
	getrusage(RUSAGE_SELF, &before);
	ASSERT_EQ(0, begin(dir, path, sizeof(path), 22, &w));
	ASSERT_EQ(0, write_samples(w, 1, 50000));
	ASSERT_EQ(0, pdwriter__finish(w));
	getrusage(RUSAGE_SELF, &after);
	EXPECT_EQ(50000, nr_samples(path));
	EXPECT_GT(40 << 10, after.ru_maxrss - before.ru_maxrss);
	end(dir, path, w);
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
