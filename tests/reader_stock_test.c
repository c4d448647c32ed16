// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of the perf at hand, recorded while the test runs: what we read is held against what
 * perf script prints.
 *
 * needs: record
 */
#define LIBFUZZER
#include "fuzz_reader.c"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <traceevent/event-parse.h>

#include "perfdata_image.h"
#include "perfdata_read.h"

#include <kselftest_harness.h>

#define WORKLOAD	"ls -lR /usr/include/linux"
#define LIBC		"/lib/x86_64-linux-gnu/libc.so.6"
#define TIMEOUT_S	90

/**
 * struct comparison - Our samples, one by one, beside the lines of perf script.
 * @sum: Of @field, over all samples.
 */
struct comparison {
	FILE *script;
	size_t nr_samples;
	size_t nr_different;
	size_t nr_mmaps;
	size_t nr_comms;
	const struct tep_format_field *field;
	__u64 sum;
};

static int compare_sample(void *ctx, const struct pdsample *s)
{
	unsigned long long seconds, ns;
	struct comparison *c = ctx;
	unsigned int tid;

	c->nr_samples++;
	if (fscanf(c->script, " %u %llu.%9llu:", &tid, &seconds, &ns) != 3 || tid != s->tid ||
	    seconds * 1000000000 + ns != s->time)
		c->nr_different++;
	return 0;
}

static int count_mmap(void *ctx, __u64 time, const struct pdmap *m)
{
	struct comparison *c = ctx;

	(void)time;
	c->nr_mmaps += m->filename[0] && m->len;
	return 0;
}

static int count_comm(void *ctx, __u64 time, __u32 pid, __u32 tid, const char *comm, bool exec)
{
	struct comparison *c = ctx;

	(void)time;
	(void)pid;
	(void)tid;
	c->nr_comms += exec && !strcmp(comm, "ls");
	return 0;
}

FIXTURE(stock) {
	char dir[64];
	char path[80];
	struct comparison c;
	struct pdreader *r;
};

FIXTURE_SETUP(stock)
{
	strcpy(self->dir, "/tmp/reader_stock_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/perf.data", self->dir);
}

FIXTURE_TEARDOWN(stock)
{
	pdreader__close(self->r);
	unlink(self->path);
	rmdir(self->dir);
}

static int __attribute__((format(printf, 1, 2))) run(const char *fmt, ...)
{
	char command[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

static int record(FIXTURE_DATA(stock) *self, const char *options)
{
	return run("perf record -q -o %s %s -- " WORKLOAD " >/dev/null 2>&1", self->path, options);
}

/* Lines left in the script are samples that we did not see. */
static size_t nr_lines_left(FILE *script)
{
	char line[256];
	size_t nr = 0;

	while (fgets(line, sizeof(line), script))
		nr += line[strspn(line, " \n")] != '\0';
	return nr;
}

/* Read the file and perf script's output side by side. */
static int compare(FIXTURE_DATA(stock) *self)
{
	static const struct pdreader_ops ops = {
		.sample = compare_sample, .mmap = count_mmap, .comm = count_comm,
	};
	char command[256];
	int err;

	snprintf(command, sizeof(command), "perf script --ns -F tid,time -i %s 2>/dev/null",
		 self->path);
	self->c.script = popen(command, "r");
	if (!self->c.script)
		return -errno;
	err = pdreader__open(self->path, &self->r);
	err = err ?: pdreader__read(self->r, &ops, &self->c);
	self->c.nr_different += nr_lines_left(self->c.script);
	pclose(self->c.script);
	return err;
}

FIXTURE_VARIANT(stock) {
	const char *options;
};

#define STOCK(name, opts) FIXTURE_VARIANT_ADD(stock, name) { .options = opts }

STOCK(callchains, "-g -e cpu-clock -F 5000");
STOCK(stack_copies, "--call-graph dwarf,512 -e page-faults -c 10 --user-regs=ip,sp,bp");
STOCK(every_field, "-g -e page-faults -c 5 -d --phys-data --data-page-size --code-page-size -W "
      "--intr-regs=ip,sp -s --period --transaction");
STOCK(two_events, "-e cpu-clock,page-faults -c 20000");
STOCK(tracepoints, "-e syscalls:sys_enter_openat,sched:sched_switch,page-faults:u -g");
STOCK(compressed, "-z -g -e cpu-clock -F 5000");
STOCK(build_ids, "--buildid-mmap -e cpu-clock -F 5000");
STOCK(small_rings, "-m 1 -e page-faults -c 1 -g");
STOCK(no_sample_ids, "-e cpu-clock --no-bpf-event --no-inherit -F 5000");
STOCK(clock, "-k CLOCK_MONOTONIC -e cpu-clock -F 5000");

TEST_F_TIMEOUT(stock, reads_as_perf_script_does, TIMEOUT_S)
{
	if (record(self, variant->options))
		SKIP(return, "perf record %s does not work here", variant->options);
	ASSERT_EQ(0, compare(self));
	EXPECT_LT(0, self->c.nr_samples);
	EXPECT_EQ(0, self->c.nr_different);
	EXPECT_LT(0, self->c.nr_mmaps);
	EXPECT_LT(0, self->c.nr_comms);
	EXPECT_FALSE(pdreader__info(self->r)->truncated);
}

FIXTURE(killed) {
	struct notes n;
	char path[80];
	char dir[64];
};

FIXTURE_SETUP(killed)
{
	strcpy(self->dir, "/tmp/reader_stock_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/perf.data", self->dir);
}

FIXTURE_TEARDOWN(killed)
{
	unlink(self->path);
	rmdir(self->dir);
}

/* The workload outlives perf, and ends by itself. */
static void record_and_kill(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("perf", "perf", "record", "-q", "-m", "4", "-e", "cpu-clock", "-F", "5000",
		       "-o", path, "--", "timeout", "2", "sh", "-c", "while :; do :; done", NULL);
		_exit(127);
	}
	usleep(1500 * 1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_F_TIMEOUT(killed, a_recorder_that_was_killed_leaves_a_readable_file, TIMEOUT_S)
{
	record_and_kill(self->path);
	read_notes(self->path, &self->n);
	ASSERT_EQ(0, self->n.open_err);
	EXPECT_EQ(0, self->n.read_err);
	EXPECT_TRUE(self->n.truncated);
	EXPECT_LT(100, self->n.nr_samples);
	EXPECT_EQ(0, self->n.nr_backwards);
	EXPECT_EQ(1, self->n.nr_lines);
}

FIXTURE(damaged) {
	struct image im;
	char path[80];
	char dir[64];
};

FIXTURE_SETUP(damaged)
{
	strcpy(self->dir, "/tmp/reader_stock_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/perf.data", self->dir);
}

FIXTURE_TEARDOWN(damaged)
{
	image__free(&self->im);
	unlink(self->path);
	rmdir(self->dir);
}

static int load(struct image *im, const char *path)
{
	FILE *file = fopen(path, "r");
	char bytes[4096];
	size_t nr;

	if (!file)
		return -errno;
	while ((nr = fread(bytes, 1, sizeof(bytes), file)))
		image__add(im, bytes, nr);
	fclose(file);
	return 0;
}

TEST_F_TIMEOUT(damaged, real_files_with_errors_are_survived, TIMEOUT_S)
{
	__u32 seed = 4;
	int i;

	ASSERT_EQ(0, run("perf record -q -o %s -g -e page-faults -c 1 -e sched:sched_switch -- true"
			 " >/dev/null 2>&1", self->path));
	ASSERT_EQ(0, load(&self->im, self->path));
	for (i = 0; i < 1000; i++) {
		struct image copy = {};

		image__add(&copy, self->im.bytes, self->im.nr);
		image__damage(&copy, &seed);
		LLVMFuzzerTestOneInput((void *)copy.bytes, copy.nr);
		image__free(&copy);
	}
}

FIXTURE(uprobe) {
	struct comparison c;
	struct pdreader *r;
	char path[80];
	char dir[64];
	char group[32];
};

FIXTURE_SETUP(uprobe)
{
	strcpy(self->dir, "/tmp/reader_stock_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/perf.data", self->dir);
	snprintf(self->group, sizeof(self->group), "churn_test_%d", getpid());
}

FIXTURE_TEARDOWN(uprobe)
{
	run("perf probe -q -d '%s:*' >/dev/null 2>&1", self->group);
	pdreader__close(self->r);
	unlink(self->path);
	rmdir(self->dir);
}

static int sum_field(void *ctx, const struct pdsample *s)
{
	struct comparison *c = ctx;
	__u64 value;

	c->nr_samples++;
	if (pdfield__u64(c->field, s, &value))
		return -EINVAL;
	c->sum += value;
	return 0;
}

/* The sum of what perf script prints as size=N. */
static __u64 script_sum(const char *path)
{
	char command[256], line[256];
	__u64 sum = 0;
	FILE *script;

	snprintf(command, sizeof(command), "perf script -F trace -i %s 2>/dev/null", path);
	script = popen(command, "r");
	while (script && fgets(line, sizeof(line), script)) {
		const char *text = strstr(line, "size=");

		sum += text ? strtoull(text + 5, NULL, 10) : 0;
	}
	if (script)
		pclose(script);
	return sum;
}

TEST_F_TIMEOUT(uprobe, fields_of_a_users_probe_are_read, TIMEOUT_S)
{
	static const struct pdreader_ops ops = { .sample = sum_field };

	if (run("perf probe -q -x " LIBC " '%s:alloc=malloc size=%%di:u64' >/dev/null 2>&1",
		self->group))
		SKIP(return, "perf probe does not work here");
	ASSERT_EQ(0, run("perf record -q -o %s -e '%s:alloc' -- ls /usr >/dev/null 2>&1",
			 self->path, self->group));
	ASSERT_EQ(0, pdreader__open(self->path, &self->r));
	self->c.field = pdevent__field(pdreader__event(self->r, 0), "size");
	ASSERT_NE(NULL, self->c.field);
	ASSERT_EQ(0, pdreader__read(self->r, &ops, &self->c));
	EXPECT_LT(10, self->c.nr_samples);
	EXPECT_EQ(script_sum(self->path), self->c.sum);
}

TEST_HARNESS_MAIN
