// SPDX-License-Identifier: GPL-2.0-only
// timeout: 180
/*
 * Stock perf record --call-graph dwarf of a C++ program without frame pointers, read and walked
 * by us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "perfdata/reader.h"
#include "stack/machine.h"

/* of tests/data/unwind.cpp */
#define NR_RUN		6
#define SPIN_LINE	"unwind.cpp:19"

#define MAX_FRAMES	128

struct tally {
	struct machine *m;
	unsigned int nr_spin, nr_good, nr_root, nr_line;
};

static int on_mmap(void *ctx, __u64 time, const struct pdmap *map)
{
	(void)time;
	return machine__mmap(((struct tally *)ctx)->m, map);
}

static int on_comm(void *ctx, __u64 time, __u32 pid, __u32 tid, const char *comm, bool exec)
{
	(void)time;
	return machine__comm(((struct tally *)ctx)->m, pid, tid, comm, exec);
}

static int on_fork(void *ctx, __u64 time, __u32 pid, __u32 ppid, __u32 tid, __u32 ptid)
{
	(void)time;
	return machine__fork(((struct tally *)ctx)->m, pid, ppid, tid, ptid);
}

static bool is_named(const struct frame *f, const char *name)
{
	return f->sym && !strcmp(f->sym, name);
}

/* compare_slowly, frames of libc, NR_RUN times Sorter<int>::run, main */
static bool is_expected(const struct frame *f, size_t nr)
{
	size_t i = 1, nr_libc = 0, nr_run = 0;

	if (nr < 10 || !is_named(&f[i++], "compare_slowly"))
		return false;
	for (; i < nr && f[i].dso && strstr(f[i].dso, "libc"); i++)
		nr_libc++;
	for (; i < nr && is_named(&f[i], "Sorter<int>::run"); i++)
		nr_run++;
	return nr_libc && nr_run == NR_RUN && i < nr && is_named(&f[i], "main");
}

static int on_sample(void *ctx, const struct pdsample *s)
{
	struct frame frames[MAX_FRAMES], *f = frames;
	struct tally *t = ctx;
	size_t nr = machine__resolve(t->m, s, f, MAX_FRAMES);
	const char *line;

	for (; nr && f->kernel; nr--)
		f++;
	if (!nr || !is_named(f, "spin"))
		return 0;
	t->nr_spin++;
	t->nr_good += is_expected(f, nr);
	t->nr_root += is_named(&f[nr - 1], "_start");
	line = nr > 1 ? machine__srcline(t->m, &f[1], true) : NULL;
	t->nr_line += line && !strcmp(line, SPIN_LINE);
	return 0;
}

static const struct pdreader_ops ops = {
	.sample = on_sample, .mmap = on_mmap, .comm = on_comm, .fork = on_fork,
};

FIXTURE(dwarf) {
	char dir[64], program[96], data[96];
	struct tally tally;
};

FIXTURE_SETUP(dwarf)
{
	struct machine_opts opts = { .demangle = true };

	memset(self, 0, sizeof(*self));
	strcpy(self->dir, "/tmp/stack_dwarf_test_XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->program, sizeof(self->program), "%s/unwind", self->dir);
	snprintf(self->data, sizeof(self->data), "%s/perf.data", self->dir);
	ASSERT_EQ(0, machine__new(&opts, &self->tally.m));
}

FIXTURE_TEARDOWN(dwarf)
{
	machine__free(self->tally.m);
	unlink(self->program);
	unlink(self->data);
	rmdir(self->dir);
}

static int run(const char *format, const char *a, const char *b)
{
	char command[512];

	snprintf(command, sizeof(command), format, a, b);
	return system(command);
}

TEST_F(dwarf, stacks_of_stock_perf_record)
{
	struct pdreader *reader;

	ASSERT_EQ(0, run("g++ -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o %s %s",
			 self->program, "tests/data/unwind.cpp"));
	if (run("perf record -q -e cpu-clock:u -F 499 --call-graph dwarf -o %s %s >/dev/null 2>&1",
		self->data, self->program))
		SKIP(return, "perf record is not allowed here");
	ASSERT_EQ(0, pdreader__open(self->data, &reader));
	EXPECT_EQ(0, pdreader__read(reader, &ops, &self->tally));
	pdreader__close(reader);
	ASSERT_LT(50, self->tally.nr_spin);
	TH_LOG("%u samples in spin, %u as expected", self->tally.nr_spin, self->tally.nr_good);
	EXPECT_EQ(self->tally.nr_spin, self->tally.nr_good);
	EXPECT_EQ(self->tally.nr_spin, self->tally.nr_root);
	EXPECT_EQ(self->tally.nr_spin, self->tally.nr_line);
	EXPECT_LE(self->tally.nr_spin, machine__stats(self->tally.m)->nr_unwound);
	EXPECT_EQ(0, machine__stats(self->tally.m)->nr_unwind_cut);
}

TEST_HARNESS_MAIN
