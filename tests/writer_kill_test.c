// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGKILL strikes a process on its way out of a system call. So stop a writer at every one that it
 * makes, and read its file there, as if it had been killed.
 */
#include <errno.h>
#include <linux/types.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "perfdata/reader.h"
#include "perfdata/writer.h"
#include "util/msg.h"

#include <kselftest_harness.h>

#define SAMPLE_ID	77ULL
#define NR_CHECKPOINTS	23

struct sample {
	struct perf_event_header header;
	__u64 id, ip;
	__u32 pid, tid;
	__u64 time;
};

static int start(struct pdwriter *w, int level)
{
	static const char *argv[] = { "perf-churn", "record" };
	static const __u64 id = SAMPLE_ID;
	const struct pdwriter_info info = {
		.argc = 2, .argv = argv, .clockid = CLOCK_MONOTONIC, .compression_level = level,
	};
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME,
		.sample_id_all = 1,
	};
	const struct pdwriter_event event = {
		.attr = &attr, .name = "cpu-clock", .ids = &id, .nr_ids = 1,
	};

	return pdwriter__start(w, &event, 1, &info);
}

/* Numbered from *nr + 1. */
static int write_samples(struct pdwriter *w, __u64 *nr, int more)
{
	int err = 0;

	while (!err && more--) {
		struct sample s = {
			.header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(s) },
			.id = SAMPLE_ID, .ip = ++*nr, .time = *nr,
		};

		err = pdwriter__write(w, &s, sizeof(s));
	}
	return err;
}

/* Runs traced. Few samples and many, so that the table moves within a page and across. */
static int write_file(const char *path, int level)
{
	struct pdwriter *w;
	__u64 nr = 0;
	int i, err;

	err = pdwriter__new(path, &w) ?: start(w, level);
	for (i = 0; !err && i < NR_CHECKPOINTS; i++) {
		err = write_samples(w, &nr, 3 + i * i * 40);
		pdwriter__set_times(w, 1, nr);
		err = err ?: pdwriter__checkpoint(w);
	}
	err = err ?: write_samples(w, &nr, 1);
	pdwriter__set_times(w, 1, nr);
	err = err ?: pdwriter__finish(w);
	pdwriter__free(w);
	return err;
}

static int count_sample(void *ctx, const struct pdsample *s)
{
	__s64 *nr = ctx;

	return (__u64)++*nr == s->ip ? 0 : -EBADMSG;
}

/* The samples in the file, each in its place, or a negative errno. */
static __s64 read_file(const char *path, bool *unfinished)
{
	const struct pdreader_ops ops = { .sample = count_sample };
	struct pdreader *r;
	__s64 nr = 0;
	int err;

	err = pdreader__open(path, &r);
	if (err)
		return err;
	err = pdreader__read(r, &ops, &nr);
	if (!err && (pdreader__info(r)->truncated || !pdreader__info(r)->hostname))
		err = -EPIPE;
	if (!err && nr && pdreader__info(r)->last_time_ns < (__u64)nr)
		err = -ETIME;
	*unfinished = pdreader__info(r)->unfinished;
	pdreader__close(r);
	return err ?: nr;
}

FIXTURE(killed) {
	char dir[32], path[64];
	pid_t writer;
	int nr_stops, status;
};

FIXTURE_VARIANT(killed) {
	int level;	/* of compression */
};
FIXTURE_VARIANT_ADD(killed, plain) { .level = 0 };
FIXTURE_VARIANT_ADD(killed, compressed) { .level = 1 };

FIXTURE_SETUP(killed)
{
	strcpy(self->dir, "/tmp/writer_kill.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/data", self->dir);
	msg__set_verbose(-2);
	self->writer = fork();
	ASSERT_LE(0, self->writer);
	if (!self->writer) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(99);
		raise(SIGSTOP);
		_exit(write_file(self->path, variant->level) ? 1 : 0);
	}
	ASSERT_EQ(self->writer, waitpid(self->writer, &self->status, 0));
}

FIXTURE_TEARDOWN(killed)
{
	unlink(self->path);
	rmdir(self->dir);
}

/* On to the next entry to or return from a system call; false when it has ended. */
static bool step(pid_t pid, int *status)
{
	return !ptrace(PTRACE_SYSCALL, pid, NULL, NULL) && waitpid(pid, status, 0) == pid &&
	       WIFSTOPPED(*status);
}

TEST_F(killed, at_any_system_call_the_file_is_whole_once_it_is_one)
{
	bool unfinished = false, was_unfinished = true;
	__s64 nr, most = -1;
	int nr_grown = 0;

	if (!WIFSTOPPED(self->status))
		SKIP(return, "ptrace is not permitted here");
	while (step(self->writer, &self->status)) {
		nr = read_file(self->path, &unfinished);
		self->nr_stops++;
		if (nr < 0 && most < 0)		/* no header yet */
			continue;
		EXPECT_LE(most, nr) TH_LOG("stop %d", self->nr_stops);
		/* Finished means that nothing is to come. */
		EXPECT_TRUE(was_unfinished || (!unfinished && nr == most));
		was_unfinished = unfinished;
		nr_grown += nr > most;
		most = nr > most ? nr : most;
	}
	ASSERT_TRUE(WIFEXITED(self->status));
	EXPECT_EQ(0, WEXITSTATUS(self->status));
	EXPECT_FALSE(was_unfinished);
	EXPECT_LT(NR_CHECKPOINTS * 4, self->nr_stops);
	/* From nothing to none; at each checkpoint, even with few samples; at the end. */
	EXPECT_EQ(1 + NR_CHECKPOINTS + 1, nr_grown);
}

TEST_HARNESS_MAIN
