// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "churn/stacks.h"
#include "names_of.h"

/* What a single caller must have of the whole to stand there without a percentage. */
#define SHARE_ALL	0.995
/* Thinner branches are never shown, as in perf. */
#define MIN_SHARE	0.005

struct node {
	const struct stack_frame *frame;
	double weight;
	struct node *children, *next;
};

struct tree {
	struct node root;
	const struct calltree_opts *opts;
	FILE *out;
	size_t nr_lines;
	double min_weight;
};

static void free_nodes(struct node *n)
{
	while (n) {
		struct node *next = n->next;

		free_nodes(n->children);
		free(n);
		n = next;
	}
}

static struct node *find_child(struct node *parent, const struct stack_frame *frame)
{
	struct node *n;

	for (n = parent->children; n; n = n->next) {
		if (n->frame->function == frame->function)
			return n;
	}
	n = calloc(1, sizeof(*n));
	if (n) {
		n->frame = frame;
		n->next = parent->children;
		parent->children = n;
	}
	return n;
}

static int add_path(struct tree *t, const struct stacks *stacks, __u32 stack, double weight)
{
	struct node *n = &t->root;
	size_t depth = 1;

	n->weight += weight;
	while ((stack = stacks__caller(stacks, stack)) != STACK_NONE &&
	       depth++ < t->opts->max_depth) {
		n = find_child(n, stacks__frame(stacks, stack));
		if (!n)
			return -ENOMEM;
		n->weight += weight;
	}
	return 0;
}

/* Heaviest first; equal ones by name, so that the picture is always the same. */
static bool comes_first(const struct node *a, const struct node *b)
{
	if (a->weight != b->weight)
		return a->weight > b->weight;
	return strcmp(a->frame->sym ?: "", b->frame->sym ?: "") < 0;
}

static struct node *sort_nodes(struct node *list)
{
	struct node *sorted = NULL, **at;

	while (list) {
		struct node *n = list;

		list = n->next;
		for (at = &sorted; *at && comes_first(*at, n); at = &(*at)->next)
			;
		n->next = *at;
		*at = n;
	}
	return sorted;
}

static bool is_shown(const struct tree *t, const struct node *n)
{
	return n && n->weight > 0 && n->weight >= t->min_weight;
}

/* false once the limit is reached; the first time it says so. */
static bool has_room(struct tree *t, const char *prefix)
{
	if (!t->opts->max_lines || t->nr_lines < t->opts->max_lines) {
		t->nr_lines++;
		return true;
	}
	if (t->nr_lines++ == t->opts->max_lines)
		fprintf(t->out, "%s...\n", prefix);
	return false;
}

static void print_name(struct tree *t, const struct node *n)
{
	print_frame(t->out, n->frame);
	fputc('\n', t->out);
}

static void print_callers(struct tree *t, struct node *n, const char *prefix);

static void print_branch(struct tree *t, struct node *n, const char *prefix, bool last)
{
	char *deeper = NULL;

	if (!has_room(t, prefix))
		return;
	fprintf(t->out, "%s|\n%s%s%.2f%%--", prefix, prefix, last ? " --" : "|--",
		100 * n->weight / t->root.weight);
	print_name(t, n);
	if (asprintf(&deeper, "%s%s          ", prefix, last ? " " : "|") < 0)
		return;
	print_callers(t, n, deeper);
	free(deeper);
}

/* A line of single callers needs no deeper prefix, so only branches recurse. */
static void print_callers(struct tree *t, struct node *n, const char *prefix)
{
	struct node *child;

	for (;;) {
		child = n->children = sort_nodes(n->children);
		if (!is_shown(t, child))
			return;
		if (is_shown(t, child->next) || child->weight < SHARE_ALL * n->weight)
			break;
		if (!has_room(t, prefix))
			return;
		fputs(prefix, t->out);
		print_name(t, child);
		n = child;
	}
	for (; is_shown(t, child); child = child->next) {
		if (t->opts->max_lines && t->nr_lines > t->opts->max_lines)
			return;
		print_branch(t, child, prefix, !is_shown(t, child->next));
	}
}

static void print_tree(struct tree *t)
{
	static const char margin[] = "            ", inside[] = "               ";
	struct node *first;

	first = t->root.children = sort_nodes(t->root.children);
	if (!is_shown(t, first))
		return;
	if (is_shown(t, first->next) || first->weight < SHARE_ALL * t->root.weight) {
		print_callers(t, &t->root, margin);
		return;
	}
	t->nr_lines++;
	fprintf(t->out, "%s|\n%s---", margin, margin);
	print_name(t, first);
	print_callers(t, first, inside);
}

int calltree__print(FILE *out, const struct report *r, size_t site_idx,
		    const struct calltree_opts *opts)
{
	const struct report_site *site = &r->sites[site_idx];
	struct tree t = { .opts = opts, .out = out };
	size_t i;
	int err = 0;

	for (i = site->first_path; i < site->first_path + site->nr_paths && !err; i++) {
		const struct report_path *p = &r->paths[i];

		err = add_path(&t, r->stacks, stacks__site(r->stacks, p->stack),
			       opts->by_bytes ? p->bytes.value : p->allocs.value);
	}
	t.min_weight = (opts->min_share > MIN_SHARE ? opts->min_share : MIN_SHARE) * t.root.weight;
	if (!err)
		print_tree(&t);
	free_nodes(t.root.children);
	return err;
}
