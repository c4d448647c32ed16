// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "churn/shape.h"
#include "churn/stacks.h"
#include "json_shape.h"

void json__histogram(struct json_out *j, const char *key, const char *bound_key,
		     const char *count_key, const struct report_class *classes, size_t nr)
{
	size_t i;

	json__open(j, key, '[');
	for (i = 0; i < nr; i++) {
		json__open(j, NULL, '{');
		json__u64(j, bound_key, classes[i].le);
		json__estimate(j, count_key, &classes[i].count);
		json__close(j, '}');
	}
	json__close(j, ']');
}

static void print_percent(struct json_out *j, const char *key, const struct estimate *share)
{
	struct estimate percent = {
		.value = 100 * share->value, .error = 100 * share->error, .bound = share->bound,
	};

	json__estimate(j, key, &percent);
}

static void print_lifetime(struct json_out *j, const struct report_shape *s)
{
	json__open(j, "lifetime", '{');
	json__estimate(j, "p50_ns", &s->p50_ns);
	json__estimate(j, "p90_ns", &s->p90_ns);
	json__estimate(j, "p99_ns", &s->p99_ns);
	json__histogram(j, "histogram", "le_ns", "frees", s->lives, s->nr_lives);
	json__close(j, '}');
}

static void print_size(struct json_out *j, const struct report_shape *s)
{
	json__open(j, "size", '{');
	json__bool(j, "fixed", s->nr_samples && s->min_bytes == s->max_bytes);
	json__u64(j, "min", s->min_bytes);
	json__u64(j, "max", s->max_bytes);
	print_percent(j, "slack_percent", &s->slack);
	json__histogram(j, "histogram", "le", "allocs", s->sizes, s->nr_sizes);
	json__close(j, '}');
}

static const char *order_name(enum free_order order)
{
	static const char *const names[] = {
		[FREE_ORDER_LIFO] = "lifo", [FREE_ORDER_FIFO] = "fifo",
		[FREE_ORDER_BATCH] = "batch", [FREE_ORDER_MIXED] = "mixed",
	};

	return names[order];
}

static void print_order(struct json_out *j, const struct report_shape *s)
{
	json__string(j, "order", order_name(s->order));
	print_percent(j, "lifo_percent", &s->lifo);
	print_percent(j, "batch_percent", &s->batch);
	json__number(j, "batch_blocks", s->batch_blocks);
}

static void print_frames(struct json_out *j, const struct report *r, const struct report_shape *s)
{
	const struct stack_frame *f = s->freed_at == STACK_NONE ? NULL :
				      stacks__frame(r->stacks, s->freed_at);

	print_percent(j, "same_frame_percent", &s->own_frame);
	print_percent(j, "caller_frame_percent", &s->caller_frame);
	json__string(j, "freed_by", f ? f->sym : NULL);
	json__string(j, "freed_by_srcline", f ? f->srcline : NULL);
}

static void print_growth(struct json_out *j, const struct report_growth *g)
{
	json__open(j, "growth", '{');
	print_percent(j, "realloc_percent", &g->realloc);
	print_percent(j, "moved_percent", &g->moved);
	json__estimate(j, "factor", &g->factor);
	json__estimate(j, "steps", &g->steps);
	print_percent(j, "copied_percent", &g->copied);
	json__estimate(j, "copy_factor", &g->copy_factor);
	json__close(j, '}');
}

void json__shape(struct json_out *j, const struct report *r, const struct report_shape *s)
{
	print_lifetime(j, s);
	print_size(j, s);
	print_percent(j, "calloc_percent", &s->calloc);
	json__estimate(j, "live_mean", &s->live);
	json__u64(j, "threads", s->nr_threads);
	print_percent(j, "cross_thread_percent", &s->cross_thread);
	print_order(j, s);
	print_frames(j, r, s);
	print_growth(j, &s->growth);
}
