// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model with made-up samples: sites, totals and their errors, lifetimes, filters.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "churn/filter.h"
#include "churn/hist.h"
#include "churn/index.h"
#include "churn/live.h"
#include "churn/costs.h"
#include "churn/cpu_class.h"
#include "churn/model.h"
#include "churn/regex_cost.h"
#include "churn/seen.h"
#include "stack/machine.h"
#include "util/msg.h"

#include "kselftest_harness.h"

#define MS	1000000ULL

#define NSEC_PER_SEC	1000000000ull

/* --- names ------------------------------------------------------------------------------------ */

FIXTURE(names) { struct names *n; };

FIXTURE_SETUP(names)
{
	ASSERT_EQ(0, names__new(NULL, 0, &self->n));
}

FIXTURE_TEARDOWN(names)
{
	names__free(self->n);
}

FIXTURE_VARIANT(names) {
	const char *sym, *dso;
	bool kernel;
	enum frame_kind want;
};

#define NAME(row, sym_, dso_, kernel_, want_) \
	FIXTURE_VARIANT_ADD(names, row) { sym_, dso_, kernel_, want_ }

NAME(malloc_of_libc, "malloc", "/lib/libc.so.6", false, FRAME_ALLOCATOR);
NAME(malloc_of_the_program, "malloc", "/bin/prog", false, FRAME_ALLOCATOR);
NAME(int_malloc_static, "_int_malloc", "/bin/prog", false, FRAME_ALLOCATOR);
NAME(with_a_version, "cfree@GLIBC_2.2.5", "/lib/libc.so.6", false, FRAME_ALLOCATOR);
NAME(with_the_default_version, "malloc@@GLIBC_2.2.5", "/bin/prog", false, FRAME_ALLOCATOR);
NAME(a_plt_entry_is_the_programs, "malloc@plt", "/bin/prog", false, FRAME_PROGRAM);
NAME(tcache_of_libc, "tcache_init", "/lib/libc.so.6", false, FRAME_ALLOCATOR);
NAME(tcache_of_a_program, "tcache_lookup", "/bin/tiles", false, FRAME_PROGRAM);
NAME(static_jemalloc, "_rjem_malloc", "/bin/rusty", false, FRAME_ALLOCATOR);
NAME(operator_new, "operator new(unsigned long)", "/bin/prog", false, FRAME_WRAPPER);
NAME(operator_new_array, "operator new[](unsigned long)", "/bin/prog", false, FRAME_WRAPPER);
NAME(operator_new_mangled, "_Znwm", "/bin/prog", false, FRAME_WRAPPER);
NAME(own_operator_new, "Pool::operator new(unsigned long)", "/bin/prog", false, FRAME_PROGRAM);
NAME(std_string, "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
     "/lib/libstdc++.so.6", false, FRAME_WRAPPER);
NAME(std_vector_with_return_type,
     "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)",
     "/bin/prog", false, FRAME_WRAPPER);
NAME(takes_a_std_vector, "parse(std::vector<int, std::allocator<int> > const&)", "/bin/prog",
     false, FRAME_PROGRAM);
NAME(returns_a_std_string, "std::string make_name<int>(int)", "/bin/prog", false, FRAME_PROGRAM);
NAME(template_of_a_std_type, "Tree<std::pair<int, int> >::insert(int)", "/bin/prog", false,
     FRAME_PROGRAM);
NAME(gnu_cxx, "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", "/bin/prog",
     false, FRAME_WRAPPER);
NAME(anonymous_namespace, "(anonymous namespace)::pool::pool()", "/bin/prog", false,
     FRAME_PROGRAM);
NAME(unnamed_in_libstdcxx, NULL, "/usr/lib/libstdc++.so.6.0.30", false, FRAME_WRAPPER);
NAME(rust_vec, "alloc::raw_vec::finish_grow", "/bin/rusty", false, FRAME_WRAPPER);
NAME(rust_trait, "<alloc::string::String as core::clone::Clone>::clone", "/bin/rusty", false,
     FRAME_WRAPPER);
NAME(glib, "g_malloc", "/lib/libglib-2.0.so.0", false, FRAME_WRAPPER);
NAME(xmalloc, "xmalloc", "/bin/prog", false, FRAME_WRAPPER);
NAME(xmalloc_of_somebody, "xmalloc_init", "/bin/prog", false, FRAME_PROGRAM);
NAME(strdup, "strdup", "/lib/libc.so.6", false, FRAME_WRAPPER);
NAME(python, "PyObject_Malloc", "/bin/python3.11", false, FRAME_WRAPPER);
NAME(main, "main", "/bin/prog", false, FRAME_PROGRAM);
NAME(start, "_start", "/bin/prog", false, FRAME_START);
NAME(loader, "call_init.part.0", "/lib64/ld-linux-x86-64.so.2", false, FRAME_START);
NAME(nothing_known, NULL, NULL, false, FRAME_PROGRAM);
NAME(kernel, "clear_page_erms", "[kernel.kallsyms]", true, FRAME_KERNEL);
NAME(kernel_malloc_is_not_ours, "free", "[kernel.kallsyms]", true, FRAME_KERNEL);
NAME(uprobe_handler, "uprobe_notify_resume", "[kernel.kallsyms]", true, FRAME_PROBE);
NAME(breakpoint, "asm_exc_int3", "[kernel.kallsyms]", true, FRAME_PROBE);
NAME(xol_area, NULL, "[uprobes]", false, FRAME_PROBE);

TEST_F(names, classify)
{
	EXPECT_EQ(variant->want,
		  names__classify(self->n, variant->sym, variant->dso, variant->kernel));
}

TEST(wrapper_option_adds_wrappers)
{
	const char *regex[] = { "^my_alloc$", "pool_.*_get" };
	struct names *n;

	ASSERT_EQ(0, names__new(regex, 2, &n));
	EXPECT_EQ(FRAME_WRAPPER, names__classify(n, "my_alloc", "/bin/prog", false));
	EXPECT_EQ(FRAME_PROGRAM, names__classify(n, "my_alloc2", "/bin/prog", false));
	EXPECT_EQ(FRAME_WRAPPER, names__classify(n, "x_pool_a_get", "/bin/prog", false));
	names__free(n);
}

TEST(wrapper_option_rejects_a_bad_regex)
{
	const char *regex[] = { "fine", "(" };
	struct names *n = NULL;

	msg__set_verbose(-2);
	EXPECT_EQ(-EINVAL, names__new(regex, 2, &n));
	EXPECT_EQ(NULL, n);
	msg__set_verbose(0);
}

#define NEST_10(x)	"((((((((((" x "))))))))))"
#define NEST_50(x)	NEST_10(NEST_10(NEST_10(NEST_10(NEST_10(x)))))
#define CHARS_100	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
#define CHARS_500	CHARS_100 CHARS_100 CHARS_100 CHARS_100 CHARS_100

/* Each of the refused ones keeps glibc busy for ever, or overflows the stack when there is more of it. */
static const struct {
	const char *regex;
	bool refused;
} costs[] = {
	{ "", true }, { ".", false },
	{ CHARS_500 CHARS_500, false }, { CHARS_500 CHARS_500 "0", true },
	{ NEST_50("a"), false }, { NEST_50("(a)"), true },
	{ "((((a))))(((b)))", false },
	{ "a{1000}", false }, { "a{1001}", true }, { "a{0,1001}", true }, { "a{999,}", false },
	{ "a{1000,}", true }, { "a{99999999999999999999}", true },
	{ "(a{25}){40}", false }, { "(a{26}){40}", true }, { "((a?){100}){100}b", true },
	{ "a{25}{40}", false }, { "a{26}{40}", true },
	{ "ab{500}", false }, { "(ab){500}", false }, { "(abc){500}", true }, { "(a|bc){500}", true },
	{ "(((((((((a+)+)+)+)+)+)+)+)+)", false },
	{ "((((((((((a+)+)+)+)+)+)+)+)+)+)+", true }, { "a++++++++++", true },
	{ "a**********************", false }, { "((((((((((((a*)*)*)*)*)*)*)*)*)*)*)*)", false },
	{ "[a{]{500}", false }, { "[]{2}abc]{500}", false }, { "[^]abc]{500}", false },
	{ "[[:alpha:]abc]{500}", false }, { "[[.].]abc]{500}", false }, { "x[abc", false },
	{ "\\({500}", false }, { "\\", false }, { "(a)\\1", true }, { "a\\\\1", false },
	{ ")))a", false },
};

TEST(wrapper_option_refuses_what_takes_for_ever)
{
	struct names *n;
	size_t i;

	msg__set_verbose(-2);
	for (i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		EXPECT_EQ(costs[i].refused, regex_cost__refuse(costs[i].regex) != NULL)
			TH_LOG("%.60s", costs[i].regex);
		if (!names__new(&costs[i].regex, 1, &n)) {
			EXPECT_FALSE(costs[i].refused);
			names__free(n);
		}
	}
	msg__set_verbose(0);
}

/* --- histograms ------------------------------------------------------------------------------- */

TEST(classes_hold_values_up_to_their_bound)
{
	EXPECT_EQ(0, log2_class(0));
	EXPECT_EQ(0, log2_class(1));
	EXPECT_EQ(1, log2_class(2));
	EXPECT_EQ(5, log2_class(32));
	EXPECT_EQ(6, log2_class(33));
	EXPECT_EQ(63, log2_class(1ull << 63));
	EXPECT_EQ(64, log2_class(~0ull));
	EXPECT_EQ(32, log2_class_bound(5));
	EXPECT_EQ(~0ull, log2_class_bound(64));
}

TEST(median_is_right_to_the_bucket_when_all_died)
{
	struct lives l = {0};
	int i;

	for (i = 1; i <= 1001; i++)
		ASSERT_EQ(0, lives__add_freed(&l, i * 1000, 1));
	EXPECT_LT(fabs(lives__median(&l) - 501000), 501000 * 0.02);
	lives__exit(&l);
}

TEST(median_takes_any_lifetime)
{
	struct lives l = {0};

	ASSERT_EQ(0, lives__add_freed(&l, ~0ull, 1));
	EXPECT_GT(lives__median(&l), 1.6e19);
	ASSERT_EQ(0, lives__add_freed(&l, 0, 3));
	EXPECT_LE(lives__median(&l), 1);
	lives__exit(&l);
}

TEST(median_is_unknown_when_most_are_alive)
{
	struct lives l = {0};

	EXPECT_TRUE(isnan(lives__median(&l)));
	ASSERT_EQ(0, lives__add_freed(&l, 1000, 49));
	ASSERT_EQ(0, lives__add_censored(&l, 1000000, 51));
	EXPECT_TRUE(isnan(lives__median(&l)));
	lives__exit(&l);
}

/* Exponential lives, the recording ends at a random age: dropping the living would halve it. */
TEST(median_counts_the_living_as_censored)
{
	double mean = 1e6, want = mean * log(2), u, life, age;
	struct lives l = {0};
	unsigned int seed = 1;
	int i;

	for (i = 0; i < 200000; i++) {
		u = (rand_r(&seed) + 1.0) / (RAND_MAX + 2.0);
		life = -mean * log(u);
		age = mean * ((rand_r(&seed) + 1.0) / (RAND_MAX + 2.0)) * 2;
		if (life < age)
			lives__add_freed(&l, life, 1);
		else
			lives__add_censored(&l, age, 1);
	}
	EXPECT_LT(fabs(lives__median(&l) - want), 0.03 * want);
	lives__exit(&l);
}

/* --- tables ----------------------------------------------------------------------------------- */

TEST(live_finds_what_it_holds_after_many_removals)
{
	struct live_block b = {0}, got;
	struct live *l;
	size_t pos = 0;
	__u64 seq;
	int nr = 0;

	ASSERT_EQ(0, live__new(100, &l));
	for (seq = 1; seq <= 50000; seq++) {
		b.seq = seq;
		b.size_bytes = seq * 3;
		ASSERT_EQ(0, live__add(l, &b));
		if (seq >= 100)
			ASSERT_TRUE(live__take(l, seq - 99, &got));
	}
	EXPECT_EQ(49901 * 3, got.size_bytes);
	while (live__next(l, &pos))
		nr++;
	EXPECT_EQ(99, nr);
	for (seq = 49902; seq <= 50000; seq++) {
		ASSERT_NE(NULL, live__find(l, seq));
		EXPECT_EQ(seq * 3, live__find(l, seq)->size_bytes);
	}
	EXPECT_FALSE(live__take(l, 49901, &got));
	EXPECT_FALSE(live__take(l, 0, &got));
	live__free(l);
}

TEST(live_is_bounded_and_refuses_a_seq_twice)
{
	struct live_block b = { .seq = 7 };
	struct live *l;

	ASSERT_EQ(0, live__new(2, &l));
	EXPECT_EQ(0, live__add(l, &b));
	EXPECT_EQ(-EEXIST, live__add(l, &b));
	b.seq = 8;
	EXPECT_EQ(0, live__add(l, &b));
	b.seq = 9;
	EXPECT_EQ(-ENOSPC, live__add(l, &b));
	live__free(l);
}

/* Removals keep every other entry in reach, whatever the order. */
TEST(live_agrees_with_a_plain_array)
{
	bool there[512] = { false };
	struct live_block b = {0}, got;
	unsigned int seed = 3;
	struct live *l;
	int i;

	ASSERT_EQ(0, live__new(512, &l));
	for (i = 0; i < 100000; i++) {
		b.seq = 1 + rand_r(&seed) % 511;
		if (rand_r(&seed) % 2) {
			ASSERT_EQ(there[b.seq] ? -EEXIST : 0, live__add(l, &b));
			there[b.seq] = true;
		} else {
			ASSERT_EQ(there[b.seq], live__take(l, b.seq, &got));
			there[b.seq] = false;
		}
	}
	live__free(l);
}

TEST(seen_forgets_at_its_bound_but_never_lies)
{
	struct seen *s;
	struct seen_key k;
	__u32 value, i, nr_known = 0;

	ASSERT_EQ(0, seen__new(3000, &s));
	for (i = 0; i < 10000; i++) {
		k = (struct seen_key){ 1, 1 };
		seen_key__add(&k, i);
		EXPECT_FALSE(seen__find(s, &k, &value));
		seen__add(s, &k, i);
		ASSERT_TRUE(seen__find(s, &k, &value));
		ASSERT_EQ(i, value);
	}
	for (i = 0; i < 10000; i++) {
		k = (struct seen_key){ 1, 1 };
		seen_key__add(&k, i);
		if (!seen__find(s, &k, &value))
			continue;
		EXPECT_EQ(i, value);
		nr_known++;
	}
	EXPECT_LE(nr_known, 3000);
	seen__free(s);
}

/* --- the model -------------------------------------------------------------------------------- */

FIXTURE(model) {
	struct names *names;
	struct model *m;
	const struct report *r;
	struct report_recording rec;
};

static const char *fake_srcline(void *ctx, const struct frame *f, bool call)
{
	(void)ctx;
	/* Two calls in one line, as the compiler unrolls loops. */
	if (f->sym && !strcmp(f->sym, "lined"))
		return call && f->rel_ip < 0x120 ? "lined.c:7" : "lined.c:9";
	return NULL;
}

FIXTURE_SETUP(model)
{
	struct model_opts opts = { .srcline = fake_srcline, .max_live = 100000 };

	ASSERT_EQ(0, names__new(NULL, 0, &self->names));
	opts.names = self->names;
	ASSERT_EQ(0, model__new(&opts, &self->m));
	self->rec = (struct report_recording){ .has_weights = true, .has_frees = true,
					       .duration_s = 2 };
}

FIXTURE_TEARDOWN(model)
{
	model__free(self->m);
	names__free(self->names);
}

#define F(name, start, at) \
	{ .ip = (at), .sym = (name), .sym_start = (start), .rel_ip = (at), .dso = "/bin/prog" }

static const struct frame path_a[] = {
	F("leaf", 0x100, 0x110), F("mid", 0x200, 0x210), F("main", 0x300, 0x310),
	F("_start", 0x400, 0x410),
};

static const struct frame path_b[] = {
	F("operator new(unsigned long)", 0x500, 0x510), F("other", 0x600, 0x610),
	F("main", 0x300, 0x320), F("_start", 0x400, 0x410),
};

static __u32 add_stack(struct model *m, const struct frame *frames, size_t nr)
{
	__u32 stack = STACK_NONE;

	stacks__add(model__stacks(m), frames, nr, &stack);
	return stack;
}

static void add_alloc(struct model *m, __u32 stack, __u64 seq, __u64 size, __u64 weight)
{
	struct model_alloc a = {
		.time_ns = 1000, .size_bytes = size, .weight = weight, .seq = seq, .pid = 10,
		.stack = stack, .fn = CHURN_FN_MALLOC,
		.comm = stacks__string(model__stacks(m), "prog"),
	};

	model__add_alloc(m, &a);
}

static void add_free(struct model *m, __u64 seq, __u64 life_ns, __u64 weight, __u32 pid)
{
	struct model_free f = { .lifetime_ns = life_ns, .weight = weight, .seq = seq, .pid = pid,
				.stack = STACK_NONE, .counted = true };

	model__add_free(m, &f);
}

static const char *site_name(const struct report *r, size_t idx)
{
	return stacks__frame(r->stacks, r->sites[idx].stack)->sym;
}

TEST_F(model, same_stack_has_one_number)
{
	__u32 a = add_stack(self->m, path_a, 4);

	EXPECT_EQ(a, add_stack(self->m, path_a, 4));
	EXPECT_NE(a, add_stack(self->m, path_a, 3));
	EXPECT_NE(a, add_stack(self->m, path_b, 4));
	EXPECT_TRUE(stacks__complete(model__stacks(self->m), a));
	EXPECT_FALSE(stacks__complete(model__stacks(self->m), add_stack(self->m, path_a, 3)));
}

TEST_F(model, a_stack_is_complete_with_a_nameless_start)
{
	const struct frame stripped[] = {
		path_a[0], F("__libc_start_main_impl", 0x900, 0x910), { .ip = 1, .dso = "/bin/prog" },
	};

	EXPECT_TRUE(stacks__complete(model__stacks(self->m), add_stack(self->m, stripped, 3)));
	EXPECT_TRUE(stacks__complete(model__stacks(self->m), add_stack(self->m, stripped, 2)));
	EXPECT_FALSE(stacks__complete(model__stacks(self->m), add_stack(self->m, stripped, 1)));
}

TEST_F(model, what_is_in_no_object_beyond_the_last_good_frame_is_cut)
{
	const struct frame wild[] = {
		path_a[0], path_a[1], { .ip = 0x3633383236343832 }, { .ip = 8 },
	};

	EXPECT_EQ(add_stack(self->m, path_a, 2), add_stack(self->m, wild, 4));
}

TEST_F(model, kernel_frames_are_left_out)
{
	struct frame frames[] = { { .sym = "sys_brk", .kernel = true, .ip = 1 }, path_a[0] };
	__u32 stack;

	EXPECT_EQ(add_stack(self->m, path_a, 1), add_stack(self->m, frames, 2));
	EXPECT_EQ(0, stacks__add(model__stacks(self->m), frames, 1, &stack));
	EXPECT_EQ(STACK_NONE, stack);
}

TEST_F(model, site_is_the_first_frame_outside_the_wrappers)
{
	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 8, 1);
	add_alloc(self->m, add_stack(self->m, path_b, 4), 2, 8, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	ASSERT_EQ(2, self->r->nr_sites);
	EXPECT_STREQ("leaf", site_name(self->r, 0));
	EXPECT_STREQ("other", site_name(self->r, 1));
}

TEST_F(model, outermost_wrapper_is_the_site_when_all_are_wrappers)
{
	const struct frame frames[] = {
		F("malloc", 1, 2), F("operator new(unsigned long)", 0x500, 0x510),
		F("std::thread::_State::_M_run()", 0x600, 0x610), F("start_thread", 0x700, 0x710),
		F("clone3", 0x800, 0x810),
	};

	add_alloc(self->m, add_stack(self->m, frames, 5), 1, 8, 1);
	add_alloc(self->m, add_stack(self->m, frames, 1), 2, 8, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	ASSERT_EQ(2, self->r->nr_sites);
	EXPECT_STREQ("std::thread::_State::_M_run()", site_name(self->r, 0));
	EXPECT_STREQ("malloc", site_name(self->r, 1));
}

TEST_F(model, calls_of_one_line_are_one_site_and_of_two_lines_two)
{
	const struct frame line7[] = { F("malloc", 1, 2), F("lined", 0x100, 0x110) };
	const struct frame line7_again[] = { F("malloc", 1, 2), F("lined", 0x100, 0x118) };
	const struct frame line9[] = { F("malloc", 1, 2), F("lined", 0x100, 0x150) };

	add_alloc(self->m, add_stack(self->m, line7, 2), 1, 8, 1);
	add_alloc(self->m, add_stack(self->m, line7_again, 2), 2, 8, 1);
	add_alloc(self->m, add_stack(self->m, line9, 2), 3, 8, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	ASSERT_EQ(2, self->r->nr_sites);
	EXPECT_EQ(2, self->r->sites[0].allocs.value);
	EXPECT_STREQ("lined.c:7", stacks__frame(self->r->stacks, self->r->sites[0].stack)->srcline);
	EXPECT_EQ(1, self->r->sites[1].allocs.value);
}

TEST_F(model, paths_stand_in_the_order_of_their_sites)
{
	const struct frame mid2[] = { path_a[0], F("mid2", 0x900, 0x910) };

	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 8, 1);
	add_alloc(self->m, add_stack(self->m, path_b, 4), 2, 8, 1);
	add_alloc(self->m, add_stack(self->m, mid2, 2), 3, 8, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	ASSERT_EQ(3, self->r->nr_paths);
	EXPECT_EQ(2, self->r->sites[0].nr_paths);
	EXPECT_EQ(0, self->r->sites[0].first_path);
	EXPECT_EQ(2, self->r->sites[1].first_path);
}

TEST_F(model, exact_samples_have_no_error)
{
	__u32 stack = add_stack(self->m, path_a, 4);
	int i;

	for (i = 1; i <= 23; i++)
		add_alloc(self->m, stack, i, 100, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(23, self->r->totals.allocs.value);
	EXPECT_EQ(0, self->r->totals.allocs.error);
	EXPECT_EQ(2300, self->r->totals.bytes.value);
	EXPECT_EQ(0, self->r->totals.bytes.error);
	EXPECT_EQ(100, self->r->sites[0].avg_bytes.value);
	EXPECT_EQ(0, self->r->sites[0].avg_bytes.error);
	EXPECT_EQ(1, self->r->recording.sample_period);
}

TEST_F(model, sampled_error_is_that_of_independent_draws)
{
	__u32 stack = add_stack(self->m, path_a, 4);

	add_alloc(self->m, stack, 1, 10, 100);
	add_alloc(self->m, stack, 2, 30, 50);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(150, self->r->totals.allocs.value);
	EXPECT_LT(fabs(sqrt(100 * 99 + 50 * 49) - self->r->totals.allocs.error), 1e-9);
	EXPECT_EQ(2500, self->r->totals.bytes.value);
	EXPECT_LT(fabs(sqrt(100 * 99 * 100.0 + 50 * 49 * 900.0) - self->r->totals.bytes.error),
		  1e-6);
}

/* The stated error is the real one: of 1000 draws some 683 lie within one of it. */
TEST_F(model, true_total_lies_within_the_stated_error_as_often_as_it_should)
{
	unsigned int seed = 5, within = 0;
	int draw, i;

	for (draw = 0; draw < 300; draw++) {
		struct model_opts opts = { .names = self->names, .max_live = 1 };
		const struct report *r;
		struct model *m;
		__u32 stack;

		ASSERT_EQ(0, model__new(&opts, &m));
		stack = add_stack(m, path_a, 4);
		for (i = 0; i < 20000; i++) {
			if (rand_r(&seed) % 20 == 0)
				add_alloc(m, stack, 0, 8, 20);
		}
		ASSERT_EQ(0, model__finish(m, &self->rec, 2000, true, &r));
		within += fabs(r->totals.allocs.value - 20000) <= r->totals.allocs.error;
		model__free(m);
	}
	EXPECT_GT(within, 300 * 0.60);
	EXPECT_LT(within, 300 * 0.76);
}

TEST_F(model, a_single_site_has_what_was_counted)
{
	struct churn_window w = { .nr_allocs = 90, .alloc_bytes = 1800, .sample_period = 100 };

	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 30, 100);
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(90, self->r->sites[0].allocs.value);
	EXPECT_EQ(0, self->r->sites[0].allocs.error);
	EXPECT_EQ(1800, self->r->sites[0].bytes.value);
	EXPECT_EQ(0, self->r->sites[0].bytes.error);
	EXPECT_EQ(20, self->r->sites[0].avg_bytes.value);
	EXPECT_EQ(90, self->r->paths[0].allocs.value);
	EXPECT_EQ(90, self->r->sizes[0].count.value);
	EXPECT_EQ(90, self->r->totals.live_allocs.value);
}

TEST_F(model, losses_leave_samples_as_they_are)
{
	struct churn_window w = { .nr_allocs = 90, .sample_period = 100, .nr_lost_output = 1 };

	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 30, 100);
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(100, self->r->sites[0].allocs.value);
}

/* Window @nr of process 10: 1 ms every 100, in which half of the CPU time is the program's own. */
static void begin_window(struct model *m, int nr, __u64 allocs)
{
	struct churn_window w = {
		.start_ns = nr * 100 * MS, .end_ns = nr * 100 * MS + MS, .between_ns = 99 * MS,
		.cpu_ns = MS, .cpu_between_ns = 99 * MS, .cost_ns = MS / 2, .cost_err_ns = MS / 50,
		.nr_allocs = allocs, .alloc_bytes = allocs * 10, .sample_period = 1,
		.probed_start_ns = nr * 100 * MS - 1000, .probed_end_ns = nr * 100 * MS + MS + 1000,
		.flags = CHURN_W_SAMPLED | CHURN_W_COST,
	};

	model__add_window(m, 10, &w);
}

static void add_in_window(struct model *m, __u32 stack, int nr, __u64 seq, __u64 at_ns)
{
	struct model_alloc a = {
		.time_ns = nr * 100 * MS + at_ns, .size_bytes = 10, .weight = 200, .seq = seq,
		.pid = 10, .stack = stack, .fn = CHURN_FN_MALLOC,
	};

	a.comm = stacks__string(model__stacks(m), "comm");
	model__add_alloc(m, &a);
}

/* Site a has 8 of 10 calls in one window and 4 of 10 in the next: 60 %, and no window tells so. */
TEST_F(model, shares_out_of_windows_scatter_by_window)
{
	__u32 a = add_stack(self->m, path_a, 4), b = add_stack(self->m, path_b, 4);
	const struct report_site *site;
	int nr, i;

	for (nr = 1; nr <= 40; nr++) {
		begin_window(self->m, nr, 10);
		for (i = 0; i < 10; i++)
			add_in_window(self->m, i < (nr % 2 ? 8 : 4) ? a : b, nr, 0, 1000 + i);
	}
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 5000 * MS, true, &self->r));
	/* 10 calls in half a ms, over 40 times 99.5 ms */
	EXPECT_LT(fabs(self->r->totals.allocs.value - 79600), 1);
	site = &self->r->sites[0];
	EXPECT_LT(fabs(site->allocs.value / 79600 - 0.6), 1e-6);
	/* The standard error of the share is 0.2 / sqrt(40); of the total some 2 % more. */
	EXPECT_GT(site->allocs.error / 79600, 0.2 / sqrt(40));
	EXPECT_LT(site->allocs.error / 79600, 0.2 / sqrt(40) * 1.3);
	EXPECT_LT(fabs(site->avg_bytes.value - 10), 1e-9);
}

TEST_F(model, what_is_live_when_a_window_closes_is_cut_off_there)
{
	__u32 stack = add_stack(self->m, path_a, 4);
	int nr;

	for (nr = 1; nr <= 10; nr++) {
		begin_window(self->m, nr, 2);
		add_in_window(self->m, stack, nr, 2 * nr, 0);
		add_in_window(self->m, stack, nr, 2 * nr + 1, 0);
		add_free(self->m, 2 * nr, 1000, 200, 10);
	}
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 5000 * MS, true, &self->r));
	/* Half of the blocks lived 1 us, the others longer than a window. */
	EXPECT_GT(self->r->sites[0].p50_life_ns, 500);
	EXPECT_LT(self->r->sites[0].p50_life_ns, 2000);
	EXPECT_TRUE(isnan(self->r->totals.live_allocs.value));
	EXPECT_TRUE(isnan(self->r->sites[0].live_allocs.value));
	EXPECT_TRUE(isnan(self->r->sites[0].frees.value));
	EXPECT_TRUE(isnan(self->r->totals.freed_before));
}

TEST_F(model, cpu_samples_in_windows_are_told_apart)
{
	begin_window(self->m, 1, 2);
	EXPECT_FALSE(model__in_window(self->m, 10, 100 * MS - 2000));
	EXPECT_TRUE(model__in_window(self->m, 10, 100 * MS - 1000));
	EXPECT_TRUE(model__in_window(self->m, 10, 101 * MS));
	EXPECT_FALSE(model__in_window(self->m, 10, 101 * MS + 1001));
	EXPECT_FALSE(model__in_window(self->m, 11, 101 * MS));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 5000 * MS, true, &self->r));
	EXPECT_EQ(2, self->r->cpu.nr_windowed);
}

TEST_F(model, no_probes_wanted_is_not_no_allocations)
{
	struct churn_window w = { .sample_period = 1, .flags = CHURN_W_OFF };

	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 5000, true, &self->r));
	EXPECT_TRUE(self->r->windows.is_off);
	EXPECT_TRUE(isnan(self->r->totals.allocs.value));
	EXPECT_NE(VERDICT_EMPTY, self->r->verdict);
}

struct coverage {
	unsigned int count, bytes, avg;
	double squares;
};

/* Two of three calls are of 8 or 2000 bytes in turns, one is of 100 bytes. */
static void draw_two_sites(struct model *m, __u32 a, __u32 b, unsigned int *seed)
{
	int i;

	for (i = 0; i < 30000; i++) {
		__u64 size = i % 3 == 2 ? 100 : i % 3 ? 8 : 2000;

		if (rand_r(seed) % 20 == 0)
			add_alloc(m, size == 100 ? b : a, 0, size, 20);
	}
}

static void judge_draw(struct coverage *c, const struct report *r)
{
	const struct report_site *s = &r->sites[strcmp(site_name(r, 0), "leaf") ? 1 : 0];

	c->count += fabs(s->allocs.value - 20000) <= s->allocs.error;
	c->bytes += fabs(s->bytes.value - 20080000) <= s->bytes.error;
	c->avg += fabs(s->avg_bytes.value - 1004) <= s->avg_bytes.error;
	c->squares += pow(s->allocs.value - 20000, 2);
}

/* Calibrated, too, the stated error is the real one; and it is smaller: 20 * sqrt(1000/3). */
TEST_F(model, sites_agree_with_the_whole_and_their_errors_hold)
{
	struct churn_window w = { .nr_allocs = 30000, .alloc_bytes = 21080000,
				  .sample_period = 20 };
	struct coverage c = {0};
	unsigned int seed = 7;
	int draw;

	for (draw = 0; draw < 300; draw++) {
		struct model_opts opts = { .names = self->names, .max_live = 1 };
		const struct report *r;
		struct model *m;

		ASSERT_EQ(0, model__new(&opts, &m));
		draw_two_sites(m, add_stack(m, path_a, 4), add_stack(m, path_b, 4), &seed);
		ASSERT_EQ(0, model__add_window(m, 10, &w));
		ASSERT_EQ(0, model__finish(m, &self->rec, 2000, true, &r));
		ASSERT_EQ(2, r->nr_sites);
		EXPECT_LT(fabs(r->sites[0].allocs.value + r->sites[1].allocs.value - 30000), 1e-6);
		EXPECT_LT(fabs(r->sites[0].bytes.value + r->sites[1].bytes.value - 21080000), 1e-3);
		judge_draw(&c, r);
		model__free(m);
	}
	EXPECT_GT(c.count, 300 * 0.60);
	EXPECT_LT(c.count, 300 * 0.76);
	EXPECT_GT(c.bytes, 300 * 0.60);
	EXPECT_LT(c.bytes, 300 * 0.76);
	EXPECT_GT(c.avg, 300 * 0.60);
	EXPECT_LT(c.avg, 300 * 0.76);
	EXPECT_LT(sqrt(c.squares / 300), 20 * sqrt(1000 / 3.0) * 1.15);
}

TEST_F(model, none_of_a_sample_live_is_not_none_at_all)
{
	struct churn_window w = { .nr_allocs = 1000, .sample_period = 100 };
	__u32 stack = add_stack(self->m, path_a, 4);
	int i;

	for (i = 1; i <= 10; i++) {
		add_alloc(self->m, stack, i, 8, 100);
		add_free(self->m, i, 50, 100, 10);
	}
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(0, self->r->totals.live_allocs.value);
	EXPECT_GT(self->r->totals.live_most, 298);
	EXPECT_LT(self->r->totals.live_most, 299);
}

TEST_F(model, totals_come_from_windows)
{
	struct churn_window w = { .nr_allocs = 1000, .alloc_bytes = 9000, .nr_frees = 700,
				  .nr_failed = 20, .sample_period = 10, .nr_free_null = 3,
				  .nr_free_unseen = 5, .nr_reallocs = 6, .nr_hits = 2000 };
	__u32 stack = add_stack(self->m, path_a, 4);

	add_alloc(self->m, stack, 1, 9, 980);
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__add_window(self->m, 11, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(2000, self->r->totals.allocs.value);
	EXPECT_EQ(0, self->r->totals.allocs.error);
	EXPECT_EQ(18000, self->r->totals.bytes.value);
	EXPECT_EQ(1400, self->r->totals.frees.value);
	EXPECT_EQ(40, self->r->totals.failed.value);
	EXPECT_LT(fabs(sqrt(40 * 9) - self->r->totals.failed.error), 1e-9);
	EXPECT_TRUE(isnan(self->r->totals.freed_before));
	EXPECT_EQ(980, self->r->totals.sampled_allocs.value);
	EXPECT_EQ(10, self->r->recording.sample_period);
	EXPECT_TRUE(self->r->recording.has_windows);
	EXPECT_EQ(1000, report__rate(self->r, self->r->totals.allocs.value));
}

TEST_F(model, samples_after_the_last_window_are_added)
{
	struct churn_window w = { .nr_allocs = 100, .alloc_bytes = 800, .sample_period = 1 };
	__u32 stack = add_stack(self->m, path_a, 4);

	add_alloc(self->m, stack, 1, 8, 1);
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	add_alloc(self->m, stack, 2, 8, 1);
	add_alloc(self->m, stack, 3, 8, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(102, self->r->totals.allocs.value);
	EXPECT_EQ(816, self->r->totals.bytes.value);
}

TEST_F(model, filtered_totals_come_from_samples)
{
	struct churn_window w = { .nr_allocs = 1000, .sample_period = 10 };
	__u32 stack = add_stack(self->m, path_a, 4);

	add_alloc(self->m, stack, 1, 8, 10);
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, false, &self->r));
	EXPECT_EQ(10, self->r->totals.allocs.value);
	EXPECT_GT(self->r->totals.allocs.error, 9);
	EXPECT_TRUE(isnan(self->r->totals.failed.value));
	EXPECT_FALSE(self->r->recording.has_windows);
}

TEST_F(model, live_is_what_was_not_seen_freed)
{
	__u32 stack = add_stack(self->m, path_a, 4);
	int i;

	for (i = 1; i <= 10; i++)
		add_alloc(self->m, stack, i, 100, 1);
	for (i = 1; i <= 7; i++)
		add_free(self->m, i, 50, 1, 10);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(3, self->r->totals.live_allocs.value);
	EXPECT_EQ(300, self->r->totals.live_bytes.value);
	EXPECT_EQ(3, self->r->sites[0].live_allocs.value);
	EXPECT_EQ(7, self->r->sites[0].frees.value);
	EXPECT_EQ(7, self->r->check.nr_freed);
	ASSERT_EQ(1, self->r->nr_lives);
	EXPECT_EQ(64, self->r->lives[0].le);
	EXPECT_EQ(7, self->r->lives[0].count.value);
}

TEST_F(model, frees_of_unseen_blocks_count_apart_and_live_is_never_negative)
{
	struct model_free f = { .weight = 1, .pid = 10, .stack = STACK_NONE,
				.flags = CHURN_F_UNSEEN, .counted = true };
	__u32 stack = add_stack(self->m, path_a, 4);
	int i;

	add_alloc(self->m, stack, 1, 100, 1);
	for (i = 0; i < 50; i++)
		model__add_free(self->m, &f);
	add_free(self->m, 999, 5, 1, 10);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(1, self->r->totals.live_allocs.value);
	EXPECT_EQ(50, self->r->totals.freed_before);
	EXPECT_EQ(50, self->r->check.nr_freed_unseen);
	EXPECT_EQ(1, self->r->check.nr_freed_unmatched);
	EXPECT_EQ(51, self->r->totals.frees.value);
}

TEST_F(model, frees_of_the_parents_blocks_are_not_from_before_the_recording)
{
	struct churn_window w = { .nr_allocs = 1, .nr_frees = 5, .nr_free_unseen = 5 };
	struct model_free f = { .weight = 1, .pid = 11, .stack = STACK_NONE,
				.flags = CHURN_F_UNSEEN, .counted = true };
	int i;

	for (i = 0; i < 5; i++) {
		if (i == 2)
			f.flags |= CHURN_F_INHERITED;
		model__add_free(self->m, &f);
	}
	ASSERT_EQ(0, model__add_window(self->m, 11, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(2, self->r->totals.freed_before);
	EXPECT_EQ(2, self->r->check.nr_freed_unseen);
	EXPECT_EQ(3, self->r->check.nr_freed_inherited);
	EXPECT_EQ(5, self->r->totals.frees.value);
}

TEST_F(model, a_sample_does_not_know_what_was_allocated_before)
{
	struct churn_window w = { .nr_allocs = 1000, .nr_frees = 5000, .sample_period = 10 };

	ASSERT_EQ(0, model__begin_process(self->m, 10));
	ASSERT_EQ(0, model__begin_fork(self->m, 11, 10));
	ASSERT_EQ(0, model__add_window(self->m, 11, &w));
	ASSERT_EQ(0, model__begin_fork(self->m, 13, 12));
	ASSERT_EQ(0, model__add_window(self->m, 13, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_TRUE(isnan(self->r->totals.freed_before));
}

TEST_F(model, a_sample_of_a_process_from_its_start_knows)
{
	struct churn_window w = { .nr_allocs = 1000, .nr_frees = 900, .sample_period = 10 };

	ASSERT_EQ(0, model__begin_process(self->m, 10));
	ASSERT_EQ(0, model__begin_fork(self->m, 11, 10));
	ASSERT_EQ(0, model__add_window(self->m, 11, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(0, self->r->totals.freed_before);
}

TEST_F(model, a_block_freed_twice_ends_once)
{
	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 100, 1);
	add_free(self->m, 1, 5, 1, 10);
	add_free(self->m, 1, 5, 1, 10);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(0, self->r->totals.live_allocs.value);
	EXPECT_EQ(1, self->r->check.nr_freed);
	EXPECT_EQ(1, self->r->check.nr_freed_unmatched);
}

TEST_F(model, a_free_that_comes_first_ends_its_block)
{
	struct churn_window w = { .nr_allocs = 2, .nr_frees = 1, .end_ns = 5000,
				  .sample_period = 1 };
	__u32 stack = add_stack(self->m, path_a, 4);

	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	add_free(self->m, 1, 50, 1, 10);
	add_alloc(self->m, stack, 1, 100, 1);
	add_alloc(self->m, stack, 2, 100, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 9000, true, &self->r));
	EXPECT_EQ(1, self->r->totals.live_allocs.value);
	EXPECT_EQ(1, self->r->check.nr_freed);
	EXPECT_EQ(0, self->r->check.nr_freed_unmatched);
	EXPECT_EQ(1, self->r->nr_lives);
	/* And what the window has counted is not counted again. */
	EXPECT_EQ(2, self->r->totals.allocs.value);
	EXPECT_EQ(1, self->r->totals.frees.value);
}

/* A forked child's copy of a block has no seq: the recorder does not take it for the parent's. */
TEST_F(model, a_block_is_freed_by_whoever_shares_the_memory)
{
	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 100, 1);
	add_free(self->m, 1, 5, 1, 11);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(0, self->r->totals.live_allocs.value);
	EXPECT_EQ(1, self->r->check.nr_freed);
	EXPECT_EQ(1, self->r->totals.frees.value);
}

TEST_F(model, blocks_of_an_ended_process_are_cut_off_at_its_end)
{
	__u32 stack = add_stack(self->m, path_a, 4);

	add_alloc(self->m, stack, 1, 8, 1);
	add_alloc(self->m, stack, 2, 8, 1);
	add_alloc(self->m, stack, 3, 8, 1);
	add_free(self->m, 1, 100, 1, 10);
	/* Cut off 10 ns old, the others say nothing about lives of 100 ns; at 1 s, two of three
	 * would be known to live longer, and there were no median. */
	ASSERT_EQ(0, model__end_process(self->m, 10, 1010));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, NSEC_PER_SEC, true, &self->r));
	EXPECT_GE(self->r->sites[0].p50_life_ns, 96);
	EXPECT_LE(self->r->sites[0].p50_life_ns, 112);
}

TEST_F(model, without_frees_nothing_is_said_about_lives)
{
	self->rec.has_frees = false;
	add_alloc(self->m, add_stack(self->m, path_a, 4), 0, 8, 1);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_TRUE(isnan(self->r->totals.live_allocs.value));
	EXPECT_TRUE(isnan(self->r->sites[0].p50_life_ns));
	EXPECT_EQ(0, self->r->nr_lives);
}

TEST_F(model, losses_are_counted_once_and_make_lower_bounds)
{
	struct churn_window w = { .nr_allocs = 10, .nr_lost_output = 7, .nr_lost_map = 2,
				  .nr_lost_inflight = 1, .sample_period = 1 };

	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	model__losses(self->m)->perf_churn = 6;
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(10, report__nr_lost(self->r));
	EXPECT_TRUE(report__is_lower_bound(self->r));
	EXPECT_TRUE(report__has_gaps(self->r));
}

TEST_F(model, losses_say_of_each_figure_what_it_still_is)
{
	struct churn_window w = { .nr_allocs = 10, .alloc_bytes = 800, .nr_frees = 6,
				  .nr_lost_output = 8, .sample_period = 1 };
	__u32 stack = add_stack(self->m, path_a, 4);
	int i;

	/* Six of ten allocations are there, and the frees of two of them and of a lost one. */
	for (i = 1; i <= 6; i++)
		add_alloc(self->m, stack, i, 80, 1);
	add_free(self->m, 1, 50, 1, 10);
	add_free(self->m, 2, 50, 1, 10);
	add_free(self->m, 7, 50, 1, 10);
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(BOUND_NONE, self->r->totals.allocs.bound);
	EXPECT_EQ(BOUND_LOWER, self->r->totals.sampled_allocs.bound);
	EXPECT_EQ(BOUND_UPPER, self->r->totals.live_allocs.bound);
	EXPECT_EQ(4 + 3, self->r->totals.live_allocs.value);
	EXPECT_EQ(BOUND_UPPER, self->r->totals.live_bytes.bound);
	EXPECT_EQ(320 + 320, self->r->totals.live_bytes.value);
	EXPECT_EQ(BOUND_LOWER, self->r->sites[0].allocs.bound);
	EXPECT_EQ(BOUND_LOWER, self->r->sites[0].bytes.bound);
	EXPECT_EQ(BOUND_LOWER, self->r->sites[0].frees.bound);
	EXPECT_EQ(BOUND_UNKNOWN, self->r->sites[0].live_allocs.bound);
	EXPECT_EQ(BOUND_UNKNOWN, self->r->sites[0].avg_bytes.bound);
	EXPECT_EQ(BOUND_UNKNOWN, self->r->sites[0].life_bound);
	EXPECT_EQ(BOUND_LOWER, self->r->sizes[0].count.bound);
}

TEST_F(model, time_without_probes_makes_all_counts_too_low)
{
	struct churn_window w = { .nr_allocs = 1, .gap_ns = 5, .sample_period = 1 };

	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 80, 1);
	ASSERT_EQ(0, model__add_window(self->m, 10, &w));
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(BOUND_LOWER, self->r->totals.allocs.bound);
	EXPECT_EQ(BOUND_LOWER, self->r->totals.live_allocs.bound);
	EXPECT_EQ(BOUND_LOWER, self->r->sites[0].live_allocs.bound);
}

TEST_F(model, other_losses_leave_churn_figures_alone)
{
	model__losses(self->m)->perf_other = 6;
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(0, report__nr_lost(self->r));
	EXPECT_FALSE(report__is_lower_bound(self->r));
	EXPECT_TRUE(report__has_gaps(self->r));
}

static void add_cpu(struct model *m, int nr, __u32 flags)
{
	struct cpu_path like = {
		.stack = STACK_NONE, .flags = flags, .comm = "",
		.class = flags & CPU_PROBE ? CLASS_PROBE :
			 flags & CPU_ALLOCATOR ? CLASS_MALLOC : CLASS_COMPUTE,
	};
	__u32 path;

	if (model__cpu_path(m, &like, &path))
		return;
	while (nr-- > 0)
		model__add_cpu(m, path, 1000);
}

TEST_F(model, probe_cost_is_left_out_of_the_cpu_share)
{
	add_alloc(self->m, add_stack(self->m, path_a, 4), 1, 8, 1);
	add_cpu(self->m, 300, CPU_ALLOCATOR | CPU_CHAINED);
	add_cpu(self->m, 700, CPU_CHAINED);
	add_cpu(self->m, 9000, CPU_PROBE | CPU_ALLOCATOR);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_LT(fabs(0.3 - self->r->cpu.share.value), 1e-9);
	/* Binomial: sqrt(0.3 * 0.7 / 1000) */
	EXPECT_LT(fabs(0.01449 - self->r->cpu.share.error), 1e-4);
	EXPECT_LT(fabs(0.9 - self->r->cpu.probe_share), 1e-9);
	EXPECT_EQ(VERDICT_CHURN, self->r->verdict);
}

FIXTURE(verdict) { int unused; };
FIXTURE_SETUP(verdict) { (void)self; }
FIXTURE_TEARDOWN(verdict) { (void)self; }

FIXTURE_VARIANT(verdict) {
	int nr_allocator, nr_unnamed, nr_rest;
	__u64 allocs;
	enum report_verdict want;
};

FIXTURE_VARIANT_ADD(verdict, one_of_three) { 1, 0, 2, 1000000, VERDICT_SOME };
FIXTURE_VARIANT_ADD(verdict, plain) { 400, 0, 600, 1000000, VERDICT_CHURN };
FIXTURE_VARIANT_ADD(verdict, some) { 50, 0, 950, 1000000, VERDICT_SOME };
FIXTURE_VARIANT_ADD(verdict, not_churn) { 3, 0, 997, 1000000, VERDICT_NOT_CHURN };
FIXTURE_VARIANT_ADD(verdict, no_allocator_sample) { 0, 0, 1000, 1000000, VERDICT_NOT_CHURN };
FIXTURE_VARIANT_ADD(verdict, too_few_samples) { 0, 0, 20, 1000000, VERDICT_UNKNOWN };
FIXTURE_VARIANT_ADD(verdict, nameless_libc) { 3, 100, 900, 1000000, VERDICT_UNKNOWN };
FIXTURE_VARIANT_ADD(verdict, slow_rate_without_samples) { 0, 0, 0, 1000, VERDICT_NOT_CHURN };
FIXTURE_VARIANT_ADD(verdict, high_rate_without_samples) { 0, 0, 0, 1000000, VERDICT_UNKNOWN };
FIXTURE_VARIANT_ADD(verdict, nothing_seen) { 0, 0, 1000, 0, VERDICT_EMPTY };

TEST_F(verdict, is_as_the_share_says)
{
	struct report_recording rec = { .duration_s = 1, .has_frees = true };
	struct model_opts opts = { .max_live = 10 };
	struct churn_window w = { .nr_allocs = variant->allocs };
	const struct report *r;
	struct names *names;
	struct model *m;

	ASSERT_EQ(0, names__new(NULL, 0, &names));
	opts.names = names;
	ASSERT_EQ(0, model__new(&opts, &m));
	ASSERT_EQ(0, model__add_window(m, 1, &w));
	add_cpu(m, variant->nr_allocator, CPU_ALLOCATOR);
	add_cpu(m, variant->nr_unnamed, CPU_UNNAMED_LIBC);
	add_cpu(m, variant->nr_rest, 0);
	ASSERT_EQ(0, model__finish(m, &rec, 0, true, &r));
	EXPECT_EQ(variant->want, r->verdict);
	model__free(m);
	names__free(names);
}

TEST_F(model, few_cpu_samples_have_an_honest_interval)
{
	add_cpu(self->m, 3, 0);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(0, self->r->cpu.share.value);
	EXPECT_TRUE(self->r->cpu.few);
	EXPECT_EQ(0, self->r->cpu.share_low);
	EXPECT_LT(fabs(self->r->cpu.share_high - 0.5615), 1e-4);
	EXPECT_LT(fabs(self->r->cpu.share.error - 0.5615 / 3.92), 1e-4);
}

TEST_F(model, without_call_graph_the_share_is_a_lower_bound)
{
	struct churn_window w = { .nr_allocs = 1000000 };

	self->rec.cpu_call_graph = CALL_GRAPH_NONE;
	ASSERT_EQ(0, model__add_window(self->m, 1, &w));
	add_cpu(self->m, 50, CPU_ALLOCATOR);
	add_cpu(self->m, 500, CPU_KERNEL);
	add_cpu(self->m, 450, 0);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(0.05, self->r->cpu.share.value);
	EXPECT_EQ(BOUND_LOWER, self->r->cpu.share.bound);
	EXPECT_EQ(500, self->r->cpu.nr_kernel);
	EXPECT_GT(self->r->cpu.share_high, 0.55);
	EXPECT_EQ(VERDICT_UNKNOWN, self->r->verdict);
}

static void add_probe(struct model *m, const char *symbol, const char *object, __u32 fn,
		      __u64 hits)
{
	struct churn_probe p = { .nr_hits = hits, .fn = fn, .offset = fn * 64 };

	strcpy(p.symbol, symbol);
	strcpy(p.object, object);
	model__add_probe(m, &p);
}

TEST_F(model, an_object_without_a_hit_is_named)
{
	add_probe(self->m, "malloc", "/lib/libc.so.6", CHURN_FN_MALLOC, 0);
	add_probe(self->m, "free", "/lib/libc.so.6", CHURN_FN_FREE, 12);
	add_probe(self->m, "malloc", "/lib/libother.so", CHURN_FN_MALLOC, 1);
	add_probe(self->m, "valloc", "/lib/libother.so", CHURN_FN_VALLOC, 0);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	ASSERT_NE(NULL, report__silent_object(self->r, 0));
	EXPECT_STREQ("/lib/libc.so.6", report__silent_object(self->r, 0)->object);
	EXPECT_EQ(NULL, report__silent_object(self->r, 1));
}

TEST_F(model, a_probe_written_twice_is_one)
{
	add_probe(self->m, "malloc", "/lib/libc.so.6", CHURN_FN_MALLOC, 5);
	add_probe(self->m, "malloc", "/lib/libc.so.6", CHURN_FN_MALLOC, 6);
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	ASSERT_EQ(1, self->r->nr_probes);
	EXPECT_EQ(11, self->r->probes[0].nr_hits);
}

TEST_F(model, memory_does_not_grow_with_samples)
{
	__u32 stack = add_stack(self->m, path_a, 4);
	__u64 i;

	for (i = 1; i <= 100000; i++) {
		add_alloc(self->m, stack, i, i % 100, 1);
		add_free(self->m, i, 10, 1, 10);
	}
	ASSERT_EQ(0, model__finish(self->m, &self->rec, 2000, true, &self->r));
	EXPECT_EQ(1, self->r->nr_paths);
	EXPECT_EQ(1, self->r->nr_sites);
	EXPECT_EQ(0, self->r->check.nr_untracked);
	EXPECT_EQ(0, self->r->totals.live_allocs.value);
}

/* --- filters ---------------------------------------------------------------------------------- */

FIXTURE(time_filter) { struct filter f; };
FIXTURE_SETUP(time_filter) { memset(&self->f, 0, sizeof(self->f)); }
FIXTURE_TEARDOWN(time_filter) { filter__exit(&self->f); }

FIXTURE_VARIANT(time_filter) {
	const char *text;
	int want;
	__u64 start_ns, end_ns;
};

#define TIME(row, text_, want_, start_, end_) \
	FIXTURE_VARIANT_ADD(time_filter, row) { text_, want_, start_, end_ }

TIME(both, "100.5,101.000000001", 0, 100500000000ull, 101000000001ull);
TIME(start_only, "100,", 0, 100000000000ull, 0);
TIME(stop_only, ",100.25", 0, 0, 100250000000ull);
TIME(percent, "10%-20%", 0, 101 * NSEC_PER_SEC, 102 * NSEC_PER_SEC);
TIME(percent_part, "10%/2", 0, 101 * NSEC_PER_SEC, 102 * NSEC_PER_SEC);
TIME(all_percent, "0%-100%", 0, 100 * NSEC_PER_SEC, 110 * NSEC_PER_SEC);
TIME(empty, "", -EINVAL, 0, 0);
TIME(comma_alone, ",", -EINVAL, 0, 0);
TIME(no_comma, "100", -EINVAL, 0, 0);
TIME(text, "soon,later", -EINVAL, 0, 0);
TIME(trailing_text, "1,2x", -EINVAL, 0, 0);
TIME(backwards, "3,2", -EINVAL, 0, 0);
TIME(three, "1,2,3", -EINVAL, 0, 0);
TIME(negative, "-1,2", -EINVAL, 0, 0);
TIME(huge, "99999999999999999999,", -EINVAL, 0, 0);
TIME(percent_backwards, "30%-20%", -EINVAL, 0, 0);
TIME(percent_above_100, "0%-101%", -EINVAL, 0, 0);
TIME(percent_part_zero, "10%/0", -EINVAL, 0, 0);
TIME(percent_part_too_far, "10%/11", -EINVAL, 0, 0);

TEST_F(time_filter, parses_as_perf_does)
{
	int err = filter__parse_time(&self->f, variant->text, 100 * NSEC_PER_SEC,
				     110 * NSEC_PER_SEC);

	ASSERT_EQ(variant->want, err);
	if (err)
		return;
	EXPECT_LE(self->f.start_ns - variant->start_ns + 1, 2);
	EXPECT_LE(self->f.end_ns - variant->end_ns + 1, 2);
}

TEST(percent_of_an_unknown_time_is_no_data)
{
	struct filter f = {0};

	EXPECT_EQ(-ENODATA, filter__parse_time(&f, "10%-20%", 0, 0));
}

TEST(filter_lists)
{
	struct filter f = {0};

	EXPECT_FALSE(filter__is_set(&f));
	EXPECT_TRUE(filter__thread(&f, 1, 2, NULL));
	EXPECT_TRUE(filter__site(&f, NULL, NULL));
	ASSERT_EQ(0, word_list__parse(&f.comms, "jq,xmllint"));
	ASSERT_EQ(0, word_list__parse(&f.dsos, "libc.so.6,/bin/prog"));
	EXPECT_TRUE(filter__is_set(&f));
	EXPECT_FALSE(filter__only_pids(&f));
	EXPECT_TRUE(filter__thread(&f, 1, 2, "xmllint"));
	EXPECT_FALSE(filter__thread(&f, 1, 2, "sh"));
	EXPECT_FALSE(filter__thread(&f, 1, 2, NULL));
	EXPECT_TRUE(filter__site(&f, "x", "/lib/libc.so.6"));
	EXPECT_TRUE(filter__site(&f, "x", "/bin/prog"));
	EXPECT_FALSE(filter__site(&f, "x", "/sbin/prog"));
	EXPECT_FALSE(filter__site(&f, "x", NULL));
	EXPECT_EQ(-EINVAL, word_list__parse(&f.symbols, "a,,b"));
	EXPECT_EQ(-EINVAL, word_list__parse(&f.symbols, ""));
	filter__exit(&f);
}

TEST_HARNESS_MAIN
