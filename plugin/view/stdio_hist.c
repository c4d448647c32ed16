// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes and lifetimes side by side, as bars. Where there are too many classes, thin ends are added
 * to the first row and to the last, which then says "more".
 */
#include "format.h"
#include "stdio_priv.h"

#define MAX_ROWS	12
#define BAR_WIDTH	18

struct bar_rows {
	struct report_class rows[LOG2_CLASSES];
	size_t nr;
	bool open_end;			/* the last row holds more than its class */
	double sum, most;
};

static double sum_classes(const struct report_class *classes, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += classes[i].count.value;
	return sum;
}

/* The MAX_ROWS neighbouring classes that leave the least to their ends. */
static size_t find_start(const struct report_class *classes, size_t nr)
{
	size_t start, best = 0;
	double most = -1;

	for (start = 0; start + MAX_ROWS <= nr; start++) {
		double sum = sum_classes(classes + start, MAX_ROWS);

		if (sum > most) {
			most = sum;
			best = start;
		}
	}
	return best;
}

static void make_rows(const struct report_class *classes, size_t nr, struct bar_rows *b)
{
	size_t start = find_start(classes, nr), i;

	b->nr = nr < MAX_ROWS ? nr : MAX_ROWS;
	b->sum = sum_classes(classes, nr);
	b->open_end = start + b->nr < nr;
	for (i = 0; i < b->nr; i++)
		b->rows[i] = classes[start + i];
	if (!b->nr)
		return;
	b->rows[0].count.value += sum_classes(classes, start);
	b->rows[b->nr - 1].count.value +=
		sum_classes(classes + start + b->nr, nr - start - b->nr);
	for (i = 0, b->most = 0; i < b->nr; i++) {
		if (b->rows[i].count.value > b->most)
			b->most = b->rows[i].count.value;
	}
}

static void print_bar(FILE *out, const struct bar_rows *b, size_t row, bool is_time)
{
	const char *(*format)(char *, double) = is_time ? format_ns : format_bytes;
	double count = b->rows[row].count.value;
	char label[FORMAT_BYTES];
	int width, i;

	width = b->most > 0 ? count / b->most * BAR_WIDTH + 0.5 : 0;
	if (count > 0 && !width)
		width = 1;
	fprintf(out, "%10s ", row + 1 == b->nr && b->open_end ? "more" :
		format(label, b->rows[row].le));
	for (i = 0; i < BAR_WIDTH; i++)
		fputc(i < width ? '#' : ' ', out);
	fprintf(out, " %5.1f %%", b->sum > 0 ? 100 * count / b->sum : 0);
}

void print_histograms(FILE *out, const struct report *r)
{
	static const int side_width = 10 + 1 + BAR_WIDTH + 8;
	struct bar_rows sizes, lives;
	size_t i;

	make_rows(r->sizes, r->nr_sizes, &sizes);
	make_rows(r->lives, r->nr_lives, &lives);
	if (!sizes.nr && !lives.nr)
		return;
	fprintf(out, "\n%10s %s", "Size up to", calls_title(r));
	if (lives.nr)
		fprintf(out, "%*s%10s Frees", BAR_WIDTH, "", "Life up to");
	fputc('\n', out);
	for (i = 0; i < sizes.nr || i < lives.nr; i++) {
		if (i < sizes.nr)
			print_bar(out, &sizes, i, false);
		else
			fprintf(out, "%*s", side_width, "");
		if (i < lives.nr) {
			fputs("   ", out);
			print_bar(out, &lives, i, true);
		}
		fputc('\n', out);
	}
}
