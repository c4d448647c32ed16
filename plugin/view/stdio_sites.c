// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "format.h"
#include "stdio_priv.h"

/* As perf colours shares. */
#define COLOR_HIGH	"\033[31m"
#define COLOR_MIDDLE	"\033[32m"
#define COLOR_OFF	"\033[m"

static void print_titles(FILE *out, const struct column_list *fields)
{
	size_t i;
	int dots;

	fputc('#', out);
	for (i = 0; i < fields->nr; i++) {
		const struct column *c = fields->cols[i];

		if (c->left && i + 1 == fields->nr)
			fprintf(out, " %s", c->title);
		else
			fprintf(out, " %*s ", c->left ? -c->width : c->width, c->title);
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

/* Through a buffer, to know its width; escape sequences stay outside. */
static int print_cell(FILE *out, const struct column *c, const struct site_row *row, bool last,
		      bool color)
{
	const char *escape = color && !strcmp(c->key, "share") ? share_color(row->share) : "";
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return -ENOMEM;
	c->print(to, row);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
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

static void print_rest(FILE *out, const struct report *r, const struct site_row *rows, size_t nr)
{
	double share = 1;
	size_t i;

	for (i = 0; i < nr; i++)
		share -= rows[i].share;
	if (nr < r->nr_sites)
		fprintf(out, "#\n# %zu more site%s with %.2f %% together (--limit, --percent-limit)\n",
			r->nr_sites - nr, r->nr_sites - nr == 1 ? "" : "s",
			share > 0 ? 100 * share : 0);
}

static int print_rows(FILE *out, const struct report *r, const struct view_opts *opts,
		      const struct site_row *rows, size_t nr)
{
	const struct calltree_opts tree_opts = {
		.by_bytes = opts->by_bytes,
		.min_share = opts->min_share,
		.max_depth = opts->max_stack,
		.max_lines = opts->max_path_lines,
	};
	struct column_list fields = opts->fields;
	size_t i;
	int err = 0;

	if (!fields.nr)
		columns__default(r, &opts->sort, &fields);
	print_titles(out, &fields);
	for (i = 0; i < nr && !err; i++) {
		err = print_row(out, &rows[i], &fields, opts->color) ?:
		      calltree__print(out, r, rows[i].site_idx, &tree_opts);
		fputc('\n', out);
	}
	if (!opts->quiet)
		print_rest(out, r, rows, nr);
	return err;
}

int print_sites_table(FILE *out, const struct report *r, const struct view_opts *opts)
{
	struct site_row *rows;
	size_t nr;
	int err;

	if (!r->nr_sites)
		return 0;
	if (rows__new(r, opts, &rows, &nr))
		return -ENOMEM;
	fprintf(out, "\n# Sites by %s\n#\n",
		opts->sort.nr ? opts->sort.cols[0]->key : opts->by_bytes ? "bytes" : "allocations");
	err = print_rows(out, r, opts, rows, nr);
	free(rows);
	return err;
}
