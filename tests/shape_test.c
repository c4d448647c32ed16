// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kind of blocks a site makes, from made-up samples whose truth is known.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "churn/model.h"
#include "churn/shape.h"
#include "stack/machine.h"

#include "kselftest_harness.h"

/* --- shares and their errors ------------------------------------------------------------------ */

TEST(share_of_all_calls_has_no_error)
{
	struct share_sum s = {0};
	struct estimate e;

	EXPECT_TRUE(isnan(share_sum__estimate(&s).value));
	share_sum__add(&s, 1, 1);
	share_sum__add(&s, 1, 0);
	share_sum__add(&s, 1, 0);
	share_sum__add(&s, 1, 0);
	e = share_sum__estimate(&s);
	EXPECT_EQ(0.25, e.value);
	EXPECT_EQ(0, e.error);
}

TEST(share_of_samples_has_that_of_a_proportion)
{
	struct share_sum s = {0};
	struct estimate e;
	int i;

	for (i = 0; i < 400; i++)
		share_sum__add(&s, 1000, i % 4 == 0);
	e = share_sum__estimate(&s);
	EXPECT_LT(fabs(e.value - 0.25), 1e-12);
	/* sqrt(p (1 - p) / n), a little more for the two samples each way */
	EXPECT_LT(fabs(e.error - sqrt(0.25 * 0.75 / 400)), 0.001);
	EXPECT_TRUE(surely_above(&e, 0.2));
	EXPECT_FALSE(surely_above(&e, 0.22));
	EXPECT_TRUE(surely_below(&e, 0.3));
}

TEST(three_of_three_samples_are_no_certainty)
{
	struct share_sum s = {0};
	struct estimate e;
	int i;

	for (i = 0; i < 3; i++)
		share_sum__add(&s, 1000, 1);
	e = share_sum__estimate(&s);
	EXPECT_EQ(1, e.value);
	EXPECT_FALSE(surely_above(&e, 0.5));
	for (i = 0; i < 300; i++)
		share_sum__add(&s, 1000, 1);
	e = share_sum__estimate(&s);
	EXPECT_TRUE(surely_above(&e, 0.95));
}

TEST(unknown_is_neither_above_nor_below)
{
	struct estimate e = estimate__unknown();

	EXPECT_FALSE(surely_above(&e, -1));
	EXPECT_FALSE(surely_below(&e, 1));
}

TEST(ratio_of_figures_that_go_together_is_sure)
{
	struct ratio_sum s = {0};
	int i;

	EXPECT_TRUE(isnan(ratio_sum__estimate(&s).value));
	for (i = 1; i <= 10; i++)
		ratio_sum__add(&s, 100, i, 4 * i);
	EXPECT_EQ(0.25, ratio_sum__estimate(&s).value);
	EXPECT_LT(ratio_sum__estimate(&s).error, 1e-6);
}

/* --- lifetimes -------------------------------------------------------------------------------- */

TEST(quantiles_count_those_that_are_still_there)
{
	struct lives l = {0};

	/* 60 die early, 30 later, 10 outlive the recording. */
	lives__add_freed(&l, 100, 60);
	lives__add_freed(&l, 10000, 30);
	lives__add_censored(&l, 1000000, 10);
	EXPECT_EQ(lives__median(&l), lives__quantile(&l, 0.5));
	EXPECT_LT(fabs(lives__quantile(&l, 0.5) - 100), 32);
	EXPECT_LT(fabs(lives__quantile(&l, 0.89) - 10000), 2500);
	EXPECT_TRUE(isnan(lives__quantile(&l, 0.95)));
	lives__exit(&l);
}

TEST(quantiles_of_all_blocks_have_no_error)
{
	struct lives l = {0};
	int i;

	for (i = 1; i <= 1000; i++)
		lives__add_freed(&l, 1000 * i, 1);
	EXPECT_LT(fabs(lives__quantile(&l, 0.9) - 900000), 9000);
	EXPECT_LT(fabs(lives__quantile(&l, 0.99) - 990000), 50000);
	EXPECT_EQ(0, lives__quantile_error(&l, 0.9, 0));
	lives__exit(&l);
}

/* Evenly spread lifetimes: the error of a quantile is T sqrt(q (1 - q) / n). */
TEST(quantiles_of_samples_have_the_error_of_order_statistics)
{
	struct lives l = {0};
	double error;
	int i;

	for (i = 1; i <= 1000; i++)
		lives__add_freed(&l, 1000 * i, 101);
	error = lives__quantile_error(&l, 0.5, 100);
	EXPECT_GT(error, 0.9 * 1e6 * sqrt(0.25 / 1000));
	EXPECT_LT(error, 1.1 * 1e6 * sqrt(0.25 / 1000));
	EXPECT_GT(lives__quantile_error(&l, 0.99, 100), 1000);
	EXPECT_TRUE(isnan(lives__quantile_error(&l, 0.998, 100)));
	lives__exit(&l);
}

/* --- order ------------------------------------------------------------------------------------ */

enum pattern { QUEUE, STACK, ONE_BY_ONE, ALL_AT_ONCE, ALL_AT_ONCE_BACKWARDS, ANY };

FIXTURE(order) { struct order o; __u64 now; };
FIXTURE_SETUP(order) { self->now = 1; }
FIXTURE_TEARDOWN(order) { (void)self; }

FIXTURE_VARIANT(order) {
	enum pattern pattern;
	__u64 weight;
	__u32 free_tid;
	enum free_order want;
};

FIXTURE_VARIANT_ADD(order, queue) { QUEUE, 1, 7, FREE_ORDER_FIFO };
FIXTURE_VARIANT_ADD(order, queue_sampled) { QUEUE, 1000, 7, FREE_ORDER_FIFO };
FIXTURE_VARIANT_ADD(order, queue_to_another_thread) { QUEUE, 1, 8, FREE_ORDER_FIFO };
FIXTURE_VARIANT_ADD(order, stack) { STACK, 1, 7, FREE_ORDER_LIFO };
FIXTURE_VARIANT_ADD(order, stack_sampled) { STACK, 1000, 7, FREE_ORDER_LIFO };
FIXTURE_VARIANT_ADD(order, one_by_one) { ONE_BY_ONE, 1, 7, FREE_ORDER_UNKNOWN };
FIXTURE_VARIANT_ADD(order, batch) { ALL_AT_ONCE, 1, 7, FREE_ORDER_BATCH };
FIXTURE_VARIANT_ADD(order, batch_sampled) { ALL_AT_ONCE, 1000, 7, FREE_ORDER_BATCH };
FIXTURE_VARIANT_ADD(order, batch_backwards) { ALL_AT_ONCE_BACKWARDS, 1, 7, FREE_ORDER_BATCH };
FIXTURE_VARIANT_ADD(order, any) { ANY, 1, 7, FREE_ORDER_MIXED };

#define NR_BLOCKS	30

static __u64 make(FIXTURE_DATA(order) *self)
{
	order__add_alloc(&self->o, 7);
	return ++self->now;
}

static void drop(FIXTURE_DATA(order) *self, const FIXTURE_VARIANT(order) *variant, __u64 start)
{
	order__add_free(&self->o, 7, variant->free_tid, start, ++self->now, variant->weight);
}

static void go_in_batches(FIXTURE_DATA(order) *self, const FIXTURE_VARIANT(order) *variant)
{
	__u64 start[NR_BLOCKS];
	int i;

	for (i = 0; i < NR_BLOCKS; i++)
		start[i] = make(self);
	for (i = 0; i < NR_BLOCKS; i++)
		drop(self, variant,
		     start[variant->pattern == ALL_AT_ONCE ? i : NR_BLOCKS - 1 - i]);
}

/* Up to 4 on the stack; never more than 2 frees in a row. */
static void go_up_and_down(FIXTURE_DATA(order) *self, const FIXTURE_VARIANT(order) *variant)
{
	__u64 a = make(self), b = make(self), c;

	drop(self, variant, b);
	c = make(self);
	b = make(self);
	drop(self, variant, b);
	drop(self, variant, c);
	drop(self, variant, a);
}

static void go_on(FIXTURE_DATA(order) *self, const FIXTURE_VARIANT(order) *variant, __u64 *held)
{
	/* Which of the held ones goes: the oldest, the only one, or any. */
	static unsigned int state = 12345;
	unsigned int i = 0;

	state = state * 1103515245 + 12345;
	if (variant->pattern == ANY)
		i = (state >> 16) % NR_BLOCKS;
	if (held[i])
		drop(self, variant, held[i]);
	memmove(held + i, held + i + 1, (NR_BLOCKS - 1 - i) * sizeof(*held));
	held[variant->pattern == ONE_BY_ONE ? 0 : NR_BLOCKS - 1] = make(self);
}

TEST_F(order, is_found)
{
	__u64 held[NR_BLOCKS] = {0};
	int i;

	for (i = 0; i < 3000; i++) {
		if (variant->pattern == STACK)
			go_up_and_down(self, variant);
		else if (variant->want == FREE_ORDER_BATCH)
			go_in_batches(self, variant);
		else
			go_on(self, variant, held);
	}
	EXPECT_EQ(variant->want, order__judge(&self->o));
	if (variant->want == FREE_ORDER_BATCH)
		EXPECT_EQ(NR_BLOCKS * variant->weight, order__batch_blocks(&self->o));
	if (variant->pattern == ONE_BY_ONE)
		EXPECT_TRUE(isnan(share_sum__estimate(&self->o.lifo).value));
}

TEST(order_of_a_handful_of_samples_is_not_known)
{
	struct order o = {0};

	order__add_alloc(&o, 7);
	order__add_alloc(&o, 7);
	order__add_free(&o, 7, 7, 10, 30, 1000);
	order__add_free(&o, 7, 7, 20, 40, 1000);
	EXPECT_EQ(0, share_sum__estimate(&o.lifo).value);
	EXPECT_EQ(FREE_ORDER_UNKNOWN, order__judge(&o));
}

TEST(order_blocks_of_two_threads_make_no_pair)
{
	struct order o = {0};

	order__add_free(&o, 7, 7, 10, 30, 1);
	order__add_free(&o, 8, 8, 20, 40, 1);
	EXPECT_TRUE(isnan(share_sum__estimate(&o.lifo).value));
}

/* --- frames ----------------------------------------------------------------------------------- */

FIXTURE(frames) { struct names *names; struct stacks *s; };

FIXTURE_SETUP(frames)
{
	ASSERT_EQ(0, names__new(NULL, 0, &self->names));
	ASSERT_EQ(0, stacks__new(self->names, NULL, NULL, &self->s));
}

FIXTURE_TEARDOWN(frames)
{
	stacks__free(self->s);
	names__free(self->names);
}

/* "leaf:1 main:3 _start:4": functions, each with a letter for the address; +: inlined. */
FIXTURE_VARIANT(frames) {
	const char *alloc, *free;
	enum frame_left want;
};

#define FRAMES(row, alloc, free, want) FIXTURE_VARIANT_ADD(frames, row) { alloc, free, want }

FRAMES(freed_in_the_function, "parse:1 main:3 _start:4", "parse:2 main:3 _start:4", FRAME_LEFT_OWN);
FRAMES(freed_below_the_function, "parse:1 main:3 _start:4", "drop:1 parse:2 main:3 _start:4",
       FRAME_LEFT_OWN);
FRAMES(freed_below_the_same_call, "operator_new(unsigned_long):1 parse:1 main:3 _start:4",
       "operator_delete(void*):1 parse:1 main:3 _start:4", FRAME_LEFT_OWN);
FRAMES(freed_by_the_caller, "make:1 parse:1 main:3 _start:4", "parse:2 main:3 _start:4",
       FRAME_LEFT_CALLER);
FRAMES(freed_below_the_caller, "make:1 parse:1 main:3 _start:4", "drop:1 parse:2 main:3 _start:4",
       FRAME_LEFT_CALLER);
FRAMES(freed_by_the_callers_caller, "make:1 parse:1 main:3 _start:4", "drop:1 main:4 _start:4",
       FRAME_LEFT_NONE);
FRAMES(called_from_elsewhere, "parse:1 main:3 _start:4", "parse:2 main:8 _start:4",
       FRAME_LEFT_CALLER);
FRAMES(same_function_of_another_thread, "work:1 run:2 start_thread:1",
       "work:1 run:7 start_thread:2", FRAME_LEFT_NONE);
FRAMES(recursion_deeper_down, "walk:1 main:3 _start:4", "walk:9 walk:5 main:3 _start:4",
       FRAME_LEFT_OWN);
FRAMES(recursion_further_up, "walk:1 walk:5 main:3 _start:4", "walk:9 main:3 _start:4",
       FRAME_LEFT_CALLER);
FRAMES(inlined_in_the_same_frame, "+make:1 parse:1 main:3 _start:4",
       "+make:2 parse:2 main:3 _start:4", FRAME_LEFT_OWN);
FRAMES(inlined_but_freed_by_its_caller, "+make:1 parse:1 main:3 _start:4",
       "parse:2 main:3 _start:4", FRAME_LEFT_CALLER);
FRAMES(another_inlined_in_the_same_frame, "+make:1 parse:1 main:3 _start:4",
       "+drop:2 parse:2 main:3 _start:4", FRAME_LEFT_CALLER);
FRAMES(inlined_in_another_frame, "+make:1 parse:1 main:3 _start:4",
       "+make:2 skip:2 main:9 _start:4", FRAME_LEFT_NONE);
FRAMES(nothing_in_common, "parse:1 main:3 _start:4", "drop:1 start_thread:2", FRAME_LEFT_NONE);
FRAMES(cut_off_before_it_could_be_seen, "parse:1 main:3 _start:4", "drop:1 lib:2",
       FRAME_LEFT_UNKNOWN);
FRAMES(main_itself, "main:3 _start:4", "main:5 _start:4", FRAME_LEFT_OWN);

/* Names of operators are written with underscores for blanks. */
static __u32 parse_stack(struct stacks *s, const char *text, char *copy)
{
	struct frame frames[8] = {0};
	__u32 stack = STACK_NONE;
	size_t nr = 0, i;
	char *word, *rest = copy;

	strcpy(copy, text);
	while ((word = strsep(&rest, " "))) {
		char *colon = strrchr(word, ':');

		*colon = '\0';
		frames[nr].inlined = *word == '+';
		frames[nr].sym = word + frames[nr].inlined;
		frames[nr].dso = "/bin/prog";
		frames[nr].rel_ip = frames[nr].ip = colon[1];
		for (i = 0; word[i]; i++) {
			frames[nr].sym_start += word[i];
			if (word[i] == '_' && i && strstr(word, "operator"))
				word[i] = ' ';
		}
		nr++;
	}
	return stacks__add(s, frames, nr, &stack) ? STACK_NONE : stack;
}

TEST_F(frames, left)
{
	char copy[2][200];
	__u32 alloc = parse_stack(self->s, variant->alloc, copy[0]);
	__u32 stack = parse_stack(self->s, variant->free, copy[1]);

	EXPECT_EQ(variant->want, frame_left(self->s, stacks__site(self->s, alloc), stack));
}

/* --- a site's shape, through the model -------------------------------------------------------- */

FIXTURE(shape) {
	struct names *names;
	struct model *m;
	const struct report *r;
	struct report_recording rec;
	__u64 now, seq;
	char copy[200];
};

FIXTURE_SETUP(shape)
{
	struct model_opts opts = { .max_live = 100000 };

	ASSERT_EQ(0, names__new(NULL, 0, &self->names));
	opts.names = self->names;
	ASSERT_EQ(0, model__new(&opts, &self->m));
	self->rec = (struct report_recording){
		.has_weights = true, .has_frees = true, .is_glibc = true, .duration_s = 1,
	};
	self->now = 1000;
}

FIXTURE_TEARDOWN(shape)
{
	model__free(self->m);
	names__free(self->names);
}

static struct model_alloc new_block(FIXTURE_DATA(shape) *self, const char *stack, __u64 size,
				    __u64 weight)
{
	struct model_alloc a = {
		.time_ns = self->now += 10, .size_bytes = size, .weight = weight,
		.seq = ++self->seq, .pid = 10, .tid = 10, .fn = CHURN_FN_MALLOC,
		.stack = parse_stack(model__stacks(self->m), stack, self->copy),
		.comm = stacks__string(model__stacks(self->m), "prog"),
	};

	return a;
}

static struct model_free end_of(FIXTURE_DATA(shape) *self, const struct model_alloc *a,
				const char *stack)
{
	struct model_free f = {
		.time_ns = self->now += 10, .weight = a->weight, .seq = a->seq, .pid = 10,
		.tid = 10, .fn = CHURN_FN_FREE, .counted = true,
		.stack = parse_stack(model__stacks(self->m), stack, self->copy),
	};

	f.lifetime_ns = self->now - a->time_ns;
	return f;
}

static struct model_alloc add(FIXTURE_DATA(shape) *self, const char *stack, __u64 size,
			      __u64 weight)
{
	struct model_alloc a = new_block(self, stack, size, weight);

	model__add_alloc(self->m, &a);
	return a;
}

static void drop_at(FIXTURE_DATA(shape) *self, const struct model_alloc *a, const char *stack)
{
	struct model_free f = end_of(self, a, stack);

	model__add_free(self->m, &f);
}

static const struct report_shape *finish(FIXTURE_DATA(shape) *self, size_t site)
{
	if (model__finish(self->m, &self->rec, self->now, true, &self->r))
		return NULL;
	return site < self->r->nr_sites ? self->r->sites[site].shape : NULL;
}

#define PARSE		"parse:1 main:3 _start:4"
#define PARSE_END	"parse:9 main:3 _start:4"
#define MAIN_END	"main:9 _start:4"

TEST_F(shape, of_a_small_buffer_that_its_function_frees)
{
	const struct report_shape *s;
	struct model_alloc a;
	int i;

	for (i = 0; i < 1000; i++) {
		a = add(self, PARSE, 48, 1);
		drop_at(self, &a, PARSE_END);
	}
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_EQ(48, s->min_bytes);
	EXPECT_EQ(48, s->max_bytes);
	EXPECT_EQ(1, s->same_size.value);
	/* 16 of 64 */
	EXPECT_EQ(0.25, s->slack.value);
	EXPECT_EQ(1, s->own_frame.value);
	EXPECT_EQ(0, s->own_frame.error);
	EXPECT_EQ(1, s->caller_frame.value);
	EXPECT_EQ(0, s->cross_thread.value);
	EXPECT_EQ(FREE_ORDER_UNKNOWN, s->order);
	EXPECT_EQ(1, s->nr_lives);
	EXPECT_EQ(16, s->lives[0].le);
	EXPECT_EQ(1000, s->lives[0].count.value);
	EXPECT_LT(fabs(s->p99_ns.value - 10), 2);
	EXPECT_LT(fabs(s->live.value - 1000 * 10 / 1e9), 1e-12);
	EXPECT_EQ(1, s->nr_threads);
	EXPECT_STREQ("parse", stacks__frame(self->r->stacks, s->freed_at)->sym);
	EXPECT_EQ(0, s->growth.realloc.value);
	EXPECT_EQ(0, s->growth.copied.value);
}

TEST_F(shape, of_samples_has_errors)
{
	const struct report_shape *s;
	struct model_alloc a;
	int i;

	for (i = 0; i < 100; i++) {
		a = add(self, PARSE, i % 2 ? 100 : 20, 1000);
		drop_at(self, &a, i % 10 ? PARSE_END : MAIN_END);
	}
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_LT(fabs(s->own_frame.value - 0.9), 1e-9);
	EXPECT_LT(fabs(s->own_frame.error - sqrt(0.9 * 0.1 / 100)), 0.005);
	EXPECT_LT(fabs(s->same_size.value - 0.5), 1e-9);
	ASSERT_EQ(3, s->nr_sizes);
	EXPECT_EQ(32, s->sizes[0].le);
	EXPECT_EQ(50000, s->sizes[0].count.value);
	EXPECT_LT(fabs(s->sizes[0].count.error - 1000 * sqrt(50)), 10);
	/* (12 + 12) of (32 + 112) */
	EXPECT_LT(fabs(s->slack.value - 24.0 / 144), 1e-9);
	EXPECT_GT(s->slack.error, 0);
}

TEST_F(shape, of_another_allocator_has_no_slack)
{
	const struct report_shape *s;

	self->rec.is_glibc = false;
	add(self, PARSE, 48, 1);
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_TRUE(isnan(s->slack.value));
}

TEST_F(shape, without_frees_is_known_by_half)
{
	const struct report_shape *s;

	self->rec.has_frees = false;
	add(self, PARSE, 48, 1);
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_TRUE(isnan(s->p50_ns.value));
	EXPECT_TRUE(isnan(s->live.value));
	EXPECT_TRUE(isnan(s->own_frame.value));
	EXPECT_TRUE(isnan(s->growth.copied.value));
	EXPECT_EQ(STACK_NONE, s->freed_at);
}

TEST_F(shape, of_blocks_for_another_thread)
{
	const struct report_shape *s;
	int i;

	for (i = 0; i < 100; i++) {
		struct model_alloc a = add(self, PARSE, 48, 1);
		struct model_free f = end_of(self, &a, PARSE_END);

		if (i % 4) {
			f.tid = 11;
			f.flags = CHURN_F_CROSS_THREAD;
		}
		model__add_free(self->m, &f);
	}
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_EQ(0.75, s->cross_thread.value);
	/* The same function, in another thread, is another frame. */
	EXPECT_EQ(0.25, s->own_frame.value);
}

TEST_F(shape, of_what_lives_on_counts_for_blocks_at_a_time)
{
	const struct report_shape *s;

	add(self, PARSE, 48, 1);
	self->now += 500000000;
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_LT(fabs(s->live.value - 0.5), 1e-6);
}

/* malloc 64, realloc to 128, 256, 512, then free: by one function. */
TEST_F(shape, of_realloc_growth)
{
	const char *first = "grow:1 main:3 _start:4", *more = "grow:5 main:3 _start:4";
	const struct report_growth *g;
	const struct report_shape *s;
	int i, step;

	for (i = 0; i < 100; i++) {
		struct model_alloc a = add(self, first, 64, 1);

		for (step = 1; step <= 3; step++) {
			struct model_free f = end_of(self, &a, more);

			f.fn = CHURN_FN_REALLOC;
			model__add_free(self->m, &f);
			a = new_block(self, more, 64 << step, 1);
			a.fn = CHURN_FN_REALLOC;
			a.old = true;
			a.flags = step == 3 ? CHURN_F_MOVED : 0;
			model__add_alloc(self->m, &a);
		}
		drop_at(self, &a, MAIN_END);
	}
	s = finish(self, 1);
	ASSERT_NE(NULL, s);
	g = &s->growth;
	EXPECT_EQ(1, g->realloc.value);
	EXPECT_LT(fabs(g->moved.value - 1.0 / 3), 1e-9);
	/* (128 + 256 + 512) / (64 + 128 + 256), the very first block unseen */
	EXPECT_LT(fabs(g->factor.value - 2), 0.01);
	EXPECT_LT(fabs(g->steps.value - 3), 1e-9);
	EXPECT_EQ(0, g->copied.value);
	EXPECT_EQ(0, self->r->sites[0].shape->growth.realloc.value);
	EXPECT_TRUE(isnan(self->r->sites[0].shape->growth.steps.value));
	/* Not frees by a program. */
	EXPECT_TRUE(isnan(self->r->sites[0].shape->own_frame.value));
}

/* A vector: 4 steps of twice the size, each frees the block before; the last is freed by fill. */
static const struct report_shape *grow_by_copying(FIXTURE_DATA(shape) *self, __u64 weight)
{
	struct model_alloc old, new;
	int i, step;

	for (i = 0; i < 400; i++) {
		for (step = 0; step < 4; step++) {
			new = add(self, "std::vector:1 fill:1 main:3 _start:4", 16 << step, weight);
			if (step)
				drop_at(self, &old, "std::vector:2 fill:1 main:3 _start:4");
			old = new;
		}
		drop_at(self, &old, "std::vector:7 fill:8 main:3 _start:4");
	}
	return finish(self, 0);
}

TEST_F(shape, of_growth_by_copying)
{
	const struct report_shape *s = grow_by_copying(self, 1);

	ASSERT_NE(NULL, s);
	EXPECT_EQ(0.75, s->growth.copied.value);
	EXPECT_EQ(0, s->growth.copied.error);
	/* (240 / 4) / (112 / 3) */
	EXPECT_LT(fabs(s->growth.copy_factor.value - 60 / (112.0 / 3)), 1e-9);
	EXPECT_EQ(1, s->own_frame.value);
}

TEST_F(shape, of_growth_by_copying_sampled)
{
	const struct report_shape *s = grow_by_copying(self, 500);

	ASSERT_NE(NULL, s);
	EXPECT_LT(fabs(s->growth.copied.value - 0.75), 1e-9);
	EXPECT_GT(s->growth.copied.error, 0.005);
	EXPECT_LT(s->growth.copied.error, 0.02);
}

TEST_F(shape, of_buffers_of_all_sizes_is_no_growth)
{
	const struct report_shape *s;
	struct model_alloc a;
	int i;

	for (i = 0; i < 1000; i++) {
		a = add(self, PARSE, 16 + i % 100, 1);
		drop_at(self, &a, i % 2 ? PARSE_END : MAIN_END);
	}
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_EQ(0, s->growth.copied.value);
	EXPECT_TRUE(isnan(s->growth.copy_factor.value));
}

TEST_F(shape, remembers_the_places_that_free_most)
{
	const struct report_shape *s;
	struct model_alloc a;
	char stack[64];
	int i;

	for (i = 0; i < 300; i++) {
		snprintf(stack, sizeof(stack), "rare:%c main:9 _start:4", 33 + i % 90);
		a = add(self, PARSE, 48, 1);
		drop_at(self, &a, i % 3 ? "often:1 main:9 _start:4" : stack);
	}
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_STREQ("often", stacks__frame(self->r->stacks, s->freed_at)->sym);
}

TEST_F(shape, is_not_sure_when_samples_are_missing)
{
	const struct report_shape *s;
	struct model_alloc a = add(self, PARSE, 48, 1);

	drop_at(self, &a, PARSE_END);
	model__losses(self->m)->perf_churn = 1;
	s = finish(self, 0);
	ASSERT_NE(NULL, s);
	EXPECT_EQ(BOUND_UNKNOWN, s->own_frame.bound);
	EXPECT_EQ(BOUND_LOWER, s->sizes[0].count.bound);
}

TEST_HARNESS_MAIN
