// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advice.h"

/* Rules whose advice replaces one another: of a group the best one is given. */
enum rule_group {
	GROUP_OWNER,		/* memory comes from somewhere else */
	GROUP_GROWTH,
	GROUP_LARGE,
	GROUP_THREADS,
};

static void __attribute__((format(printf, 2, 3)))
say(struct report_advice *a, const char *fmt, ...)
{
	size_t used = strlen(a->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(a->text + used, sizeof(a->text) - used, fmt, args);
	va_end(args);
}

static void say_bytes(struct report_advice *a, double bytes)
{
	static const char *const units[] = { "B", "KB", "MB", "GB" };
	size_t unit = 0;

	for (; bytes >= 1024 && unit < 3; unit++)
		bytes /= 1024;
	say(a, bytes < 10 && bytes != floor(bytes) ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static void say_time(struct report_advice *a, double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	for (; ns >= 1000 && unit < 3; unit++)
		ns /= 1000;
	say(a, ns < 10 && unit ? "%.1f %s" : "%.0f %s", ns, units[unit]);
}

static void say_size(struct report_advice *a, const struct advice_input *in)
{
	bool fixed = in->shape->min_bytes == in->shape->max_bytes;

	say(a, fixed ? "fixed " : "at most ");
	say_bytes(a, in->shape->max_bytes);
}

/* Names may be long, or hold anything. */
static void say_name(struct report_advice *a, const char *name)
{
	say(a, "%.60s", name);
}

static struct estimate sum(const struct estimate *a, const struct estimate *b)
{
	return (struct estimate){
		.value = a->value + b->value, .error = hypot(a->error, b->error),
	};
}

static struct estimate product(const struct estimate *a, const struct estimate *b)
{
	return (struct estimate){
		.value = a->value * b->value,
		.error = hypot(a->error * b->value, a->value * b->error),
	};
}

static struct estimate kernel_cost(const struct advice_input *in)
{
	return sum(&in->cost.fault, &in->cost.syscall);
}

static struct estimate allocator_cost(const struct advice_input *in)
{
	return sum(&in->cost.malloc, &in->cost.free);
}

static bool is_large(const struct advice_input *in)
{
	return surely_above(&in->avg_bytes, ADVICE_LARGE_BYTES);
}

/*
 * Stacks cannot tell an activation from a later one (frames.h). If each had its blocks to itself, a
 * thread would have none on average but those of activations that go on; and of two the younger
 * would go first.
 */
static bool outlives_its_frame(const struct report_shape *s)
{
	struct estimate fifo = { .value = 1 - s->lifo.value, .error = s->lifo.error };

	if (surely_above(&fifo, 0.1))
		return true;
	return surely_above(&s->live, s->nr_threads) && s->order != FREE_ORDER_LIFO;
}

static bool rule_stack(const struct advice_input *in, struct report_advice *ret)
{
	const struct report_shape *s = in->shape;
	bool own = surely_above(&s->own_frame, ADVICE_STACK_SHARE);

	if (s->max_bytes > ADVICE_STACK_BYTES || outlives_its_frame(s))
		return false;
	/* Of the caller's, many at a time are a list, not a recursion. */
	if (!own && (surely_above(&s->live, s->nr_threads) ||
		     !surely_above(&s->caller_frame, ADVICE_STACK_SHARE)))
		return false;
	say(ret, own ? "keep on the stack: " : "let the caller have it on its stack: ");
	say_size(ret, in);
	say(ret, ", %.1f %% freed ", 100 * (own ? s->own_frame.value : s->caller_frame.value));
	if (own && in->function) {
		say(ret, "by ");
		say_name(ret, in->function);
		say(ret, " itself");
	} else if (!own && in->freed_by) {
		say(ret, "before the caller returns, mostly by ");
		say_name(ret, in->freed_by);
	} else {
		say(ret, "before %s returns", own ? "the function" : "its caller");
	}
	ret->saving = in->cost.cpu;
	return true;
}

static bool rule_reserve(const struct advice_input *in, struct report_advice *ret)
{
	const struct report_growth *g = &in->shape->growth;
	bool by_realloc = surely_above(&g->realloc, ADVICE_GROWTH_SHARE) &&
			  surely_above(&g->factor, 1);
	bool by_copy = surely_above(&g->copied, ADVICE_GROWTH_SHARE);
	const struct estimate *share = by_realloc ? &g->realloc : &g->copied;
	struct estimate cost;

	if (!by_realloc && !by_copy)
		return false;
	say(ret, "reserve the final size up front: ");
	if (by_realloc)
		say(ret, "%.0f %% are reallocs that grow %.1f times, %.0f %% of them move",
		    100 * share->value, g->factor.value, 100 * g->moved.value);
	else
		say(ret, "%.0f %% are outgrown, copied and freed here", 100 * share->value);
	if (by_realloc && g->steps.value > 1)
		say(ret, ", %.1f in a row", g->steps.value);
	/* A row of reallocs ends in a free that stays. Copying is not counted. */
	cost = by_realloc ? in->cost.malloc : allocator_cost(in);
	ret->saving = product(&cost, share);
	return true;
}

static bool rule_reuse(const struct advice_input *in, struct report_advice *ret)
{
	struct estimate kernel = kernel_cost(in);

	if (!is_large(in) || !surely_above(&kernel, ADVICE_KERNEL_CPU))
		return false;
	say(ret, "reuse one buffer, or keep freed memory (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, "
	    "M_TOP_PAD): ");
	say_bytes(ret, in->avg_bytes.value);
	say(ret, " on average, %.1f %% CPU in page faults, %.1f %% in syscalls",
	    in->cost.fault.value, in->cost.syscall.value);
	ret->saving = kernel;
	return true;
}

static bool rule_arena(const struct advice_input *in, struct report_advice *ret)
{
	const struct report_shape *s = in->shape;

	if (s->order != FREE_ORDER_BATCH || s->batch_blocks < ADVICE_ARENA_BLOCKS || is_large(in))
		return false;
	say(ret, "take them from an arena and drop it as a whole: some %.0f blocks of ",
	    s->batch_blocks);
	say_bytes(ret, in->avg_bytes.value);
	say(ret, " freed at a time");
	if (in->freed_by) {
		say(ret, " by ");
		say_name(ret, in->freed_by);
	}
	ret->saving = allocator_cost(in);
	return true;
}

static bool rule_pool(const struct advice_input *in, struct report_advice *ret)
{
	const struct report_shape *s = in->shape;

	if (!surely_above(&s->same_size, ADVICE_POOL_SHARE) ||
	    !surely_below(&s->p90_ns, ADVICE_POOL_LIFE_NS) ||
	    !surely_above(&in->allocs_per_s, ADVICE_POOL_RATE) || is_large(in) ||
	    surely_above(&s->cross_thread, ADVICE_CROSS_SHARE))
		return false;
	say(ret, "keep freed ones in a freelist or pool: %.1f %% of one size, 90 %% live less than ",
	    100 * s->same_size.value);
	say_time(ret, s->p90_ns.value);
	say(ret, ", %.0f a second", in->allocs_per_s.value);
	ret->saving = allocator_cost(in);
	return true;
}

/* What of it is clearing is not known, nor how much of a block needs it. */
static bool rule_calloc(const struct advice_input *in, struct report_advice *ret)
{
	if (!surely_above(&in->shape->calloc, ADVICE_CALLOC_SHARE) || !is_large(in))
		return false;
	say(ret, "clear only what is used, or use malloc: calloc of ");
	say_bytes(ret, in->avg_bytes.value);
	say(ret, " on average, %.1f %% CPU in it, %.1f %% in page faults", in->cost.malloc.value,
	    in->cost.fault.value);
	ret->saving = estimate__unknown();
	return true;
}

/* What remains of free() in the right thread is not known. */
static bool rule_cross_thread(const struct advice_input *in, struct report_advice *ret)
{
	const struct estimate *cross = &in->shape->cross_thread;

	if (!surely_above(cross, ADVICE_CROSS_SHARE) ||
	    !surely_above(&in->cost.free, ADVICE_SITE_CPU))
		return false;
	say(ret, "hand them back to the thread that allocates, to use them again: %.1f %% are "
	    "freed by another one, %.1f %% CPU in free", 100 * cross->value, in->cost.free.value);
	ret->saving = estimate__unknown();
	return true;
}

static const struct rule {
	enum advice_kind kind;
	enum rule_group group;
	const char *name;
	bool (*applies)(const struct advice_input *in, struct report_advice *ret);
} rules[] = {
	{ ADVICE_STACK, GROUP_OWNER, "stack", rule_stack },
	{ ADVICE_RESERVE, GROUP_GROWTH, "reserve", rule_reserve },
	{ ADVICE_REUSE, GROUP_LARGE, "reuse", rule_reuse },
	{ ADVICE_ARENA, GROUP_OWNER, "arena", rule_arena },
	{ ADVICE_POOL, GROUP_OWNER, "pool", rule_pool },
	{ ADVICE_CALLOC, GROUP_LARGE, "calloc", rule_calloc },
	{ ADVICE_CROSS_THREAD, GROUP_THREADS, "cross thread", rule_cross_thread },
};

#define NR_RULES	(sizeof(rules) / sizeof(rules[0]))

const char *advice__name(enum advice_kind kind)
{
	return rules[kind].name;
}

static bool saves_more(const struct report_advice *a, const struct report_advice *b)
{
	if (isnan(b->saving.value))
		return !isnan(a->saving.value);
	return a->saving.value > b->saving.value;
}

/* Into the sorted @found of @nr; the worst falls out. */
static size_t insert(struct report_advice *found, size_t nr, const struct report_advice *a)
{
	size_t i = nr;

	while (i > 0 && saves_more(a, &found[i - 1]))
		i--;
	if (i >= ADVICE_MAX)
		return nr;
	if (nr == ADVICE_MAX)
		nr--;
	memmove(&found[i + 1], &found[i], (nr - i) * sizeof(*found));
	found[i] = *a;
	return nr + 1;
}

static void say_cost(struct report_advice *a)
{
	if (!isnan(a->saving.value))
		say(a, "; takes %.1f +- %.1f %% CPU now", a->saving.value, a->saving.error);
}

/* A rule that applies, and whose saving, where it is known, is worth it. */
static bool try_rule(const struct rule *rule, const struct advice_input *in,
		     struct report_advice *ret)
{
	*ret = (struct report_advice){ .kind = rule->kind };
	if (!rule->applies(in, ret))
		return false;
	return isnan(ret->saving.value) || surely_above(&ret->saving, ADVICE_SITE_CPU);
}

size_t advice__find(const struct advice_input *in, struct report_advice *ret)
{
	struct report_advice best[GROUP_THREADS + 1], a;
	bool has[GROUP_THREADS + 1] = {0};
	size_t nr = 0, i;

	if (!surely_above(&in->cost.cpu, ADVICE_SITE_CPU))
		return 0;
	for (i = 0; i < NR_RULES; i++) {
		enum rule_group group = rules[i].group;

		if (!try_rule(&rules[i], in, &a) || (has[group] && !saves_more(&a, &best[group])))
			continue;
		best[group] = a;
		has[group] = true;
	}
	for (i = 0; i <= GROUP_THREADS; i++) {
		if (has[i])
			nr = insert(ret, nr, &best[i]);
	}
	for (i = 0; i < nr; i++)
		say_cost(&ret[i]);
	return nr;
}
