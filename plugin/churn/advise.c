// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advice.h"
#include "advise.h"
#include "model_priv.h"

/* In per cent. The error of a part is as if its samples had come at random times, as the whole's is. */
static struct estimate part_of(const struct report_cost *c, double part)
{
	double share = c->whole.value > 0 ? part / c->whole.value : 1;

	return (struct estimate){ .value = 100 * part, .error = 100 * c->whole.error * sqrt(share) };
}

static struct advice_cost cost_of(const struct report_cost *c)
{
	const double *p = c->parts;

	return (struct advice_cost){
		.cpu = { .value = 100 * c->saving.value, .error = 100 * c->saving.error },
		.malloc = part_of(c, p[CLASS_MALLOC] + p[CLASS_REALLOC] - c->zeroing),
		.free = part_of(c, p[CLASS_FREE]),
		.fault = part_of(c, p[CLASS_HEAP_FAULT]),
		.syscall = part_of(c, p[CLASS_HEAP_SYSCALL]),
	};
}

static const char *function_of(const struct model *m, __u32 stack)
{
	return stack == STACK_NONE ? NULL : stacks__frame(m->stacks, stack)->sym;
}

static struct estimate per_second(const struct report *r, const struct estimate *e)
{
	return (struct estimate){
		.value = report__rate(r, e->value), .error = report__rate(r, e->error),
		.bound = e->bound,
	};
}

static void advise(struct model *m, struct report_site *s, struct report_advice *room)
{
	const struct advice_input in = {
		.shape = s->shape, .cost = cost_of(&s->cost), .avg_bytes = s->avg_bytes,
		.allocs_per_s = per_second(&m->report, &s->allocs),
		.function = function_of(m, s->stack), .freed_by = function_of(m, s->shape->freed_at),
	};

	s->advice = room;
	s->nr_advice = advice__find(&in, room);
}

/* Where samples are missing, shapes may be off either way. */
static bool may_advise(const struct report *r)
{
	return r->cpu.spread.known && r->recording.has_frees && r->verdict != VERDICT_NOT_CHURN &&
	       !report__is_lower_bound(r);
}

int finish_advice(struct model *m)
{
	size_t i;

	if (!may_advise(&m->report))
		return 0;
	m->report_advice = calloc(m->nr_sites * ADVICE_MAX + 1, sizeof(*m->report_advice));
	if (!m->report_advice)
		return -ENOMEM;
	for (i = 0; i < m->nr_sites; i++)
		advise(m, &m->report_sites[i], &m->report_advice[i * ADVICE_MAX]);
	return 0;
}
