// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stock perf on a file that pdwriter and synth made, without a recording, so that it needs no
 * privilege: CPU samples and all our events, in functions of this very program.
 */
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "bpf/churn.h"
#include "perfdata/synth.h"
#include "perfdata/writer.h"
#include "util/msg.h"

#include <kselftest_harness.h>

#define SAMPLE_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | \
			 PERF_SAMPLE_CALLCHAIN)
#define FIRST_NS	1000000000ULL
#define NR_ROUNDS	23

enum { CPU, ALLOC, FREE, WINDOW, PROBE, RANGE, DUMMY, NR_EVENTS };

/* What the samples fall into. Never called. */
#define SITE(name)	__attribute__((noinline, used)) static int name(int x) { return x * 3 + 1; }
SITE(big_site)
SITE(small_site)
SITE(free_site)
SITE(busy_loop)
SITE(outer_caller)

static __u64 inside(int (*function)(int))
{
	return (__u64)(unsigned long)function + 2;
}

/* Any sample of the test: fixed part, chain of three, raw data. */
struct sample {
	struct perf_event_header header;
	__u64 id, ip;
	__u32 pid, tid;
	__u64 time;
	__u32 cpu, reserved;
	__u64 period, nr_ips, ips[3];
	__u32 raw_bytes;
	char raw[260];
} __attribute__((packed, aligned(8)));

static __u64 now_ns;

static int write_sample(struct pdwriter *w, int event, __u64 ip, __u64 period, const void *raw,
			__u32 raw_bytes)
{
	struct sample s = {
		.header = { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER },
		.id = 100 + event, .ip = ip, .pid = getpid(), .tid = getpid(),
		.time = now_ns += 1000, .period = period, .nr_ips = 3,
		.ips = { PERF_CONTEXT_USER, ip, inside(outer_caller) },
	};

	s.header.size = offsetof(struct sample, raw_bytes);
	if (raw_bytes) {
		s.raw_bytes = ((raw_bytes + 4 + 7) & ~7U) - 4;
		memcpy(s.raw, raw, raw_bytes);
		s.header.size += 4 + s.raw_bytes;
	}
	return pdwriter__write(w, &s, s.header.size);
}

static int write_alloc(struct pdwriter *w, int (*site)(int), __u64 size, __u64 class, __u32 fn)
{
	const struct churn_alloc a = {
		.common = { .type = CHURN_ALLOC_ID, .pid = getpid() },
		.ptr = 0xabc0, .size = size, .size_class = class, .seq = 7, .weight = 10,
		.caller = inside(site), .fn = fn,
	};

	return write_sample(w, ALLOC, inside(site), a.weight, &a, sizeof(a));
}

static int write_free(struct pdwriter *w)
{
	const struct churn_free f = {
		.common = { .type = CHURN_FREE_ID, .pid = getpid() },
		.ptr = 0xabc0, .size = 200, .lifetime_ns = 3000, .life_class = 4096,
		.weight = 10, .seq = 7, .caller = inside(free_site), .alloc_tid = 42,
		.fn = CHURN_FN_FREE, .flags = CHURN_F_CROSS_THREAD | CHURN_F_UNSEEN,
	};

	return write_sample(w, FREE, inside(free_site), f.weight, &f, sizeof(f));
}

static int write_totals(struct pdwriter *w)
{
	const struct churn_window win = {
		.common = { .type = CHURN_WINDOW_ID, .pid = getpid() },
		.nr_allocs = 460, .alloc_bytes = 5000000000ULL, .nr_frees = 230, .sample_period = 10,
	};
	const struct churn_probe p = {
		.common = { .type = CHURN_PROBE_ID }, .offset = 0x1234, .nr_hits = 690,
		.fn = CHURN_FN_MALLOC, .emulated = 1, .symbol = "malloc", .object = "/lib/libc.so.6",
	};

	const struct churn_range r = {
		.common = { .type = CHURN_RANGE_ID }, .start = 0x94700, .end = 0x9a336,
		.offset = 0x93700, .how = CHURN_RANGE_CALLS, .build_id_bytes = 20,
		.build_id = { 1, 2, 3 }, .object = "/lib/libc.so.6",
	};

	return write_sample(w, WINDOW, inside(busy_loop), 1, &win, sizeof(win)) ?:
	       write_sample(w, PROBE, inside(busy_loop), 1, &p, sizeof(p)) ?:
	       write_sample(w, RANGE, inside(busy_loop), 1, &r, sizeof(r));
}

static int write_round(struct pdwriter *w)
{
	return write_sample(w, CPU, inside(busy_loop), 1000000, NULL, 0) ?:
	       write_alloc(w, big_site, 200, 256, CHURN_FN_MALLOC) ?:
	       write_alloc(w, small_site, 24, 32, CHURN_FN_CALLOC) ?:
	       write_free(w) ?: pdwriter__round(w);
}

static int start(struct pdwriter *w, int level)
{
	static const char *argv[] = { "perf-churn", "record", "--", "a command" };
	static const char *const names[NR_EVENTS] = {
		"cpu-clock", "churn:alloc", "churn:free", "churn:window", "churn:probe", "churn:range",
		"dummy:HG",
	};
	static const __u32 configs[NR_EVENTS] = {
		PERF_COUNT_SW_CPU_CLOCK, CHURN_ALLOC_ID, CHURN_FREE_ID, CHURN_WINDOW_ID,
		CHURN_PROBE_ID, CHURN_RANGE_ID, PERF_COUNT_SW_DUMMY,
	};
	const struct pdwriter_info info = {
		.argc = 4, .argv = argv, .clockid = CLOCK_MONOTONIC, .compression_level = level,
	};
	struct pdwriter_event events[NR_EVENTS];
	struct perf_event_attr attrs[NR_EVENTS] = {};
	__u64 ids[NR_EVENTS];
	int i;

	for (i = 0; i < NR_EVENTS; i++) {
		bool ours = i >= ALLOC && i <= RANGE;

		ids[i] = 100 + i;
		attrs[i].type = ours ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE;
		attrs[i].config = configs[i];
		attrs[i].sample_type = SAMPLE_TYPE | (ours ? PERF_SAMPLE_RAW : 0);
		attrs[i].sample_period = 1;
		attrs[i].sample_id_all = attrs[i].use_clockid = 1;
		attrs[i].clockid = CLOCK_MONOTONIC;
		/* Or perf warns where /proc/kallsyms hides addresses. */
		attrs[i].exclude_kernel = 1;
		attrs[i].mmap2 = attrs[i].comm = attrs[i].task = i == DUMMY;
		events[i] = (struct pdwriter_event){ &attrs[i], names[i], &ids[i], 1 };
	}
	return pdwriter__start(w, events, NR_EVENTS, &info);
}

static int write_rounds(struct pdwriter *w, int nr)
{
	int err = 0;

	while (!err && nr--)
		err = write_round(w);
	pdwriter__set_times(w, FIRST_NS, now_ns);
	return err ?: pdwriter__checkpoint(w);
}

FIXTURE(stock) {
	char dir[32], old[64], path[64];
	struct pdwriter *w;
};

FIXTURE_VARIANT(stock) {
	int level;	/* of compression */
};
FIXTURE_VARIANT_ADD(stock, plain) { .level = 0 };
FIXTURE_VARIANT_ADD(stock, compressed) { .level = 1 };

FIXTURE_SETUP(stock)
{
	if (system("command -v perf >/dev/null"))
		SKIP(return, "perf is not installed");
	msg__set_verbose(-2);
	now_ns = FIRST_NS;
	strcpy(self->dir, "/tmp/writer_stock.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/data", self->dir);
	ASSERT_EQ(0, pdwriter__new(self->path, &self->w));
	ASSERT_EQ(0, start(self->w, variant->level));
}

FIXTURE_TEARDOWN(stock)
{
	char command[80];

	pdwriter__free(self->w);
	snprintf(command, sizeof(command), "rm -r %.31s", self->dir);
	if (self->dir[0] && system(command))
		perror(command);
}

/* Whole text of a file in the folder; static, valid until the next call for the same @slot. */
static const char *text_of(const char *dir, const char *name, int slot)
{
	static char texts[2][1 << 20];
	char path[128];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	n = file ? fread(texts[slot], 1, sizeof(texts[slot]) - 1, file) : 0;
	texts[slot][n] = '\0';
	if (file)
		fclose(file);
	return texts[slot];
}

static int run_perf(const char *dir, const char *args)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "cd %s && HOME=%s PERF_CONFIG=/dev/null timeout 60 perf %s </dev/null >out 2>err",
		 dir, dir, args);
	return system(command);
}

static bool complains(const char *text)
{
	static const char *const words[] = {
		"arning", "WARNING", "rror", "ailed", "orrupt", "annot", "an't",
		"out of order", "unsupported",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(text, words[i]))
			return true;
	}
	return false;
}

/* Blanks between words do not count, their number is perf's business. */
static bool has(const char *text, const char *want)
{
	const char *t, *p;

	for (; *text; text++) {
		for (t = text, p = want; *p && *t; p++, t++) {
			if (*p == ' ' && *t == ' ')
				t += strspn(t, " ") - 1;
			else if (*p != *t)
				break;
		}
		if (!*p)
			return true;
	}
	return false;
}

static const struct {
	const char *args;
	const char *want[7];
} runs[] = {
	{ "report -i data --stdio --no-children -g none -s sym",
	  { "Samples: 46 of event 'churn:alloc'", "Event count (approx.): 460",
	    " 50.00% [.] big_site", " 50.00% [.] small_site", " 100.00% [.] free_site",
	    " 100.00% [.] busy_loop" } },
	{ "report -i data --stdio --children -s sym", { " 100.00% 0.00% [.] outer_caller" } },
	{ "report -i data --stdio --group --no-children -g none -s sym",
	  { "cpu-clock, churn:alloc, churn:free", " 0.00% 50.00% 0.00% 0.00% 0.00% 0.00% 0.00% [.] big_site",
	    " 100.00% 0.00% 0.00% 100.00% 100.00% 100.00% 0.00% [.] busy_loop" } },
	{ "report -i data --stdio --no-children -g none -s churn:alloc.size_class,sym",
	  { " 50.00% 256 [.] big_site", " 50.00% 32 [.] small_site" } },
	{ "report -i data --stdio --no-children -g none -s churn:free.life_class",
	  { " 100.00% 4096" } },
	{ "report -i data --stdio --no-children -g none -s churn:alloc.fn,churn:alloc.flags",
	  { " 50.00% malloc 0", " 50.00% calloc 0" } },
	{ "script -i data -F comm,tid,time,event,trace,ip,sym",
	  { "churn:alloc: fn=malloc ptr=0xabc0 size=200 size_class=256 old_ptr=0x0 seq=7 weight=10",
	    "churn:free: fn=free ptr=0xabc0 size=200 lifetime_ns=3000 life_class=4096 weight=10",
	    "alloc_tid=42 flags=UNSEEN|CROSS_THREAD",
	    "churn:window: nr_allocs=460 alloc_bytes=5000000000 nr_frees=230",
	    "churn:probe: /lib/libc.so.6:malloc+0 nr_hits=690 emulated=1 offset=0x1234",
	    "churn:range: /lib/libc.so.6:0x94700-0x9a336 offset=0x93700 how=calls",
	    " big_site\n" } },
	{ "script -i data -F event,period", { " 10 churn:alloc:", " 10 churn:free:" } },
	{ "evlist -v -i data",
	  { "churn:alloc: type: 2, size: 128, config: 0xfde9", "use_clockid: 1", "clockid: 1",
	    "dummy:HG: type: 1", "mmap2: 1" } },
	{ "evlist --trace-fields -i data",
	  { "churn:alloc: trace_fields: ptr,size,size_class,old_ptr,seq,weight,caller,fn,flags",
	    "churn:probe: trace_fields: offset,nr_hits",
	    "churn:range: trace_fields: start,end,offset,how,build_id_bytes,build_id,pad,object" } },
	{ "report -i data --header-only",
	  { "# cmdline : perf-churn record -- a command", "churn-abi/1", "# hostname : ",
	    "# time of first sample : 1.000000", "# sample duration : 0.", "# cpudesc : " } },
	{ "buildid-list -i data", { "/writer_stock_test\n" } },
	{ "data convert -i data --to-json out.json", { NULL } },
	{ "diff data data", { "Event 'churn:alloc'", "50.00% +0.00% writer_stock_test [.] big_site" } },
	{ "report -i data -D", { "FINISHED_ROUND" } },
	{ "report -i data --stats", { "SAMPLE events: 95" } },
	{ "trace -i data", { NULL } },
};

TEST_F(stock, perf_reads_what_was_written_and_never_complains)
{
	size_t i, k;

	ASSERT_EQ(0, synth__kernel(self->w));
	ASSERT_EQ(0, synth__process(self->w, getpid(), false));
	ASSERT_EQ(0, write_rounds(self->w, NR_ROUNDS));
	ASSERT_EQ(0, write_totals(self->w));
	ASSERT_EQ(0, pdwriter__finish(self->w));
	for (i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const char *err, *out;

		EXPECT_EQ(0, run_perf(self->dir, runs[i].args)) TH_LOG("perf %s", runs[i].args);
		out = text_of(self->dir, "out", 0);
		err = text_of(self->dir, "err", 1);
		EXPECT_FALSE(complains(err)) TH_LOG("perf %s: %s", runs[i].args, err);
		for (k = 0; k < 7 && runs[i].want[k]; k++) {
			EXPECT_TRUE(has(out, runs[i].want[k]))
				TH_LOG("perf %s: no \"%s\" in\n%.6000s", runs[i].args,
				       runs[i].want[k], out);
		}
	}
	EXPECT_TRUE(has(text_of(self->dir, "out.json", 0), "\"big_site\""));
}

TEST_F(stock, perf_says_how_the_file_was_compressed)
{
	const char *out;

	ASSERT_EQ(0, write_rounds(self->w, 2000));
	ASSERT_EQ(0, pdwriter__finish(self->w));
	ASSERT_EQ(0, run_perf(self->dir, "report -i data --header-only"));
	out = text_of(self->dir, "out", 0);
	EXPECT_EQ(variant->level > 0, has(out, "# compressed : Zstd, level = 1, ratio = "));
	EXPECT_FALSE(has(out, "ratio = 0"));
}

TEST_F(stock, perf_writes_python_with_our_fields)
{
	if (system("perf version --build-options | grep -q 'libpython: \\[ on'"))
		SKIP(return, "this perf has no Python");
	ASSERT_EQ(0, synth__process(self->w, getpid(), false));
	ASSERT_EQ(0, write_rounds(self->w, NR_ROUNDS));
	ASSERT_EQ(0, pdwriter__finish(self->w));
	ASSERT_EQ(0, run_perf(self->dir, "script -i data -g python"));
	EXPECT_TRUE(has(text_of(self->dir, "perf-script.py", 0), "def churn__alloc("));
	EXPECT_TRUE(has(text_of(self->dir, "perf-script.py", 0), "ptr, size, size_class"));
	EXPECT_EQ(0, run_perf(self->dir, "script -i data -s perf-script.py"));
	EXPECT_FALSE(complains(text_of(self->dir, "err", 1)));
	EXPECT_TRUE(has(text_of(self->dir, "out", 0), "size=200, size_class=256"));
	EXPECT_TRUE(has(text_of(self->dir, "out", 0), "fn=malloc"));
}

/* The recorder killed: at the start, after a checkpoint, with data behind it. */
TEST_F(stock, perf_reads_a_file_that_was_not_finished)
{
	ASSERT_EQ(0, run_perf(self->dir, "script -i data -F event"));
	EXPECT_FALSE(complains(text_of(self->dir, "err", 1)));
	EXPECT_STREQ("", text_of(self->dir, "out", 0));
	ASSERT_EQ(0, write_rounds(self->w, 1));
	ASSERT_EQ(0, run_perf(self->dir, "report -i data --stats"));
	EXPECT_FALSE(complains(text_of(self->dir, "err", 1)));
	EXPECT_TRUE(has(text_of(self->dir, "out", 0), "SAMPLE events: 4"));
	ASSERT_EQ(0, write_rounds(self->w, 4000));
	ASSERT_EQ(0, write_totals(self->w));
	ASSERT_EQ(0, run_perf(self->dir, "report -i data --header --stats"));
	EXPECT_FALSE(complains(text_of(self->dir, "err", 1)));
	EXPECT_TRUE(has(text_of(self->dir, "out", 0), "SAMPLE events: 16004"));
	EXPECT_TRUE(has(text_of(self->dir, "out", 0), "# time of first sample : 1.000000"));
}

TEST_HARNESS_MAIN
