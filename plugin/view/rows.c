// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "churn/stacks.h"
#include "view.h"

/* With fewer, the order would be one of chance. */
#define MIN_CPU_SAMPLES	100

enum view_by view__by(const struct report *r, const struct view_opts *opts)
{
	bool enough = r->cpu.nr_samples >= (opts->by == BY_CPU ? 1 : MIN_CPU_SAMPLES);

	if (opts->by == BY_DEFAULT || opts->by == BY_CPU)
		return r->cpu.spread.known && enough ? BY_CPU : BY_COUNT;
	return opts->by;
}

/* What decides between equals: weight, share, then the name: output never depends on luck. */
static int cmp_equals(const struct site_row *a, const struct site_row *b)
{
	const struct stack_frame *x, *y;
	int order;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	x = stacks__frame(a->report->stacks, a->site->stack);
	y = stacks__frame(b->report->stacks, b->site->stack);
	order = strcmp(x->sym ?: "", y->sym ?: "");
	if (!order)
		order = (x->rel_ip > y->rel_ip) - (x->rel_ip < y->rel_ip);
	return order ?: (a->site_idx > b->site_idx) - (a->site_idx < b->site_idx);
}

static int cmp_rows(const void *a, const void *b, void *sort_keys)
{
	const struct column_list *sort = sort_keys;
	const struct site_row *x = a, *y = b;
	size_t i;

	for (i = 0; i < sort->nr; i++) {
		int order = sort->cols[i]->cmp(x, y);

		if (order)
			return order;
	}
	return cmp_equals(x, y);
}

static double weight_of(const struct report_site *site, bool by_bytes)
{
	return by_bytes ? site->bytes.value : site->allocs.value;
}

static double sum_of_sites(const struct report *r, bool by_bytes)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < r->nr_sites; i++)
		sum += weight_of(&r->sites[i], by_bytes);
	return sum;
}

int rows__new(const struct report *r, const struct view_opts *opts, struct site_row **ret,
	      size_t *ret_nr)
{
	struct site_row *rows = calloc(r->nr_sites + 1, sizeof(*rows));
	enum view_by by = view__by(r, opts);
	double all = sum_of_sites(r, by == BY_BYTES);
	size_t nr = 0, i;

	if (!rows)
		return -ENOMEM;
	for (i = 0; i < r->nr_sites; i++) {
		double share = all > 0 ? weight_of(&r->sites[i], by == BY_BYTES) / all : 0;
		double weight = by == BY_CPU ? r->sites[i].cost.whole.value : share;

		if (weight >= opts->min_share)
			rows[nr++] = (struct site_row){
				.report = r, .site = &r->sites[i], .site_idx = i, .share = share,
				.weight = weight,
				.raw = opts->separator,
			};
	}
	qsort_r(rows, nr, sizeof(*rows), cmp_rows, (void *)&opts->sort);
	for (i = 0; i < nr; i++)
		rows[i].rank = i + 1;
	*ret = rows;
	*ret_nr = opts->limit && opts->limit < nr ? opts->limit : nr;
	return 0;
}
