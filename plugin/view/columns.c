// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <string.h>

#include "columns.h"
#include "format.h"
#include "names_of.h"
#include "util/msg.h"

static int cmp_double(double a, double b)
{
	/* Unknown comes last. */
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

static int cmp_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !a - !b;
}

/* Unknown is nothing to a program, and "-" to a reader. */
static void print_figure(FILE *out, const struct site_row *row, double value, enum bound bound,
			 const char *(*format)(char *, double))
{
	char buf[FORMAT_BYTES];

	if (!row->raw)
		fprintf(out, "%s%s", isnan(value) ? "" : bound_mark(bound), format(buf, value));
	else if (!isnan(value))
		fprintf(out, "%.*f", value == floor(value) ? 0 : 2, value);
}

static void print_estimate_count(FILE *out, const struct site_row *row, const struct estimate *e)
{
	print_figure(out, row, e->value, e->bound, format_count);
}

static void print_estimate_bytes(FILE *out, const struct site_row *row, const struct estimate *e)
{
	print_figure(out, row, e->value, e->bound, format_bytes);
}

static int cmp_share(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->share, b->share);
}

static void print_share(FILE *out, const struct site_row *row)
{
	fprintf(out, "%.2f%%", 100 * row->share);
}

static int cmp_samples(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->nr_samples, b->site->nr_samples);
}

static void print_samples(FILE *out, const struct site_row *row)
{
	print_figure(out, row, row->site->nr_samples, BOUND_NONE, format_count);
}

static int cmp_allocs(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->allocs.value, b->site->allocs.value);
}

static void print_allocs(FILE *out, const struct site_row *row)
{
	print_estimate_count(out, row, &row->site->allocs);
}

static double relative_error(const struct estimate *e)
{
	return e->value > 0 ? e->error / e->value : 0;
}

static void print_relative_error(FILE *out, const struct estimate *e)
{
	fprintf(out, "%.1f%%", 100 * relative_error(e));
}

static int cmp_error(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(relative_error(&a->site->allocs), relative_error(&b->site->allocs));
}

static void print_error(FILE *out, const struct site_row *row)
{
	print_relative_error(out, &row->site->allocs);
}

static void print_rate(FILE *out, const struct site_row *row)
{
	print_figure(out, row, report__rate(row->report, row->site->allocs.value),
		     row->site->allocs.bound, format_si);
}

static int cmp_bytes(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->bytes.value, b->site->bytes.value);
}

static void print_bytes(FILE *out, const struct site_row *row)
{
	print_estimate_bytes(out, row, &row->site->bytes);
}

static int cmp_bytes_error(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(relative_error(&a->site->bytes), relative_error(&b->site->bytes));
}

static void print_bytes_error(FILE *out, const struct site_row *row)
{
	print_relative_error(out, &row->site->bytes);
}

static void print_bytes_rate(FILE *out, const struct site_row *row)
{
	print_figure(out, row, report__rate(row->report, row->site->bytes.value),
		     row->site->bytes.bound, format_bytes);
}

static int cmp_avg(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->avg_bytes.value, b->site->avg_bytes.value);
}

static void print_avg(FILE *out, const struct site_row *row)
{
	print_estimate_bytes(out, row, &row->site->avg_bytes);
}

static int cmp_life(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->p50_life_ns, b->site->p50_life_ns);
}

static void print_life(FILE *out, const struct site_row *row)
{
	print_figure(out, row, row->site->p50_life_ns, row->site->life_bound, format_ns);
}

static int cmp_frees(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->frees.value, b->site->frees.value);
}

static void print_frees(FILE *out, const struct site_row *row)
{
	print_estimate_count(out, row, &row->site->frees);
}

static int cmp_live(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->live_allocs.value, b->site->live_allocs.value);
}

static void print_live(FILE *out, const struct site_row *row)
{
	print_estimate_count(out, row, &row->site->live_allocs);
}

static int cmp_live_bytes(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->live_bytes.value, b->site->live_bytes.value);
}

static void print_live_bytes(FILE *out, const struct site_row *row)
{
	print_estimate_bytes(out, row, &row->site->live_bytes);
}

/* Of the program's CPU time; what is not known is nothing to a program. */
static void print_percent(FILE *out, const struct site_row *row, double part)
{
	if (isnan(part))
		fputs(row->raw ? "" : "-", out);
	else
		fprintf(out, row->raw ? "%.2f" : "%.1f", 100 * part);
}

static int cmp_cpu(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->cost.whole.value, b->site->cost.whole.value);
}

static void print_cpu(FILE *out, const struct site_row *row)
{
	print_percent(out, row, row->site->cost.whole.value);
}

static int cmp_cpu_error(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->cost.whole.error, b->site->cost.whole.error);
}

static void print_cpu_error(FILE *out, const struct site_row *row)
{
	const struct report_cost *c = &row->site->cost;

	print_percent(out, row, isnan(c->whole.value) ? NAN : c->whole.error);
}

static int cmp_saving(const struct site_row *a, const struct site_row *b)
{
	return cmp_double(a->site->cost.saving.value, b->site->cost.saving.value);
}

static void print_saving(FILE *out, const struct site_row *row)
{
	print_percent(out, row, row->site->cost.saving.value);
}

#define COST_COLUMN(name, class) \
	static int cmp_##name(const struct site_row *a, const struct site_row *b) \
	{ \
		return cmp_double(a->site->cost.parts[class], b->site->cost.parts[class]); \
	} \
	static void print_##name(FILE *out, const struct site_row *row) \
	{ \
		print_percent(out, row, row->site->cost.parts[class]); \
	}

COST_COLUMN(malloc, CLASS_MALLOC)
COST_COLUMN(free, CLASS_FREE)
COST_COLUMN(realloc, CLASS_REALLOC)
COST_COLUMN(fault, CLASS_HEAP_FAULT)
COST_COLUMN(syscall, CLASS_HEAP_SYSCALL)

static const struct stack_frame *row_frame(const struct site_row *row)
{
	return stacks__frame(row->report->stacks, row->site->stack);
}

static int cmp_srcline(const struct site_row *a, const struct site_row *b)
{
	return cmp_text(row_frame(a)->srcline, row_frame(b)->srcline);
}

static void print_srcline(FILE *out, const struct site_row *row)
{
	print_text(out, row_frame(row)->srcline ?: "-");
}

static int cmp_dso(const struct site_row *a, const struct site_row *b)
{
	return cmp_text(row_frame(a)->dso, row_frame(b)->dso);
}

static void print_dso(FILE *out, const struct site_row *row)
{
	print_text(out, base_name(row_frame(row)->dso ?: "[unknown]"));
}

static int cmp_sym(const struct site_row *a, const struct site_row *b)
{
	return cmp_text(row_frame(a)->sym, row_frame(b)->sym);
}

static void print_sym(FILE *out, const struct site_row *row)
{
	print_function(out, row_frame(row));
}

static int cmp_site(const struct site_row *a, const struct site_row *b)
{
	return cmp_sym(a, b) ?: cmp_srcline(a, b);
}

static void print_site_name(FILE *out, const struct site_row *row)
{
	print_site(out, row_frame(row));
}

static const struct column columns[] = {
	{ "cpu", "CPU%", 6, false, cmp_cpu, print_cpu },
	{ "cpu_error", "+-", 4, false, cmp_cpu_error, print_cpu_error },
	{ "malloc", "malloc", 6, false, cmp_malloc, print_malloc },
	{ "free", "free", 6, false, cmp_free, print_free },
	{ "realloc", "realloc", 7, false, cmp_realloc, print_realloc },
	{ "fault", "fault", 6, false, cmp_fault, print_fault },
	{ "syscall", "syscall", 7, false, cmp_syscall, print_syscall },
	{ "saving", "saving", 6, false, cmp_saving, print_saving },
	{ "share", "Share", 7, false, cmp_share, print_share },
	{ "samples", "Samples", 9, false, cmp_samples, print_samples },
	{ "allocs", "Allocations", 14, false, cmp_allocs, print_allocs },
	{ "error", "+-", 6, false, cmp_error, print_error },
	{ "rate", "Allocs/s", 8, false, cmp_allocs, print_rate },
	{ "bytes", "Bytes", 9, false, cmp_bytes, print_bytes },
	{ "bytes_error", "+-", 6, false, cmp_bytes_error, print_bytes_error },
	{ "bytes_rate", "Bytes/s", 10, false, cmp_bytes, print_bytes_rate },
	{ "avg", "Avg size", 8, false, cmp_avg, print_avg },
	{ "life", "Med life", 8, false, cmp_life, print_life },
	{ "frees", "Frees", 14, false, cmp_frees, print_frees },
	{ "live", "Live", 12, false, cmp_live, print_live },
	{ "live_bytes", "Live bytes", 10, false, cmp_live_bytes, print_live_bytes },
	{ "srcline", "Source line", 24, true, cmp_srcline, print_srcline },
	{ "dso", "Object", 20, true, cmp_dso, print_dso },
	{ "sym", "Function", 30, true, cmp_sym, print_sym },
	{ "site", "Site", 30, true, cmp_site, print_site_name },
};

#define NR_COLUMNS	(sizeof(columns) / sizeof(columns[0]))

/* Where what is counted are refills of the allocator's caches. */
static const char *const slow_path_titles[][2] = {
	{ "allocs", "Refills" }, { "rate", "Refill/s" },
};

const char *column__title(const struct column *column, const struct report *r)
{
	size_t i;

	for (i = 0; r->recording.slow_path && i < sizeof(slow_path_titles) / sizeof(slow_path_titles[0]);
	     i++) {
		if (!strcmp(column->key, slow_path_titles[i][0]))
			return slow_path_titles[i][1];
	}
	return column->title;
}

/* Names that fingers know from perf report. */
static const char *const aliases[][2] = {
	{ "overhead", "share" }, { "symbol", "sym" }, { "srcfile", "srcline" }, { "size", "avg" },
};

static const struct column *find_column(const char *key, size_t bytes)
{
	size_t i;

	for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strlen(aliases[i][0]) == bytes && !strncmp(aliases[i][0], key, bytes))
			return find_column(aliases[i][1], strlen(aliases[i][1]));
	}
	for (i = 0; i < NR_COLUMNS; i++) {
		if (strlen(columns[i].key) == bytes && !strncmp(columns[i].key, key, bytes))
			return &columns[i];
	}
	return NULL;
}

static int reject_column(const char *option, const char *key, size_t bytes)
{
	char keys[256];
	size_t i, used = 0;

	for (i = 0; i < NR_COLUMNS; i++)
		used += snprintf(keys + used, sizeof(keys) - used, "%s%s", i ? ", " : "",
				 columns[i].key);
	pr_err("%s: no column '%.*s'; there are %s\n", option, (int)bytes, key, keys);
	return -EINVAL;
}

int columns__parse(const char *option, const char *keys, struct column_list *ret)
{
	ret->nr = 0;
	ret->add = *keys == '+';
	keys += ret->add;
	for (;;) {
		size_t bytes = strcspn(keys, ",");
		const struct column *column = find_column(keys, bytes);

		if (!column)
			return reject_column(option, keys, bytes);
		if (ret->nr == MAX_COLUMNS) {
			pr_err("%s: at most %d columns\n", option, MAX_COLUMNS);
			return -EINVAL;
		}
		ret->cols[ret->nr++] = column;
		if (!keys[bytes])
			return 0;
		keys += bytes + 1;
	}
}

static bool has_column(const struct column_list *list, const struct column *column)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		if (list->cols[i] == column)
			return true;
	}
	return false;
}

void columns__add(struct column_list *list, const struct column *column)
{
	if (has_column(list, column) || list->nr == MAX_COLUMNS)
		return;
	list->cols[list->nr] = list->cols[list->nr - 1];
	list->cols[list->nr++ - 1] = column;
}

static void drop_column(struct column_list *list, const struct column *column)
{
	size_t i, nr = 0;

	for (i = 0; i < list->nr; i++) {
		if (list->cols[i] != column)
			list->cols[nr++] = list->cols[i];
	}
	list->nr = nr;
}

/* A column that says the same of every site is left out. */
static bool is_spent(const struct report *r, enum cpu_class class)
{
	size_t i;

	for (i = 0; i < r->nr_sites; i++) {
		if (r->sites[i].cost.parts[class] >= 0.0005)
			return true;
	}
	return false;
}

static void cost_columns(const struct report *r, struct column_list *ret)
{
	char keys[128];

	snprintf(keys, sizeof(keys), "cpu,cpu_error,malloc,free,%s%s%srate,avg,life,site",
		 is_spent(r, CLASS_REALLOC) ? "realloc," : "",
		 is_spent(r, CLASS_HEAP_FAULT) ? "fault," : "",
		 is_spent(r, CLASS_HEAP_SYSCALL) ? "syscall," : "");
	columns__parse("", keys, ret);
}

void columns__default(const struct report *r, const struct column_list *sort, bool by_cpu,
		      struct column_list *ret)
{
	size_t i;

	if (by_cpu)
		cost_columns(r, ret);
	else if (r->totals.sampled_allocs.error > 0)
		columns__parse("", "share,allocs,error,rate,bytes,bytes_error,avg,life,site", ret);
	else
		columns__parse("", "share,allocs,rate,bytes,avg,life,site", ret);
	if (r->recording.slow_path)
		drop_column(ret, find_column("life", strlen("life")));
	for (i = 0; i < sort->nr; i++) {
		if (sort->cols[i]->cmp != cmp_sym && sort->cols[i]->cmp != cmp_srcline)
			columns__add(ret, sort->cols[i]);
	}
}

void columns__add_samples(struct column_list *list)
{
	const struct column *samples = find_column("samples", strlen("samples"));
	size_t i;

	if (has_column(list, samples) || list->nr == MAX_COLUMNS)
		return;
	for (i = list->nr++; i > 1; i--)
		list->cols[i] = list->cols[i - 1];
	list->cols[i] = samples;
}
