// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a site's sums to its shape.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"
#include "stacks.h"

/*
 * Blocks that are freed where they are allocated, and are by so much smaller than all are, have
 * been outgrown. Growing by steps of one, ten times, makes 1.11; halves of the same blocks differ
 * by less.
 */
#define COPY_FACTOR	1.08

static struct estimate quantile(const struct shape *s, const struct lives *lives, double q)
{
	double design = s->all.count > 0 ? s->all.var / s->all.count : 0;

	return (struct estimate){
		.value = lives__quantile(lives, q),
		.error = lives__quantile_error(lives, q, design),
	};
}

static void finish_lives(const struct shape *s, const struct shape_context *ctx,
			 struct report_shape *ret)
{
	if (!ctx->has_frees) {
		ret->p50_ns = ret->p90_ns = ret->p99_ns = ret->live = estimate__unknown();
		return;
	}
	ret->p50_ns = quantile(s, ctx->lives, 0.5);
	ret->p90_ns = quantile(s, ctx->lives, 0.9);
	ret->p99_ns = quantile(s, ctx->lives, 0.99);
	ret->live = estimate__unknown();
	if (ctx->duration_s > 0)
		ret->live = (struct estimate){
			.value = s->lived / 1e9 / ctx->duration_s,
			.error = sqrt(s->var_lived) / 1e9 / ctx->duration_s,
		};
}

/* 1 / (1 - what goes on). */
static struct estimate finish_steps(const struct shape *s)
{
	struct estimate goes_on = share_sum__estimate(&s->goes_on);
	double ends = 1 - goes_on.value;

	if (!(ends > 0))
		return estimate__unknown();
	return (struct estimate){ .value = 1 / ends, .error = goes_on.error / (ends * ends) };
}

static void finish_copies(const struct shape *s, struct report_growth *ret)
{
	struct tally copied = {0};
	struct share_sum share;

	for (const struct shape_place *p = s->places; p < s->places + SHAPE_PLACES; p++) {
		struct estimate factor = ratio_of_means(&s->all, &p->sum);

		if (p->left == FRAME_LEFT_OWN && surely_above(&factor, COPY_FACTOR))
			tally__merge(&copied, &p->sum);
	}
	share = (struct share_sum){
		.yes = copied.count, .no = fmax(s->all.count - copied.count, 0),
		.var_yes = copied.var, .var_no = fmax(s->all.var - copied.var, 0),
	};
	ret->copied = share_sum__estimate(&share);
	ret->copy_factor = ratio_of_means(&s->all, &copied);
}

static void finish_growth(const struct shape *s, const struct shape_context *ctx,
			  struct report_growth *ret)
{
	ret->realloc = share_sum__estimate(&s->by_realloc);
	ret->moved = share_sum__estimate(&s->moved);
	ret->factor = ratio_of_means(&s->grown, &s->outgrown);
	ret->steps = finish_steps(s);
	if (ctx->has_frees)
		finish_copies(s, ret);
	else
		ret->copied = ret->copy_factor = estimate__unknown();
}

static __u32 heaviest_place(const struct shape *s)
{
	const struct shape_place *most = s->places;

	for (const struct shape_place *p = s->places; p < s->places + SHAPE_PLACES; p++) {
		if (p->sum.count > most->sum.count)
			most = p;
	}
	return most->sum.nr ? most->stack : STACK_NONE;
}

static void finish_frees(const struct shape *s, struct report_shape *ret)
{
	ret->cross_thread = share_sum__estimate(&s->cross_thread);
	ret->own_frame = share_sum__estimate(&s->own_frame);
	ret->caller_frame = share_sum__estimate(&s->caller_frame);
	ret->lifo = share_sum__estimate(&s->order.lifo);
	ret->batch = share_sum__estimate(&s->order.follows);
	ret->order = order__judge(&s->order);
	ret->batch_blocks = ret->order == FREE_ORDER_BATCH ? order__batch_blocks(&s->order) : NAN;
	ret->freed_at = heaviest_place(s);
}

int shape__finish(const struct shape *s, const struct shape_context *ctx, struct report_shape *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->min_bytes = s->min_bytes;
	ret->max_bytes = s->max_bytes;
	ret->nr_samples = s->nr_samples;
	ret->same_size = share_sum__estimate(&s->same_size);
	ret->slack = ctx->glibc ? ratio_sum__estimate(&s->chunks) : estimate__unknown();
	ret->calloc = share_sum__estimate(&s->by_calloc);
	ret->nr_threads = __builtin_popcountll(s->thread_bits);
	finish_lives(s, ctx, ret);
	finish_frees(s, ret);
	finish_growth(s, ctx, &ret->growth);
	err = classes__finish(&s->sizes, ctx->calibration, &ret->sizes, &ret->nr_sizes) ?:
	      classes__finish(&s->lives, ctx->calibration, &ret->lives, &ret->nr_lives);
	if (err)
		report_shape__exit(ret);
	return err;
}

void report_shape__exit(struct report_shape *s)
{
	free(s->sizes);
	free(s->lives);
	memset(s, 0, sizeof(*s));
}

static void mark_classes(struct report_class *classes, size_t nr)
{
	while (nr-- > 0)
		classes[nr].count.bound = BOUND_LOWER;
}

void report_shape__mark(struct report_shape *s)
{
	struct report_growth *g = &s->growth;
	struct estimate *const all[] = {
		&s->p50_ns, &s->p90_ns, &s->p99_ns, &s->same_size, &s->slack, &s->live,
		&s->cross_thread, &s->own_frame, &s->caller_frame, &s->lifo, &s->batch, &s->calloc,
		&g->realloc, &g->moved, &g->factor, &g->steps, &g->copied, &g->copy_factor,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		all[i]->bound = BOUND_UNKNOWN;
	mark_classes(s->sizes, s->nr_sizes);
	mark_classes(s->lives, s->nr_lives);
}
