// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "churn/advice.h"
#include "format.h"
#include "stdio_priv.h"

/* As perf colours shares. */
#define COLOR_HIGH	"\033[31m"
#define COLOR_MIDDLE	"\033[32m"
#define COLOR_LOW	"\033[2m"
#define COLOR_OFF	"\033[m"

static void print_titles(FILE *out, const struct report *r, const struct column_list *fields)
{
	size_t i;
	int dots;

	fputc('#', out);
	for (i = 0; i < fields->nr; i++) {
		const struct column *c = fields->cols[i];

		if (c->left && i + 1 == fields->nr)
			fprintf(out, " %s", column__title(c, r));
		else
			fprintf(out, " %*s ", c->left ? -c->width : c->width, column__title(c, r));
	}
	fputs("\n#", out);
	for (i = 0; i < fields->nr; i++) {
		fputs(i ? "  " : " ", out);
		for (dots = 0; dots < fields->cols[i]->width; dots++)
			fputc('.', out);
	}
	fputs("\n#\n", out);
}

static const char *share_color(double share)
{
	return share >= 0.05 ? COLOR_HIGH : share > 0.005 ? COLOR_MIDDLE : "";
}

/* What is below its own error may as well be nothing. */
static const char *cell_color(const struct column *c, const struct site_row *row)
{
	const struct estimate *cpu = &row->site->cost.whole;

	if (!strcmp(c->key, "share"))
		return share_color(row->share);
	if (!strcmp(c->key, "cpu") || !strcmp(c->key, "cpu_error"))
		return cpu->value <= cpu->error ? COLOR_LOW :
		       !strcmp(c->key, "cpu") ? share_color(cpu->value) : "";
	return "";
}

/* What a column prints; malloc'ed. NULL: out of memory. */
static char *cell_text(const struct column *c, const struct site_row *row)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return NULL;
	c->print(to, row);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Through a buffer, to know its width; escape sequences stay outside. */
static int print_cell(FILE *out, const struct column *c, const struct site_row *row, bool last,
		      bool color)
{
	const char *escape = color ? cell_color(c, row) : "";
	char *text = cell_text(c, row);

	if (!text)
		return -ENOMEM;
	fputs(escape, out);
	if (!c->left)
		fprintf(out, " %*s ", c->width, text);
	else if (last)
		fprintf(out, " %s", text);
	else
		fprintf(out, " %-*s ", c->width, text);
	if (*escape)
		fputs(COLOR_OFF, out);
	free(text);
	return 0;
}

static int print_row(FILE *out, const struct site_row *row, const struct column_list *fields,
		     bool color)
{
	size_t i;
	int err = 0;

	fputc(' ', out);
	for (i = 0; i < fields->nr && !err; i++)
		err = print_cell(out, fields->cols[i], row, i + 1 == fields->nr, color);
	fputc('\n', out);
	return err;
}

/* Names in it may hold anything. */
static void print_advice(FILE *out, const struct report_site *s)
{
	size_t i;

	for (i = 0; i < s->nr_advice; i++) {
		fputs("        ", out);
		print_text(out, s->advice[i].text);
		fputc('\n', out);
	}
}

static double weight_of_all(const struct report *r, enum view_by by)
{
	double all = 0;
	size_t i;

	for (i = 0; by == BY_CPU && i < r->nr_sites; i++)
		all += r->sites[i].cost.whole.value;
	return by == BY_CPU ? all : 1;
}

static void print_rest(FILE *out, const struct report *r, const struct view_opts *opts,
		       const struct site_row *rows, size_t nr)
{
	enum view_by by = view__by(r, opts);
	double rest = weight_of_all(r, by);
	size_t i;

	for (i = 0; i < nr; i++)
		rest -= rows[i].weight;
	if (nr < r->nr_sites)
		fprintf(out, "#\n# %zu more site%s with %.2f %%%s together (--limit, --percent-limit)\n",
			r->nr_sites - nr, r->nr_sites - nr == 1 ? "" : "s", rest > 0 ? 100 * rest : 0,
			by == BY_CPU ? " of the CPU" : "");
}

static void choose_columns(const struct report *r, const struct view_opts *opts,
			   struct column_list *ret)
{
	size_t i;

	*ret = opts->fields;
	if (!ret->nr || ret->add) {
		columns__default(r, &opts->sort, view__by(r, opts) == BY_CPU, ret);
		for (i = 0; i < opts->fields.nr; i++)
			columns__add(ret, opts->fields.cols[i]);
	}
	if (opts->show_samples)
		columns__add_samples(ret);
}

/* As perf report -t: a separator in a name becomes a dot. */
static int print_separated(FILE *out, const struct column *c, const struct site_row *row,
			   char separator)
{
	char *text = cell_text(c, row), *p;

	if (!text)
		return -ENOMEM;
	for (p = text; (p = strchr(p, separator)); p++)
		*p = '.';
	fputs(text, out);
	free(text);
	return 0;
}

static int print_for_programs(FILE *out, const struct column_list *fields, char separator,
			      const struct site_row *rows, size_t nr)
{
	size_t i, col;
	int err = 0;

	for (col = 0; col < fields->nr; col++)
		fprintf(out, "%s%.*s%s", col ? "" : "# ", !!col, &separator, fields->cols[col]->key);
	fputc('\n', out);
	for (i = 0; i < nr && !err; i++) {
		for (col = 0; col < fields->nr && !err; col++) {
			fprintf(out, "%.*s", !!col, &separator);
			err = print_separated(out, fields->cols[col], &rows[i], separator);
		}
		fputc('\n', out);
	}
	return err;
}

static int print_rows(FILE *out, const struct report *r, const struct view_opts *opts,
		      const struct site_row *rows, size_t nr)
{
	const struct calltree_opts tree_opts = {
		.by_bytes = opts->by == BY_BYTES,
		.min_share = opts->min_share,
		.max_depth = opts->max_stack,
		.max_lines = opts->max_path_lines,
	};
	struct column_list fields;
	size_t i;
	int err = 0;

	choose_columns(r, opts, &fields);
	if (opts->separator)
		return print_for_programs(out, &fields, *opts->separator, rows, nr);
	print_titles(out, r, &fields);
	for (i = 0; i < nr && !err; i++) {
		err = print_row(out, &rows[i], &fields, opts->color);
		print_advice(out, rows[i].site);
		if (opts->no_paths)
			continue;
		err = err ?: calltree__print(out, r, rows[i].site_idx, &tree_opts);
		fputc('\n', out);
	}
	if (!opts->quiet)
		print_rest(out, r, opts, rows, nr);
	return err;
}

int print_sites_table(FILE *out, const struct report *r, const struct view_opts *opts)
{
	const char *const by_names[] = {
		[BY_COUNT] = calls_word(r), [BY_BYTES] = "bytes", [BY_CPU] = "what they cost",
	};
	struct site_row *rows;
	size_t nr;
	int err;

	if (!r->nr_sites)
		return 0;
	if (rows__new(r, opts, &rows, &nr))
		return -ENOMEM;
	if (!opts->separator)
		fprintf(out, "\n# Sites by %s\n#\n", opts->sort.nr ? opts->sort.cols[0]->key :
			by_names[view__by(r, opts)]);
	err = print_rows(out, r, opts, rows, nr);
	free(rows);
	return err;
}
