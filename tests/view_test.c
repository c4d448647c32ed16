// SPDX-License-Identifier: GPL-2.0-only
/*
 * The views, against files in tests/data/. UPDATE_GOLDEN=1 writes those files anew: read the diff.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "churn/costs.h"
#include "churn/cpu_class.h"
#include "churn/model.h"
#include "stack/machine.h"
#include "util/msg.h"
#include "view/format.h"
#include "view/json_out.h"
#include "view/names_of.h"
#include "view/view.h"

#include "kselftest_harness.h"

/* --- figures ---------------------------------------------------------------------------------- */

FIXTURE(format) { char buf[FORMAT_BYTES]; };
FIXTURE_SETUP(format) { self->buf[0] = '\0'; }
FIXTURE_TEARDOWN(format) { (void)self; }

FIXTURE_VARIANT(format) {
	const char *(*fn)(char *buf, double value);
	double value;
	const char *want;
};

#define FORMAT(row, fn_, value_, want_) FIXTURE_VARIANT_ADD(format, row) { fn_, value_, want_ }

FORMAT(count_zero, format_count, 0, "0");
FORMAT(count_thousands, format_count, 1234567, "1,234,567");
FORMAT(count_below_a_thousand, format_count, 999, "999");
FORMAT(count_fraction, format_count, 2.5, "2.5");
FORMAT(count_fraction_above_ten, format_count, 1234.5678, "1,235");
FORMAT(count_beyond_u64, format_count, 1e30, "9,000,000,000,000,000,000");
FORMAT(count_unknown, format_count, NAN, "-");
FORMAT(si_small, format_si, 7, "7");
FORMAT(si_kilo, format_si, 1210, "1.21 K");
FORMAT(si_rounds_up_to_the_next_unit, format_si, 999600, "1.00 M");
FORMAT(si_beyond, format_si, 1e21, "1000000000 T");
FORMAT(bytes, format_bytes, 1023, "1.00 KB");
FORMAT(kilobytes, format_bytes, 2048, "2 KB");
FORMAT(megabytes, format_bytes, 96.3 * 1024 * 1024, "96.3 MB");
FORMAT(exabytes, format_bytes, 1.8446744073709552e19, "16 EB");
FORMAT(ns, format_ns, 999, "999 ns");
FORMAT(us, format_ns, 1234, "1.23 us");
FORMAT(seconds, format_ns, 12e9, "12 s");
FORMAT(time_unknown, format_ns, NAN, "-");

TEST_F(format, figures)
{
	EXPECT_STREQ(variant->want, variant->fn(self->buf, variant->value));
}

TEST(error_is_relative_and_silent_where_counted)
{
	struct estimate counted = { .value = 100 }, small = { 1000, 12, 0 }, big = { 100, 50, 0 };
	char buf[FORMAT_BYTES];

	EXPECT_STREQ("", format_error(buf, &counted));
	EXPECT_STREQ("+- 1.2 %", format_error(buf, &small));
	EXPECT_STREQ("+- 50 %", format_error(buf, &big));
}

/* --- hostile names ---------------------------------------------------------------------------- */

FIXTURE(text) { char *out; size_t bytes; FILE *to; };

FIXTURE_SETUP(text)
{
	self->to = open_memstream(&self->out, &self->bytes);
	ASSERT_NE(NULL, self->to);
}

FIXTURE_TEARDOWN(text)
{
	free(self->out);
}

FIXTURE_VARIANT(text) {
	const char *name, *want_text, *want_json;
};

#define TEXT(row, name_, text_, json_) FIXTURE_VARIANT_ADD(text, row) { name_, text_, json_ }

TEXT(plain, "main", "main", "\"main\"\n");
TEXT(empty, "", "", "\"\"\n");
TEXT(escape_sequence, "a\033[2Jb", "a?[2Jb", "\"a\\u001b[2Jb\"\n");
TEXT(newline_and_tab, "a\nb\tc", "a?b?c", "\"a\\u000ab\\u0009c\"\n");
TEXT(quote_and_backslash, "a\"b\\c", "a\"b\\c", "\"a\\\"b\\\\c\"\n");
TEXT(utf8, "gr\xc3\xb6\xc3\x9f" "e", "gr\xc3\xb6\xc3\x9f" "e", "\"gr\xc3\xb6\xc3\x9f" "e\"\n");
TEXT(four_bytes, "\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7", "\"\xf0\x9f\x90\xa7\"\n");
TEXT(lone_continuation, "a\x80z", "a?z", "\"a\\ufffdz\"\n");
TEXT(cut_sequence, "a\xe2\x82", "a??", "\"a\\ufffd\\ufffd\"\n");
TEXT(overlong_slash, "\xc0\xaf", "??", "\"\\ufffd\\ufffd\"\n");
TEXT(surrogate, "\xed\xa0\x80", "???", "\"\\ufffd\\ufffd\\ufffd\"\n");
TEXT(beyond_unicode, "\xf4\x90\x80\x80", "????", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"\n");
TEXT(ff, "\xff\xfe", "??", "\"\\ufffd\\ufffd\"\n");
TEXT(c1_control, "a\xc2\x9b" "2J", "a?2J", "\"a\xc2\x9b" "2J\"\n");
TEXT(right_to_left, "a\xe2\x80\xae" "b", "a?b", "\"a\xe2\x80\xae" "b\"\n");

TEST_F(text, terminal_is_safe)
{
	print_text(self->to, variant->name);
	ASSERT_EQ(0, fclose(self->to));
	EXPECT_STREQ(variant->want_text, self->out);
}

TEST_F(text, json_is_valid)
{
	struct json_out j = { .out = self->to };

	json__string(&j, NULL, variant->name);
	fputc('\n', self->to);
	ASSERT_EQ(0, fclose(self->to));
	EXPECT_STREQ(variant->want_json, self->out);
}

TEST(json_numbers_are_plain_or_null)
{
	char *text = NULL;
	size_t bytes;
	struct json_out j = { .out = open_memstream(&text, &bytes) };

	json__open(&j, NULL, '[');
	json__number(&j, NULL, 0);
	json__number(&j, NULL, 1e14);
	json__number(&j, NULL, 0.25);
	json__number(&j, NULL, NAN);
	json__number(&j, NULL, INFINITY);
	json__u64(&j, NULL, ~0ull);
	json__open(&j, NULL, '{');
	json__close(&j, '}');
	json__close(&j, ']');
	fclose(j.out);
	EXPECT_STREQ("[\n  0,\n  100000000000000,\n  0.25,\n  null,\n  null,\n"
		     "  18446744073709551615,\n  {}\n]\n", text);
	free(text);
}

/* --- whole reports ---------------------------------------------------------------------------- */

FIXTURE(report) {
	struct names *names;
	struct model *m;
	struct report_recording rec;
	struct view_opts opts;
	const struct report *r;
};

static const char *fake_srcline(void *ctx, const struct frame *f, bool call)
{
	(void)ctx;
	(void)call;
	return f->sym && !strncmp(f->sym, "leaf", 4) ? "tree.c:12" : NULL;
}

FIXTURE_SETUP(report)
{
	struct model_opts opts = { .srcline = fake_srcline, .max_live = 1000 };

	ASSERT_EQ(0, names__new(NULL, 0, &self->names));
	opts.names = self->names;
	ASSERT_EQ(0, model__new(&opts, &self->m));
	self->rec = (struct report_recording){
		.command = "perf churn record -- ./demo 'two words'", .method = "uprobe",
		.cpu_event = "cycles", .hostname = "vm", .freq_hz = 999, .duration_s = 2,
		.nr_cpus = 2, .has_weights = true, .has_frees = true,
	};
	self->opts = (struct view_opts){ .max_stack = 127, .max_path_lines = 8, .limit = 10 };
}

FIXTURE_TEARDOWN(report)
{
	model__free(self->m);
	names__free(self->names);
}

#define F(name, start, at) \
	{ .ip = (at), .sym = (name), .sym_start = (start), .rel_ip = (at), .dso = "/bin/demo" }

static const struct frame start = F("_start", 0x10, 0x20);
static const struct frame main_a = F("main", 0x100, 0x110), main_b = F("main", 0x100, 0x120);
static const struct frame mid = F("mid", 0x200, 0x210), mid2 = F("mid2", 0x300, 0x310);
static const struct frame leaf = F("leaf", 0x400, 0x410);
static const struct frame op_new = F("operator new(unsigned long)", 0x500, 0x510);
static const struct frame vector = F("std::vector<int>::push_back(int)", 0x600, 0x610);
static const struct frame grow = F("Tree::grow()", 0x700, 0x71f);
static const struct frame nameless = { .ip = 0x5000, .rel_ip = 0x1000, .dso = "/lib/libstrip.so" };

static __u64 seq;

static void add(struct model *m, int nr, __u64 size, __u64 weight, __u64 life_ns,
		const struct frame *frames, size_t nr_frames)
{
	struct model_alloc a = {
		.time_ns = 1000, .size_bytes = size, .weight = weight, .pid = 10,
		.fn = CHURN_FN_MALLOC, .comm = stacks__string(model__stacks(m), "demo"),
	};
	struct model_free f = { .lifetime_ns = life_ns, .weight = weight, .pid = 10,
				.fn = CHURN_FN_FREE, .counted = true };

	stacks__add(model__stacks(m), frames, nr_frames, &a.stack);
	f.stack = a.stack;
	while (nr-- > 0) {
		a.seq = f.seq = ++seq;
		model__add_alloc(m, &a);
		if (life_ns)
			model__add_free(m, &f);
	}
}

static void add_sites(struct model *m, __u64 weight)
{
	const struct frame leaf_mid[] = { leaf, mid, main_a, start };
	const struct frame leaf_mid2[] = { leaf, mid2, main_b, start };
	const struct frame growing[] = { op_new, vector, grow, main_b, start };
	const struct frame stripped[] = { nameless, main_a, start };

	add(m, 60, 24, weight, 1500, leaf_mid, 4);
	add(m, 20, 24, weight, 900, leaf_mid2, 4);
	add(m, 15, 4096, weight, 2000000, growing, 5);
	add(m, 5, 100, weight, 0, stripped, 3);
}

static void add_probe(struct model *m, const char *symbol, __u32 fn, __u64 hits, bool emulated)
{
	struct churn_probe p = { .nr_hits = hits, .fn = fn, .offset = 0x98920 + fn,
				 .emulated = emulated };

	strcpy(p.symbol, symbol);
	strcpy(p.object, "/lib/libc.so.6");
	model__add_probe(m, &p);
}

static void add_cpu_path(struct model *m, int nr, enum cpu_class class, __u32 flags,
			 const struct frame *frames, size_t nr_frames)
{
	struct cpu_path like = { .stack = STACK_NONE, .class = class, .flags = flags };
	__u32 path;

	like.comm = stacks__string(model__stacks(m), "demo");
	if ((nr_frames && stacks__add(model__stacks(m), frames, nr_frames, &like.stack)) ||
	    model__cpu_path(m, &like, &path))
		return;
	while (nr-- > 0)
		model__add_cpu(m, path, 1000);
}

static void add_cpu(struct model *m)
{
	add_cpu_path(m, 250, CLASS_MALLOC, CPU_CHAINED | CPU_ALLOCATOR, NULL, 0);
	add_cpu_path(m, 750, CLASS_COMPUTE, CPU_CHAINED, NULL, 0);
	add_cpu_path(m, 50, CLASS_PROBE, CPU_PROBE, NULL, 0);
}

static void add_window(struct model *m, struct churn_window w)
{
	w.end_ns = 2000000000;
	model__add_window(m, 10, &w);
}

static void make_exact(struct model *m)
{
	add_sites(m, 1);
	add_cpu(m);
	add_probe(m, "malloc", CHURN_FN_MALLOC, 100, true);
	add_probe(m, "valloc", CHURN_FN_VALLOC, 0, false);
	add_probe(m, "free", CHURN_FN_FREE, 95, true);
	model__check(m)->nr_stacks = 100;
	model__check(m)->nr_repaired = 40;
	add_window(m, (struct churn_window){
		.nr_allocs = 100, .alloc_bytes = 63860, .nr_frees = 95, .nr_hits = 195,
		.sample_period = 1 });
}

typedef int (*view_fn)(FILE *out, const struct report *r, const struct view_opts *opts);

static char *render(view_fn view, const struct report *r, const struct view_opts *opts)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int err = view(out, r, opts);

	fclose(out);
	if (!err)
		return text;
	free(text);
	return NULL;
}

static char *read_file(const char *path)
{
	char *text = calloc(1, 1 << 16);
	FILE *in = fopen(path, "r");

	if (in) {
		text[fread(text, 1, (1 << 16) - 1, in)] = '\0';
		fclose(in);
	}
	return text;
}

static bool matches_file(const char *path, const char *text)
{
	char *want;
	bool same;
	FILE *out;

	if (getenv("UPDATE_GOLDEN")) {
		out = fopen(path, "w");
		if (!out)
			return false;
		fputs(text, out);
		fclose(out);
	}
	want = read_file(path);
	same = !strcmp(want, text);
	if (!same)
		fprintf(stderr, "# %s differs; got:\n%s", path, text);
	free(want);
	return same;
}

static bool view_matches(const char *path, view_fn view, const struct report *r,
			 const struct view_opts *opts)
{
	char *text = render(view, r, opts);
	bool same = text && matches_file(path, text);

	free(text);
	return same;
}

TEST_F(report, exact)
{
	make_exact(self->m);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-exact.txt", view__stdio, self->r,
				 &self->opts));
	EXPECT_TRUE(view_matches("tests/data/report-exact.json", view__json, self->r,
				 &self->opts));
	EXPECT_TRUE(view_matches("tests/data/report-exact.folded", view__folded, self->r,
				 &self->opts));
}

/* CPU samples for the sites of add_sites(); blocks are freed where they were allocated. */
static void add_costs(struct model *m)
{
	const struct frame inside = F("_int_malloc", 0x900, 0x910), f = F("free", 0xa00, 0xa10);
	const struct frame at_leaf[] = { inside, leaf, mid, main_a, start };
	const struct frame at_grow[] = { inside, op_new, vector, grow, main_b, start };
	const struct frame in_free[] = { f, leaf, mid, main_a, start };
	const struct frame touching[] = { F("fill", 0xb00, 0xb10), grow, main_b, start };

	add_cpu_path(m, 120, CLASS_MALLOC, CPU_ALLOCATOR, at_leaf, 5);
	add_cpu_path(m, 40, CLASS_MALLOC, CPU_ALLOCATOR, at_grow, 6);
	add_cpu_path(m, 10, CLASS_HEAP_SYSCALL, CPU_ALLOCATOR, at_grow, 6);
	add_cpu_path(m, 60, CLASS_FREE, CPU_ALLOCATOR, in_free, 5);
	add_cpu_path(m, 20, CLASS_HEAP_FAULT, CPU_FIRST_TOUCH, touching, 4);
	add_cpu_path(m, 750, CLASS_COMPUTE, 0, NULL, 0);
}

TEST_F(report, costs)
{
	self->rec.cpu_call_graph = CALL_GRAPH_CFI;
	self->rec.cpu_is_ns = true;
	add_sites(self->m, 1);
	add_costs(self->m);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, false, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-costs.txt", view__stdio, self->r, &self->opts));
	EXPECT_TRUE(view_matches("tests/data/report-costs.json", view__json, self->r, &self->opts));
	self->opts.by = BY_CPU;
	EXPECT_TRUE(view_matches("tests/data/report-costs.folded", view__folded, self->r,
				 &self->opts));
}

TEST_F(report, below_its_error_a_cost_is_grey)
{
	char *text;

	self->rec.cpu_call_graph = CALL_GRAPH_CFI;
	add_sites(self->m, 1);
	add_costs(self->m);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, false, &self->r));
	self->opts.color = true;
	text = render(view__stdio, self->r, &self->opts);
	ASSERT_NE(NULL, text);
	/* Of 1000 samples none in libstrip.so's site. */
	EXPECT_NE(NULL, strstr(text, "\033[2m    0.0 \033[m"));
	EXPECT_NE(NULL, strstr(text, "\033[31m   18.0 \033[m"));
	free(text);
}

TEST_F(report, sampled)
{
	model__begin_process(self->m, 10);
	add_sites(self->m, 100);
	add_window(self->m, (struct churn_window){
		.nr_allocs = 10123, .alloc_bytes = 6386000, .nr_frees = 9500, .nr_failed = 300,
		.sample_period = 100 });
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-sampled.txt", view__stdio, self->r,
				 &self->opts));
}

TEST_F(report, losses_are_named_and_make_lower_bounds)
{
	make_exact(self->m);
	add_window(self->m, (struct churn_window){
		.nr_lost_output = 1234, .nr_lost_map = 5, .nr_lost_inflight = 6,
		.gap_ns = 1500000, .sample_period = 1 });
	model__losses(self->m)->perf_other = 77;
	model__losses(self->m)->perf_churn = 1200;
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-losses.txt", view__stdio, self->r,
				 &self->opts));
	EXPECT_TRUE(view_matches("tests/data/report-losses.json", view__json, self->r,
				 &self->opts));
}

TEST_F(report, probes_of_others)
{
	self->rec.has_weights = self->rec.has_frees = false;
	self->rec.method = "event";
	self->rec.cpu_event = NULL;
	self->rec.other_events = "page-faults, sched:sched_switch";
	self->rec.freq_hz = 0;
	add_sites(self->m, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-foreign.txt", view__stdio, self->r,
				 &self->opts));
}

/* What the text says of @call_graph when each stack is cut. */
static bool says(FIXTURE_DATA(report) *self, enum call_graph call_graph, const char *want)
{
	char *text;
	bool found;

	self->rec.call_graph = call_graph;
	make_exact(self->m);
	model__check(self->m)->nr_cut = model__check(self->m)->nr_allocs = 23;
	if (model__finish(self->m, &self->rec, 2000000000, true, &self->r))
		return false;
	text = render(view__stdio, self->r, &self->opts);
	found = text && strstr(text, want);
	free(text);
	return found;
}

TEST_F(report, cut_stacks_by_frame_pointers_should_be_walked_by_cfi)
{
	EXPECT_TRUE(says(self, CALL_GRAPH_FP, "most stacks end early, as in code without frame "
			 "pointers: record with --call-graph auto\n"));
}

TEST_F(report, cut_stack_copies_should_be_walked_by_cfi)
{
	EXPECT_TRUE(says(self, CALL_GRAPH_DWARF, "most stacks end early, as copies are too small "
			 "for deep ones: record with --call-graph auto, or dwarf,SIZE\n"));
}

TEST_F(report, cut_stacks_walked_by_cfi_are_explained)
{
	EXPECT_TRUE(says(self, CALL_GRAPH_CFI, "most stacks end early, though walked by call frame "
			 "information: the self-check says where\n"));
}

TEST_F(report, stacks_cut_at_max_stack_should_have_a_larger_one)
{
	struct churn_stacks walks = { .nr_complete = 10, .nr_max = 7, .nr_no_map = 6 };

	model__set_stacks(self->m, &walks);
	EXPECT_TRUE(says(self, CALL_GRAPH_CFI, "most stacks end early, at the limit of --max-stack: "
			 "record with a larger one\n"));
}

TEST_F(report, perf_record_has_no_better_way_than_copies)
{
	self->rec.has_weights = false;
	EXPECT_TRUE(says(self, CALL_GRAPH_FP, "record with --call-graph dwarf\n"));
}

TEST_F(report, stacks_walked_by_cfi_are_called_so)
{
	struct churn_stacks walks = { .nr_complete = 20, .nr_max = 1, .nr_no_map = 2, .nr_copied = 4 };
	char *text;

	make_exact(self->m);
	self->rec.call_graph = self->rec.cpu_call_graph = CALL_GRAPH_CFI;
	model__set_stacks(self->m, &walks);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	text = render(view__json, self->r, &self->opts);
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "\"call_graph\": \"cfi\""));
	EXPECT_NE(NULL, strstr(text, "\"cpu_call_graph\": \"cfi\""));
	free(text);
	text = render(view__stdio, self->r, &self->opts);
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "20 of 23 stacks by call frame information reach their thread's start, 3 cut (1 at --max-stack, 2 at an unknown address); 4 walked from copies\n"));
	free(text);
}

TEST_F(report, nothing_hit)
{
	add_probe(self->m, "malloc", CHURN_FN_MALLOC, 0, true);
	add_probe(self->m, "calloc", CHURN_FN_CALLOC, 0, true);
	add_cpu(self->m);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-silent.txt", view__stdio, self->r,
				 &self->opts));
	EXPECT_TRUE(view_matches("tests/data/report-silent.json", view__json, self->r,
				 &self->opts));
}

TEST_F(report, by_bytes_with_columns)
{
	make_exact(self->m);
	self->opts.by = BY_BYTES;
	self->opts.quiet = true;
	self->opts.limit = 2;
	ASSERT_EQ(0, columns__parse("-F", "overhead,bytes,bytes_error,bytes_rate,frees,live,live_bytes,srcline,dso,sym",
				    &self->opts.fields));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-bytes.txt", view__stdio, self->r,
				 &self->opts));
}

TEST_F(report, sorted_by_life)
{
	make_exact(self->m);
	self->opts.quiet = true;
	self->opts.min_share = 0.10;
	self->opts.max_stack = 2;
	ASSERT_EQ(0, columns__parse("--sort", "life,allocs", &self->opts.sort));
	ASSERT_EQ(0, columns__parse("-F", "life,share,site", &self->opts.fields));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	EXPECT_TRUE(view_matches("tests/data/report-life.txt", view__stdio, self->r,
				 &self->opts));
}

TEST_F(report, colour_is_escape_sequences_and_nothing_else)
{
	char *plain, *colored, *from, *to;

	make_exact(self->m);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	plain = render(view__stdio, self->r, &self->opts);
	self->opts.color = true;
	colored = render(view__stdio, self->r, &self->opts);
	EXPECT_EQ(NULL, strchr(plain, '\033'));
	EXPECT_NE(NULL, strstr(colored, "\033[31m"));
	for (from = to = colored; *from;) {
		if (*from == '\033')
			from = strchr(from, 'm') + 1;
		else
			*to++ = *from++;
	}
	*to = '\0';
	EXPECT_STREQ(plain, colored);
	free(plain);
	free(colored);
}

TEST_F(report, no_line_ends_in_a_blank)
{
	char *text;

	make_exact(self->m);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	text = render(view__stdio, self->r, &self->opts);
	EXPECT_EQ(NULL, strstr(text, " \n"));
	free(text);
}

TEST_F(report, folded_names_cannot_break_the_format)
{
	const struct frame evil[] = {
		F("a;b\n9", 0x800, 0x801), { .ip = 5, .rel_ip = 5, .dso = "/lib/x;y" }, start,
	};
	char *text;

	add(self->m, 1, 8, 1, 0, evil, 3);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	text = render(view__folded, self->r, &self->opts);
	EXPECT_STREQ("demo;_start;0x5@x:y;a:b?9;malloc 1\n", text);
	free(text);
}

TEST_F(report, folded_paths_are_cut_from_the_site_outwards)
{
	const struct frame growing[] = { op_new, vector, grow, main_b, start };
	char *text;

	add(self->m, 1, 8, 1, 0, growing, 5);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	self->opts.max_stack = 2;
	text = render(view__folded, self->r, &self->opts);
	EXPECT_STREQ("demo;main;Tree::grow();std::vector<int>::push_back(int);"
		     "operator new(unsigned long);malloc 1\n", text);
	free(text);
}

TEST_F(report, hostile_names_reach_neither_terminal_nor_json)
{
	const struct frame evil[] = { F("\033]0;title\007", 0x800, 0x801), start };
	char *text;

	self->rec.command = "perf \033[31m";
	self->rec.hostname = "\xff";
	add(self->m, 1, 8, 1, 0, evil, 2);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	text = render(view__stdio, self->r, &self->opts);
	EXPECT_EQ(NULL, strpbrk(text, "\033\007\xff"));
	free(text);
	text = render(view__json, self->r, &self->opts);
	EXPECT_EQ(NULL, strpbrk(text, "\033\007\xff"));
	EXPECT_NE(NULL, strstr(text, "\\u001b]0;title\\u0007"));
	free(text);
}

TEST_F(report, path_lines_are_limited)
{
	struct frame deep[40];
	char *text, name[40][16];
	int i;

	for (i = 0; i < 40; i++) {
		snprintf(name[i], sizeof(name[i]), "f%d", i);
		deep[i] = (struct frame){ .ip = i + 1, .sym = name[i], .sym_start = i + 1,
					  .rel_ip = i + 1, .dso = "/bin/demo" };
	}
	add(self->m, 1, 8, 1, 0, deep, 40);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000000000, true, &self->r));
	text = render(view__stdio, self->r, &self->opts);
	EXPECT_NE(NULL, strstr(text, "               f8\n               ...\n"));
	EXPECT_EQ(NULL, strstr(text, "f9"));
	free(text);
	self->opts.max_path_lines = 0;
	text = render(view__stdio, self->r, &self->opts);
	EXPECT_NE(NULL, strstr(text, "f39\n"));
	free(text);
}

TEST(columns_reject_what_they_do_not_know)
{
	struct column_list list;

	msg__set_verbose(-2);
	EXPECT_NE(0, columns__parse("-F", "share,nonsense", &list));
	EXPECT_NE(0, columns__parse("-F", "", &list));
	EXPECT_NE(0, columns__parse("-F", "share,", &list));
	EXPECT_NE(0, columns__parse("-F", "sha", &list));
	EXPECT_EQ(0, columns__parse("-F", "share", &list));
	EXPECT_EQ(1, list.nr);
	msg__set_verbose(0);
}

TEST_HARNESS_MAIN
