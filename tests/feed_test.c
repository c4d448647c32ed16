// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a perf.data file to the report's figures: records of this very program, written with
 * plugin/perfdata, read back, named and counted.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/types.h>
#include "bpf/churn.h"
#include "churn/feed.h"
#include "churn/filter.h"
#include "churn/names.h"
#include "churn/report.h"
#include "churn/stacks.h"
#include "perfdata/reader.h"
#include "perfdata/writer.h"
#include "perfdata_image.h"
#include "stack/machine.h"

#include "kselftest_harness.h"

#define PID		100
#define SEC		1000000000ull
#define CHAIN_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | \
			 PERF_SAMPLE_CALLCHAIN)

enum { ID_CPU = 1, ID_ALLOC, ID_FREE, ID_WINDOW, ID_PROBE, ID_RANGE, ID_STACKS };

/* Functions to stand on the stacks; the names of two mean something to the report. */
#define FUNCTION(name) \
	__attribute__((noinline, noclone)) int name(int x); \
	int name(int x) { __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop"); return x + 1; }

FUNCTION(feed_leaf)
FUNCTION(feed_other)
FUNCTION(feed_main)
FUNCTION(xmemdup0)
FUNCTION(_int_free)

#define AT(name)	((__u64)(unsigned long)name + 6)

FIXTURE(feed) {
	char path[64];
	struct pdwriter *w;
	struct image rec;
	struct filter filter;
	struct names *names;
	struct pdreader *reader;
	struct machine *machine;
	struct feed *feed;
	const struct report *r;
	__u64 seq;
};

static void set_event(struct pdwriter_event *e, struct perf_event_attr *attr, __u64 *ids,
		      __u32 type, __u64 config, const char *name, __u64 id)
{
	*attr = (struct perf_event_attr){
		.type = type, .config = config, .size = 128, .sample_type = CHAIN_TYPE,
		.sample_id_all = 1, .freq = type == PERF_TYPE_HARDWARE, .sample_freq = 999,
	};
	if (type == PERF_TYPE_TRACEPOINT)
		attr->sample_type |= PERF_SAMPLE_RAW;
	ids[id] = id;
	*e = (struct pdwriter_event){ .attr = attr, .name = name, .ids = &ids[id], .nr_ids = 1 };
}

/* How many of the events a file has, in their order. */
enum { CPU_ONLY = 1, WITH_CHURN = 6, WITH_STACKS = 7 };

static int start_file(struct pdwriter *w, int nr_events, __u64 no_type)
{
	static const char *argv[] = { "perf", "churn", "record", "--", "./my prog" };
	struct pdwriter_info info = { .argc = 5, .argv = argv, .clockid = CLOCK_MONOTONIC };
	struct perf_event_attr attrs[7];
	struct pdwriter_event events[7];
	__u64 ids[8];
	int i;

	set_event(&events[0], &attrs[0], ids, PERF_TYPE_HARDWARE, 0, "cycles", ID_CPU);
	set_event(&events[1], &attrs[1], ids, PERF_TYPE_TRACEPOINT, CHURN_ALLOC_ID, "churn:alloc",
		  ID_ALLOC);
	set_event(&events[2], &attrs[2], ids, PERF_TYPE_TRACEPOINT, CHURN_FREE_ID, "churn:free",
		  ID_FREE);
	set_event(&events[3], &attrs[3], ids, PERF_TYPE_TRACEPOINT, CHURN_WINDOW_ID,
		  "churn:window", ID_WINDOW);
	set_event(&events[4], &attrs[4], ids, PERF_TYPE_TRACEPOINT, CHURN_PROBE_ID, "churn:probe",
		  ID_PROBE);
	set_event(&events[5], &attrs[5], ids, PERF_TYPE_TRACEPOINT, CHURN_RANGE_ID, "churn:range",
		  ID_RANGE);
	set_event(&events[6], &attrs[6], ids, PERF_TYPE_TRACEPOINT, CHURN_STACKS_ID,
		  "churn:stacks", ID_STACKS);
	for (i = 0; i < 7; i++)
		attrs[i].sample_type &= ~no_type;
	return pdwriter__start(w, events, nr_events, &info);
}

static void end_record(FIXTURE_DATA(feed) *self)
{
	image__end(&self->rec, 0);
	pdwriter__write(self->w, self->rec.bytes, self->rec.nr);
	self->rec.nr = 0;
	self->rec.nr_marks = 0;
}

static void add_trailer(struct image *im, __u32 pid, __u64 time)
{
	image__u32(im, pid);
	image__u32(im, pid);
	image__u64(im, time);
	image__u64(im, 0);	/* CPU */
	image__u64(im, ID_CPU);
}

struct own_map {
	unsigned long start, end, pgoff;
	char path[256];
};

/* The mapping of this program that holds its functions. */
static struct own_map find_own_map(void)
{
	unsigned long self_ip = (unsigned long)feed_leaf;
	FILE *maps = fopen("/proc/self/maps", "r");
	struct own_map m = {};
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &m.start, &m.end, &m.pgoff,
			   m.path) == 4 && self_ip >= m.start && self_ip < m.end)
			break;
	}
	fclose(maps);
	return m;
}

static void write_own_map(FIXTURE_DATA(feed) *self, __u32 pid, __u64 time)
{
	struct own_map m = find_own_map();

	image__begin(&self->rec, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	image__u32(&self->rec, pid);
	image__u32(&self->rec, pid);
	image__u64(&self->rec, m.start);
	image__u64(&self->rec, m.end - m.start);
	image__u64(&self->rec, m.pgoff);
	image__u64(&self->rec, 0);	/* maj, min */
	image__u64(&self->rec, 0);
	image__u64(&self->rec, 0);
	image__u32(&self->rec, 5);
	image__u32(&self->rec, 2);
	image__padded(&self->rec, m.path, 8);
	add_trailer(&self->rec, pid, time);
	end_record(self);
}

#define LIB		"/nonexistent/libc.so.6"
#define LIB_START	0x7000000000ULL
#define LIB_AT(offset)	(LIB_START + (offset) - 0x1000)

/* A library that is not on this machine, its file mapped from 0x1000 on; @build_id may be NULL. */
static void write_lib_map(FIXTURE_DATA(feed) *self, const char *build_id)
{
	static const char no_build_id[20];

	image__begin(&self->rec, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER |
		     (build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	image__u32(&self->rec, PID);
	image__u32(&self->rec, PID);
	image__u64(&self->rec, LIB_START);
	image__u64(&self->rec, 0x10000);
	image__u64(&self->rec, 0x1000);
	image__u32(&self->rec, build_id ? strlen(build_id) : 0);
	image__add(&self->rec, build_id ?: no_build_id, sizeof(no_build_id));
	image__u32(&self->rec, 5);
	image__u32(&self->rec, 2);
	image__padded(&self->rec, LIB, 8);
	add_trailer(&self->rec, PID, SEC);
	end_record(self);
}

static void write_comm(FIXTURE_DATA(feed) *self, __u32 pid, const char *comm, __u16 misc,
		       __u64 time)
{
	image__begin(&self->rec, PERF_RECORD_COMM, misc);
	image__u32(&self->rec, pid);
	image__u32(&self->rec, pid);
	image__padded(&self->rec, comm, 8);
	add_trailer(&self->rec, pid, time);
	end_record(self);
}

static void write_lost(FIXTURE_DATA(feed) *self, __u64 id, __u64 nr, __u64 time)
{
	image__begin(&self->rec, PERF_RECORD_LOST, 0);
	image__u64(&self->rec, id);
	image__u64(&self->rec, nr);
	add_trailer(&self->rec, PID, time);
	end_record(self);
}

/* @ips ends with 0; the first one is the sample's ip. */
static void write_sample(FIXTURE_DATA(feed) *self, __u64 id, __u32 pid, __u64 time,
			 const __u64 *ips, const void *raw, size_t raw_bytes)
{
	struct image *im = &self->rec;
	__u32 padded_bytes = (raw_bytes + 4 + 7) / 8 * 8 - 4;
	size_t nr = 0, i;

	while (ips[nr])
		nr++;
	image__begin(im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	image__u64(im, id);
	image__u64(im, ips[0]);
	image__u32(im, pid);
	image__u32(im, pid);
	image__u64(im, time);
	image__u64(im, 0);
	image__u64(im, 1000);		/* period */
	image__u64(im, nr + 1);
	image__u64(im, PERF_CONTEXT_USER);
	for (i = 0; i < nr; i++)
		image__u64(im, ips[i]);
	if (raw) {
		image__u32(im, padded_bytes);
		image__add(im, raw, raw_bytes);
		for (i = raw_bytes; i < padded_bytes; i++)
			image__u8(im, 0);
	}
	end_record(self);
}

static const __u64 *leaf_chain(void)
{
	static __u64 ips[4];

	ips[0] = AT(xmemdup0);
	ips[1] = AT(feed_leaf);
	ips[2] = AT(feed_main);
	return ips;
}

static const __u64 *other_chain(void)
{
	static __u64 ips[4];

	ips[0] = AT(feed_other);
	ips[1] = AT(feed_main);
	return ips;
}

static __u64 write_alloc(FIXTURE_DATA(feed) *self, __u32 pid, __u64 time, const __u64 *ips,
			 __u64 size, __u64 weight)
{
	struct churn_alloc a = {
		.common = { .type = CHURN_ALLOC_ID, .pid = pid }, .ptr = 0x1000, .size = size,
		.weight = weight, .seq = ++self->seq, .caller = ips[0] + 1,
		.fn = CHURN_FN_MALLOC, .flags = CHURN_F_REPAIRED,
	};

	write_sample(self, ID_ALLOC, pid, time, ips, &a, sizeof(a));
	return self->seq;
}

static void write_free(FIXTURE_DATA(feed) *self, __u32 pid, __u64 time, __u64 seq, __u64 life_ns,
		       __u64 weight)
{
	struct churn_free f = {
		.common = { .type = CHURN_FREE_ID, .pid = pid }, .lifetime_ns = life_ns,
		.weight = weight, .seq = seq, .fn = CHURN_FN_FREE,
		.caller = other_chain()[0] + 1, .flags = seq ? 0 : CHURN_F_UNSEEN,
	};

	write_sample(self, ID_FREE, pid, time, other_chain(), &f, sizeof(f));
}

static void write_window(FIXTURE_DATA(feed) *self, __u32 pid, __u64 time, struct churn_window w)
{
	w.common.type = CHURN_WINDOW_ID;
	w.end_ns = time;
	write_sample(self, ID_WINDOW, pid, time, other_chain(), &w, sizeof(w));
}

/* Its allocator is at 0x401500 to 0x401700, which is from 0x1500 on in the file. */
static void write_range(FIXTURE_DATA(feed) *self, const char *object, const char *build_id)
{
	struct churn_range r = {
		.common.type = CHURN_RANGE_ID, .start = 0x401500, .end = 0x401700,
		.offset = 0x1500, .how = CHURN_RANGE_CALLS, .build_id_bytes = strlen(build_id),
	};

	memcpy(r.build_id, build_id, strlen(build_id));
	strncpy(r.object, object, sizeof(r.object) - 1);
	write_sample(self, ID_RANGE, PID, 9 * SEC, other_chain(), &r, sizeof(r));
}

FIXTURE_SETUP(feed)
{
	memset(self, 0, sizeof(*self));
	strcpy(self->path, "/tmp/churn-feed-XXXXXX");
	close(mkstemp(self->path));
	unlink(self->path);
	ASSERT_EQ(0, names__new(NULL, 0, &self->names));
	ASSERT_EQ(0, pdwriter__new(self->path, &self->w));
	ASSERT_EQ(0, start_file(self->w, WITH_CHURN, 0));
	write_comm(self, PID, "prog", 0, SEC);
	write_own_map(self, PID, SEC);
}

FIXTURE_TEARDOWN(feed)
{
	feed__free(self->feed);
	machine__free(self->machine);
	pdreader__close(self->reader);
	names__free(self->names);
	filter__exit(&self->filter);
	image__free(&self->rec);
	pdwriter__free(self->w);
	unlink(self->path);
}

static int read_report(FIXTURE_DATA(feed) *self)
{
	struct machine_opts machine_opts = { .demangle = true };
	struct feed_opts opts = { .filter = &self->filter, .names = self->names };
	int err;

	err = pdwriter__finish(self->w);
	err = err ?: pdreader__open(self->path, &self->reader);
	err = err ?: machine__new(&machine_opts, &self->machine);
	err = err ?: feed__new(&opts, self->reader, self->machine, &self->feed);
	return err ?: feed__read(self->feed) ?: feed__report(self->feed, &self->r);
}

static const char *site_name(const struct report *r, size_t idx)
{
	return stacks__frame(r->stacks, r->sites[idx].stack)->sym ?: "";
}

TEST_F(feed, allocations_reach_their_sites)
{
	__u64 seq;
	int i;

	for (i = 0; i < 23; i++) {
		seq = write_alloc(self, PID, SEC + i * 1000, leaf_chain(), 32, 1);
		if (i < 20)
			write_free(self, PID, SEC + i * 1000 + 500, seq, 500, 1);
	}
	write_alloc(self, PID, 2 * SEC, other_chain(), 4096, 1);
	ASSERT_EQ(0, read_report(self));
	ASSERT_EQ(2, self->r->nr_sites);
	EXPECT_STREQ("feed_leaf", site_name(self->r, 0));
	EXPECT_EQ(23, self->r->sites[0].allocs.value);
	EXPECT_EQ(23 * 32, self->r->sites[0].bytes.value);
	EXPECT_EQ(20, self->r->sites[0].frees.value);
	EXPECT_EQ(3, self->r->sites[0].live_allocs.value);
	EXPECT_GE(self->r->sites[0].p50_life_ns, 448);
	EXPECT_LE(self->r->sites[0].p50_life_ns, 512);
	EXPECT_STREQ("feed_other", site_name(self->r, 1));
	EXPECT_EQ(24, self->r->totals.allocs.value);
	EXPECT_EQ(4, self->r->totals.live_allocs.value);
	EXPECT_EQ(44, self->r->check.nr_stacks);
	EXPECT_EQ(0, self->r->check.nr_caller_missing);
	EXPECT_EQ(24, self->r->check.nr_repaired);
}

TEST_F(feed, recording_says_where_it_comes_from)
{
	write_window(self, PID, 3 * SEC, (struct churn_window){
		.start_ns = SEC, .nr_allocs = 10, .sample_period = 1 });
	ASSERT_EQ(0, read_report(self));
	EXPECT_STREQ("perf churn record -- './my prog'", self->r->recording.command);
	EXPECT_STREQ("uprobe", self->r->recording.method);
	EXPECT_STREQ("cycles", self->r->recording.cpu_event);
	EXPECT_EQ(999, self->r->recording.freq_hz);
	EXPECT_EQ(2, self->r->recording.duration_s);
	EXPECT_EQ(10, self->r->totals.allocs.value);
	EXPECT_TRUE(self->r->recording.has_frees);
	EXPECT_FALSE(self->r->recording.filtered);
}

TEST_F(feed, cpu_samples_in_the_allocator_count_for_it)
{
	__u64 in_free[] = { AT(_int_free), AT(feed_leaf), AT(feed_main), 0 };
	int i;

	for (i = 0; i < 40; i++)
		write_sample(self, ID_CPU, PID, SEC + i, i < 10 ? in_free : other_chain(), NULL, 0);
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(40, self->r->cpu.nr_samples);
	EXPECT_EQ(10, self->r->cpu.nr_allocator);
	EXPECT_EQ(0.25, self->r->cpu.share.value);
	EXPECT_EQ(40, self->r->cpu.nr_chained);
}

TEST_F(feed, cpu_share_of_a_site_is_unknown_by_frame_pointers)
{
	__u64 in_free[] = { AT(_int_free), AT(feed_main), 0 };	/* feed_leaf was skipped */
	int i;

	write_alloc(self, PID, SEC, leaf_chain(), 8, 1);
	for (i = 0; i < 40; i++)
		write_sample(self, ID_CPU, PID, SEC + i, i < 10 ? in_free : leaf_chain(), NULL, 0);
	ASSERT_EQ(0, word_list__parse(&self->filter.symbols, "feed_leaf"));
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(30, self->r->cpu.nr_samples);
	EXPECT_TRUE(isnan(self->r->cpu.share.value));
}

/* The file anew, with other events. */
static int restart_file(FIXTURE_DATA(feed) *self, int nr_events, __u64 no_type)
{
	pdwriter__free(self->w);
	unlink(self->path);
	return pdwriter__new(self->path, &self->w) ?: start_file(self->w, nr_events, no_type);
}

TEST_F(feed, cpu_share_of_a_site_is_known_by_call_frame_information)
{
	__u64 in_free[] = { AT(_int_free), AT(feed_leaf), AT(feed_main), 0 };
	int i;

	ASSERT_EQ(0, restart_file(self, WITH_STACKS, 0));
	write_comm(self, PID, "prog", 0, SEC);
	write_own_map(self, PID, SEC);
	write_alloc(self, PID, SEC, leaf_chain(), 8, 1);
	for (i = 0; i < 40; i++)
		write_sample(self, ID_CPU, PID, SEC + i, i < 10 ? in_free : leaf_chain(), NULL, 0);
	ASSERT_EQ(0, word_list__parse(&self->filter.symbols, "feed_leaf"));
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(40, self->r->cpu.nr_samples);
	EXPECT_EQ(0.25, self->r->cpu.share.value);
}

TEST_F(feed, callchains_are_by_frame_pointers_unless_the_file_says_more)
{
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(CALL_GRAPH_FP, self->r->recording.call_graph);
	EXPECT_EQ(CALL_GRAPH_FP, self->r->recording.cpu_call_graph);
}

TEST_F(feed, with_the_event_stacks_callchains_are_by_call_frame_information)
{
	ASSERT_EQ(0, restart_file(self, WITH_STACKS, 0));
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(CALL_GRAPH_CFI, self->r->recording.call_graph);
	EXPECT_EQ(CALL_GRAPH_CFI, self->r->recording.cpu_call_graph);
	EXPECT_EQ(0, self->r->check.nr_bad);
}

TEST_F(feed, the_last_stacks_sample_counts)
{
	struct churn_stacks s = { .common.type = CHURN_STACKS_ID, .nr_complete = 1 };

	ASSERT_EQ(0, restart_file(self, WITH_STACKS, 0));
	write_sample(self, ID_STACKS, PID, SEC, other_chain(), &s, sizeof(s));
	s.nr_complete = 23;
	s.nr_max = 2;
	s.nr_copied = 3;
	write_sample(self, ID_STACKS, PID, 2 * SEC, other_chain(), &s, sizeof(s));
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(23, self->r->walks.nr_complete);
	EXPECT_EQ(2, self->r->walks.nr_max);
	EXPECT_EQ(3, self->r->walks.nr_copied);
}

TEST_F(feed, the_file_says_whether_it_has_call_graphs)
{
	ASSERT_EQ(0, restart_file(self, WITH_STACKS, PERF_SAMPLE_CALLCHAIN));
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(CALL_GRAPH_NONE, self->r->recording.call_graph);
	EXPECT_EQ(CALL_GRAPH_NONE, self->r->recording.cpu_call_graph);
}

TEST_F(feed, events_left_out_are_named)
{
	struct perf_event_attr attrs[3];
	struct pdwriter_event events[3];
	struct pdwriter_info info = { .clockid = CLOCK_MONOTONIC };
	__u64 ids[6];

	set_event(&events[0], &attrs[0], ids, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
		  "page-faults", 1);
	set_event(&events[1], &attrs[1], ids, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
		  "cpu-clock", 2);
	set_event(&events[2], &attrs[2], ids, PERF_TYPE_TRACEPOINT, CHURN_ALLOC_ID, "churn:alloc", 3);
	pdwriter__free(self->w);
	unlink(self->path);
	ASSERT_EQ(0, pdwriter__new(self->path, &self->w));
	ASSERT_EQ(0, pdwriter__start(self->w, events, 3, &info));
	ASSERT_EQ(0, read_report(self));
	EXPECT_STREQ("cpu-clock", self->r->recording.cpu_event);
	EXPECT_STREQ("page-faults", self->r->recording.other_events);
}

TEST_F(feed, a_stack_without_the_caller_or_with_two_is_noticed)
{
	__u64 missing[] = { AT(feed_other), AT(feed_main), 0 };
	__u64 twice[] = { AT(feed_leaf), AT(feed_leaf) + 1, AT(feed_main), 0 };
	struct churn_alloc a = { .common.type = CHURN_ALLOC_ID, .weight = 1,
				 .caller = AT(feed_leaf) + 1 };

	write_sample(self, ID_ALLOC, PID, SEC, missing, &a, sizeof(a));
	write_sample(self, ID_ALLOC, PID, SEC + 1, twice, &a, sizeof(a));
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(2, self->r->check.nr_stacks);
	EXPECT_EQ(1, self->r->check.nr_caller_missing);
	EXPECT_EQ(1, self->r->check.nr_caller_twice);
	EXPECT_EQ(2, self->r->check.nr_cut);
}

TEST_F(feed, losses_come_from_windows_and_from_the_kernel)
{
	write_window(self, PID, 2 * SEC, (struct churn_window){
		.nr_allocs = 10, .nr_lost_output = 3, .nr_lost_map = 2, .gap_ns = 7 });
	write_lost(self, ID_CPU, 5, 2 * SEC);
	write_lost(self, ID_ALLOC, 4, 2 * SEC);
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(3, self->r->losses.output);
	EXPECT_EQ(2, self->r->losses.map);
	EXPECT_EQ(5, self->r->losses.perf_other);
	EXPECT_EQ(4, self->r->losses.perf_churn);
	EXPECT_EQ(6, report__nr_lost(self->r));
	EXPECT_EQ(7, self->r->losses.gap_ns);
}

TEST_F(feed, a_short_payload_is_counted_and_skipped)
{
	struct churn_alloc a = { .common.type = CHURN_ALLOC_ID, .weight = 1 };

	write_sample(self, ID_ALLOC, PID, SEC, leaf_chain(), &a, 20);
	write_alloc(self, PID, SEC, leaf_chain(), 8, 1);
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(1, self->r->check.nr_bad);
	EXPECT_EQ(1, self->r->totals.allocs.value);
}

TEST_F(feed, a_weight_of_zero_counts_as_one)
{
	write_alloc(self, PID, SEC, leaf_chain(), 8, 0);
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(1, self->r->totals.allocs.value);
}

TEST_F(feed, an_exec_ends_the_old_heap_and_the_old_names)
{
	write_alloc(self, PID, SEC, leaf_chain(), 8, 1);
	write_comm(self, PID, "next", PERF_RECORD_MISC_COMM_EXEC, 2 * SEC);
	write_alloc(self, PID, 3 * SEC, leaf_chain(), 8, 1);
	ASSERT_EQ(0, read_report(self));
	ASSERT_EQ(2, self->r->nr_sites);
	EXPECT_STREQ("feed_leaf", site_name(self->r, 0));
	EXPECT_STREQ("", site_name(self->r, 1));
}

TEST_F(feed, filter_by_process_keeps_its_counted_totals)
{
	write_window(self, PID, 2 * SEC, (struct churn_window){ .nr_allocs = 10 });
	write_window(self, PID + 1, 2 * SEC, (struct churn_window){ .nr_allocs = 90 });
	self->filter.pids.ids = calloc(1, sizeof(int));
	self->filter.pids.ids[0] = PID;
	self->filter.pids.nr = 1;
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(10, self->r->totals.allocs.value);
	EXPECT_TRUE(self->r->recording.has_windows);
	EXPECT_TRUE(self->r->recording.filtered);
}

TEST_F(feed, filter_by_symbol_leaves_its_site)
{
	__u64 leaf = write_alloc(self, PID, SEC, leaf_chain(), 8, 1);
	__u64 other = write_alloc(self, PID, SEC, other_chain(), 8, 1);

	write_free(self, PID, SEC + 100, leaf, 100, 1);
	write_free(self, PID, SEC + 100, other, 100, 1);
	write_free(self, PID, SEC + 100, 0, 0, 1);
	write_window(self, PID, 2 * SEC, (struct churn_window){ .nr_allocs = 2 });
	ASSERT_EQ(0, word_list__parse(&self->filter.symbols, "feed_leaf"));
	ASSERT_EQ(0, read_report(self));
	ASSERT_EQ(1, self->r->nr_sites);
	EXPECT_STREQ("feed_leaf", site_name(self->r, 0));
	EXPECT_EQ(1, self->r->totals.allocs.value);
	EXPECT_EQ(1, self->r->totals.frees.value);
	EXPECT_FALSE(self->r->recording.has_windows);
}

TEST_F(feed, filter_by_comm_and_time)
{
	write_comm(self, PID + 1, "child", 0, SEC);
	write_own_map(self, PID + 1, SEC);
	write_alloc(self, PID, SEC + 1, leaf_chain(), 8, 1);
	write_alloc(self, PID + 1, SEC + 2, leaf_chain(), 8, 1);
	write_alloc(self, PID + 1, 3 * SEC, leaf_chain(), 8, 1);
	ASSERT_EQ(0, word_list__parse(&self->filter.comms, "child"));
	self->filter.end_ns = 2 * SEC;
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(1, self->r->totals.allocs.value);
	EXPECT_LT(self->r->recording.duration_s, 1.1);
}

TEST_F(feed, processes_with_the_same_stacks_share_them)
{
	write_comm(self, PID + 1, "prog", 0, SEC);
	write_own_map(self, PID + 1, SEC);
	write_alloc(self, PID, SEC, leaf_chain(), 8, 1);
	write_alloc(self, PID + 1, SEC, leaf_chain(), 8, 1);
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(1, self->r->nr_sites);
	EXPECT_EQ(1, self->r->nr_paths);
}

TEST_F(feed, the_end_of_a_followed_block_counts_whoever_frees_it)
{
	__u64 seq = write_alloc(self, PID, SEC, leaf_chain(), 8, 1);

	/* The thread that frees it is filtered out by its name. */
	write_comm(self, PID, "other", 0, SEC + 1);
	write_free(self, PID, SEC + 100, seq, 100, 1);
	ASSERT_EQ(0, word_list__parse(&self->filter.comms, "prog"));
	ASSERT_EQ(0, read_report(self));
	EXPECT_EQ(1, self->r->totals.allocs.value);
	EXPECT_EQ(0, self->r->totals.live_allocs.value);
	EXPECT_EQ(0, self->r->totals.frees.value);
}

/* What an allocation from inside the library's allocator and one from behind it are shown as. */
static int report_lib(FIXTURE_DATA(feed) *self)
{
	__u64 inside[] = { LIB_AT(0x1600), AT(feed_leaf), AT(feed_main), 0 };
	__u64 behind[] = { LIB_AT(0x1701), AT(feed_leaf), AT(feed_main), 0 };
	int i;

	for (i = 0; i < 23; i++) {
		write_alloc(self, PID, SEC + i, inside, 1000, 1);
		write_sample(self, ID_CPU, PID, SEC + i, inside, NULL, 0);
	}
	write_alloc(self, PID, SEC, behind, 10, 1);
	write_sample(self, ID_CPU, PID, SEC, behind, NULL, 0);
	return read_report(self);
}

static void expect_internals(struct __test_metadata *_metadata, const struct report *r)
{
	const struct stack_frame *inner = stacks__frame(r->stacks, r->paths[0].stack);

	ASSERT_EQ(2, r->nr_sites);
	EXPECT_STREQ("feed_leaf", site_name(r, 0));
	EXPECT_EQ(23, r->sites[0].allocs.value);
	EXPECT_STREQ("[malloc internals]", inner->sym);
	EXPECT_STREQ(LIB, inner->dso);
	EXPECT_EQ(0x401500, inner->sym_start);
	EXPECT_EQ(0x401600, inner->rel_ip);
	EXPECT_STREQ("", site_name(r, 1));
	EXPECT_EQ(23, r->cpu.nr_allocator);
	EXPECT_EQ(1, r->cpu.nr_unnamed_libc);
	EXPECT_EQ(2, r->check.nr_unnamed);
}

TEST_F(feed, code_in_a_range_is_the_allocators_though_the_range_comes_last)
{
	write_lib_map(self, NULL);
	write_range(self, LIB, "");
	ASSERT_EQ(0, report_lib(self));
	expect_internals(_metadata, self->r);
	EXPECT_LT(self->r->recording.duration_s, 1);
}

TEST_F(feed, ranges_go_by_build_id_whatever_the_path)
{
	write_lib_map(self, "12345678901234567890");
	write_range(self, "/other/name.so", "12345678901234567890");
	ASSERT_EQ(0, report_lib(self));
	expect_internals(_metadata, self->r);
}

TEST_F(feed, ranges_of_a_long_path_go_by_its_end)
{
	write_lib_map(self, NULL);
	write_range(self, "existent/libc.so.6", "");
	ASSERT_EQ(0, report_lib(self));
	expect_internals(_metadata, self->r);
}

TEST_F(feed, ranges_of_another_build_are_not_taken)
{
	write_lib_map(self, "12345678901234567890");
	write_range(self, LIB, "12345678901234567891");
	ASSERT_EQ(0, report_lib(self));
	EXPECT_STREQ("", site_name(self->r, 0));
	EXPECT_EQ(0, self->r->cpu.nr_allocator);
	EXPECT_EQ(24, self->r->cpu.nr_unnamed_libc);
}

TEST_F(feed, a_file_without_ranges_is_shown_as_ever)
{
	write_lib_map(self, NULL);
	ASSERT_EQ(0, report_lib(self));
	EXPECT_STREQ("", site_name(self->r, 0));
	EXPECT_EQ(0, self->r->cpu.nr_allocator);
	EXPECT_EQ(24, self->r->cpu.nr_unnamed_libc);
}

TEST_F(feed, a_named_function_in_a_range_is_the_allocators_and_keeps_its_name)
{
	__u64 in_other[] = { AT(feed_other), AT(feed_leaf), AT(feed_main), 0 };
	struct own_map m = find_own_map();
	struct churn_range r = {
		.common.type = CHURN_RANGE_ID, .start = 1, .end = 9,
		.offset = (__u64)(unsigned long)feed_other - m.start + m.pgoff,
	};
	size_t chars = strlen(m.path);

	strcpy(r.object, m.path + (chars < sizeof(r.object) ? 0 : chars - sizeof(r.object) + 1));
	write_sample(self, ID_RANGE, PID, 9 * SEC, other_chain(), &r, sizeof(r));
	write_alloc(self, PID, SEC, in_other, 1000, 1);
	ASSERT_EQ(0, read_report(self));
	EXPECT_STREQ("feed_leaf", site_name(self->r, 0));
	EXPECT_STREQ("feed_other", stacks__frame(self->r->stacks, self->r->paths[0].stack)->sym);
}

TEST(a_file_without_allocation_events_is_refused)
{
	char path[] = "/tmp/churn-feed-XXXXXX";
	struct filter filter = {0};
	struct feed_opts opts = { .filter = &filter };
	struct machine_opts machine_opts = {0};
	struct pdreader *reader;
	struct machine *machine;
	struct pdwriter *w;
	struct feed *feed = NULL;

	close(mkstemp(path));
	unlink(path);
	ASSERT_EQ(0, names__new(NULL, 0, (struct names **)&opts.names));
	ASSERT_EQ(0, pdwriter__new(path, &w));
	ASSERT_EQ(0, start_file(w, CPU_ONLY, 0));
	ASSERT_EQ(0, pdwriter__finish(w));
	ASSERT_EQ(0, pdreader__open(path, &reader));
	ASSERT_EQ(0, machine__new(&machine_opts, &machine));
	EXPECT_EQ(-ENOMSG, feed__new(&opts, reader, machine, &feed));
	EXPECT_EQ(NULL, feed);
	machine__free(machine);
	pdreader__close(reader);
	pdwriter__free(w);
	names__free((struct names *)opts.names);
	unlink(path);
}

TEST_HARNESS_MAIN
