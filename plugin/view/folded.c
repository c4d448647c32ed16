// SPDX-License-Identifier: GPL-2.0-only
/*
 * One line a stack for flamegraph.pl and its kin. Stacks that differ only in addresses have the
 * same names: their lines are added up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "churn/stacks.h"
#include "format.h"
#include "names_of.h"
#include "view.h"

struct line {
	char *stack;
	double weight;
};

/* ';' parts frames and the last blank parts the number; neither may come from a name. */
static void sanitize(char *text)
{
	for (; *text; text++) {
		if (*text == ';')
			*text = ':';
	}
}

/* Frames shown: @max_stack from the site outwards, and what is inside of the site. */
static size_t nr_shown(const struct report *r, __u32 stack, size_t max_stack)
{
	__u32 site = stacks__site(r->stacks, stack);
	size_t nr = 0;

	for (; stack != site; stack = stacks__caller(r->stacks, stack))
		nr++;
	for (; stack != STACK_NONE && max_stack--; stack = stacks__caller(r->stacks, stack))
		nr++;
	return nr;
}

static int print_names(FILE *out, const struct report *r, __u32 stack, size_t max_stack)
{
	size_t max = nr_shown(r, stack, max_stack), nr = 0, i;
	const struct stack_frame **frames;

	frames = calloc(max + 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (; nr < max; stack = stacks__caller(r->stacks, stack))
		frames[nr++] = stacks__frame(r->stacks, stack);
	for (i = nr; i-- > 0;) {
		char *name = NULL;
		size_t bytes = 0;
		FILE *to = open_memstream(&name, &bytes);

		if (!to)
			break;
		print_function(to, frames[i]);
		if (!frames[i]->sym && frames[i]->dso) {
			fputc('@', to);
			print_text(to, base_name(frames[i]->dso));
		}
		fclose(to);
		sanitize(name);
		fprintf(out, ";%s", name);
		free(name);
	}
	free(frames);
	return 0;
}

/* What one line is made of; @last: the innermost entry, in place of a frame; NULL: none. */
struct path {
	__u32 stack;
	const char *comm, *last;
	double weight;
};

static int make_line(const struct report *r, const struct path *p, const struct view_opts *opts,
		     struct line *ret)
{
	size_t bytes = 0;
	char comm[256];
	FILE *out;
	int err;

	snprintf(comm, sizeof(comm), "%s", p->comm[0] ? p->comm : "[unknown]");
	sanitize(comm);
	ret->stack = NULL;
	out = open_memstream(&ret->stack, &bytes);
	if (!out)
		return -ENOMEM;
	print_text(out, comm);
	err = print_names(out, r, p->stack, opts->max_stack);
	if (p->last)
		fprintf(out, ";%s", p->last);
	ret->weight = p->weight;
	return fclose(out) ? -ENOMEM : err;
}

static int cmp_lines(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->stack, ((const struct line *)b)->stack);
}

static void print_lines(FILE *out, struct line *lines, size_t nr)
{
	size_t i, end;

	qsort(lines, nr, sizeof(*lines), cmp_lines);
	for (i = 0; i < nr; i = end) {
		double weight = 0;

		for (end = i; end < nr && !strcmp(lines[end].stack, lines[i].stack); end++)
			weight += lines[end].weight;
		fprintf(out, "%s %.0f\n", lines[i].stack, weight);
	}
}

static struct path alloc_path(const struct report_path *p, bool by_bytes)
{
	return (struct path){
		.stack = p->stack, .comm = p->comm, .last = entry_point_name(p->fn),
		.weight = by_bytes ? p->bytes.value : p->allocs.value,
	};
}

static struct path cpu_path(const struct report_cpu_path *p)
{
	static const char *const kernel_work[NR_CPU_CLASSES] = {
		[CLASS_HEAP_FAULT] = "[heap fault]", [CLASS_HEAP_SYSCALL] = "[heap syscall]",
	};

	return (struct path){
		.stack = p->stack, .comm = p->comm, .last = kernel_work[p->class],
		.weight = p->period,
	};
}

int view__folded(FILE *out, const struct report *r, const struct view_opts *opts)
{
	bool by_cpu = opts->by == BY_CPU;
	size_t nr_paths = by_cpu ? r->nr_cpu_paths : r->nr_paths, nr = 0;
	struct line *lines = calloc(nr_paths + 1, sizeof(*lines));
	int err = 0;

	if (!lines)
		return -ENOMEM;
	while (nr < nr_paths && !err) {
		struct path p = by_cpu ? cpu_path(&r->cpu_paths[nr]) :
					 alloc_path(&r->paths[nr], opts->by == BY_BYTES);

		err = make_line(r, &p, opts, &lines[nr]);
		nr++;
	}
	if (!err)
		print_lines(out, lines, nr);
	while (nr-- > 0)
		free(lines[nr].stack);
	free(lines);
	return err;
}
