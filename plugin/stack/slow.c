// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "bpf/churn.h"
#include "debug_file.h"
#include "functions.h"
#include "probe/elf_file.h"
#include "probe/families.h"
#include "probe/probe.h"
#include "slow.h"
#include "slow_calls.h"
#include "util/msg.h"

/* Tables in families.c have fewer rows; several functions may fit one. */
#define MAX_SLOW	16

/*
 * @code: Functions of the object, by its own call frame information.
 * @is_ambiguous: Two functions have the name of one refill.
 */
struct search {
	const struct family *family;
	const struct elf_file *file;
	struct functions *code;
	struct probe_function fns[MAX_SLOW];
	size_t nr;
	bool has_refill, is_ambiguous;
};

static bool no_name(const char *name)
{
	(void)name;
	return false;
}

static bool is_known(const struct search *s, __u64 vaddr)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (s->fns[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static bool is_twin(const struct search *s, const struct slow_function *slow)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (slow->fn == CHURN_FN_REFILL && s->fns[i].slow == slow)
			return true;
	}
	return false;
}

/* A debug file may be another build's: what it names must be a function of the object. */
static int add_symbol(void *ctx, const struct elf_function *fn)
{
	struct search *s = ctx;
	const struct slow_function *slow = family__slow(s->family, fn->name);
	const struct code_function *code = slow ? functions__find(s->code, fn->vaddr) : NULL;

	if (!code || code->start != fn->vaddr || is_known(s, fn->vaddr) || s->nr == MAX_SLOW)
		return 0;
	s->is_ambiguous |= is_twin(s, slow);
	s->has_refill |= slow->fn == CHURN_FN_REFILL;
	s->fns[s->nr++] = (struct probe_function){
		.slow = slow, .vaddr = code->start, .size_bytes = code->end - code->start,
	};
	return 0;
}

static int find_by_debug_file(struct search *s, const char *path)
{
	struct build_id build_id = debug_file__build_id(path);
	struct elf_file *debug;
	int err = debug_file__open(path, &build_id, &debug);

	if (err)
		return err;
	elf_file__each_function(debug, add_symbol, s);
	elf_file__close(debug);
	return s->has_refill ? 0 : -ENODATA;
}

static int find_by_calls(struct search *s, const struct probe_image *img)
{
	/* Only there are the entry points exported, and what else is exported of other files. */
	if (!s->family->unit || !elf_file__is_shared(s->file))
		return -ENODATA;
	return slow_calls__find(s->file, img, s->fns, &s->nr);
}

static int find(struct search *s, const char *path, const struct probe_image *img)
{
	int err;

	elf_file__each_function(s->file, add_symbol, s);
	err = s->has_refill ? 0 : find_by_debug_file(s, path);
	if (err == -ENODATA) {
		s->nr = 0;
		err = find_by_calls(s, img);
	}
	return err ?: s->is_ambiguous ? -ENOTUNIQ : 0;
}

/* In the order of the family's table. */
static int compare_rows(const void *a, const void *b)
{
	const struct probe_function *fa = a, *fb = b;

	return fa->slow < fb->slow ? -1 : fa->slow > fb->slow;
}

static int probe_slow(struct search *s, const char *path, struct probe_image *img)
{
	int err = functions__new(s->file, no_name, &s->code);

	if (!err) {
		err = find(s, path, img);
		functions__free(s->code);
	}
	qsort(s->fns, s->nr, sizeof(*s->fns), compare_rows);
	err = err ?: probe_image__probe_slow(img, s->file, s->fns, s->nr);
	if (!err || err == -ENOMEM)
		return err;
	pr_err("%s: --slow-path: %s: nothing is probed in it\n", img->path,
	       err == -ENOTUNIQ ? "several functions may be the one that refills its caches" :
	       "which functions refill its caches is not known (debug symbols may tell)");
	return -ENODATA;
}

int slow_image__new(const char *path, const char *name, struct probe_image **ret)
{
	struct search s = {};
	struct probe_image *img;
	struct elf_file *file;
	int err = probe_image__new(path, name, &img);

	if (err)
		return err;
	if (!img->counter_offset) {
		err = elf_file__open(path, &file);
		if (!err) {
			s.family = family__find(img->family);
			s.file = file;
			err = probe_slow(&s, path, img);
			elf_file__close(file);
		}
	}
	if (err) {
		probe_image__free(img);
		return err;
	}
	*ret = img;
	return 0;
}
