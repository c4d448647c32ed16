// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/churn.h"
#include "elf_file.h"
#include "families.h"
#include "hook.h"
#include "probe.h"
#include "relay.h"
#include "site.h"
#include "util/msg.h"

/* Definitions of a family's functions in one object: aliases and versions, in two tables. */
#define MAX_MATCHES	128
/* Enough for any allocator's entry point; only loops back to the entry are looked for in it. */
#define MAX_FN_BYTES	8192

/*
 * @idx: Index in family->functions.
 * @is_counted_elsewhere: Some other symbol's probe sees all its calls.
 */
struct match {
	size_t idx;
	struct elf_function fn;
	bool is_counted_elsewhere;
};

struct scan {
	const struct family *family;
	struct match matches[MAX_MATCHES];
	size_t nr_matches;
	bool is_proven;
};

static bool is_known_match(const struct scan *scan, size_t idx, __u64 vaddr)
{
	for (size_t i = 0; i < scan->nr_matches; i++) {
		if (scan->matches[i].idx == idx && scan->matches[i].fn.vaddr == vaddr)
			return true;
	}
	return false;
}

static int match_function(void *ctx, const struct elf_function *fn)
{
	struct scan *scan = ctx;
	const struct family *family = scan->family;

	if (fn->is_local && !family->marker)
		return 0;
	if (family->marker && !strcmp(fn->name, family->marker))
		scan->is_proven = true;
	for (size_t i = 0; i < family->nr_functions && scan->nr_matches < MAX_MATCHES; i++) {
		if (strcmp(fn->name, family->functions[i].symbol) ||
		    is_known_match(scan, i, fn->vaddr))
			continue;
		scan->matches[scan->nr_matches++] = (struct match){ .idx = i, .fn = *fn };
	}
	return 0;
}

static const struct match *find_match(const struct scan *scan, const char *symbol)
{
	for (size_t i = 0; i < scan->nr_matches; i++) {
		if (!strcmp(scan->family->functions[scan->matches[i].idx].symbol, symbol))
			return &scan->matches[i];
	}
	return NULL;
}

static const struct match *find_match_at(const struct scan *scan, __u64 vaddr)
{
	for (size_t i = 0; i < scan->nr_matches; i++) {
		if (scan->matches[i].fn.vaddr == vaddr)
			return &scan->matches[i];
	}
	return NULL;
}

static bool scan_family(const struct elf_file *file, const struct family *family, struct scan *scan)
{
	const char *soname = elf_file__soname(file);

	memset(scan, 0, sizeof(*scan));
	scan->family = family;
	scan->is_proven = (!family->marker && !family->soname) ||
			  (family->soname && soname && !strcmp(family->soname, soname));
	elf_file__each_function(file, match_function, scan);
	return scan->is_proven && find_match(scan, "malloc") && find_match(scan, "free");
}

static bool find_family(const struct elf_file *file, struct scan *scan)
{
	const struct family *family;

	if (family__is_loader(elf_file__soname(file)))
		return false;
	for (size_t i = 0; (family = family__get(i)); i++) {
		if (scan_family(file, family, scan))
			return true;
	}
	return false;
}

static bool is_known_offset(const struct probe_image *img, __u64 offset)
{
	for (size_t i = 0; i < img->nr_sites; i++) {
		if (img->sites[i].offset == offset)
			return true;
	}
	return false;
}

/* Return: 0, or a negative errno when the function has no code in the file. */
static int choose_site(const struct elf_file *file, __u64 vaddr, __u64 size_bytes,
		       unsigned int nr_args, struct probe_site *site)
{
	__u8 bytes[MAX_FN_BYTES];
	struct site_code code = { .bytes = bytes, .fn_bytes = size_bytes, .vaddr = vaddr };
	struct site chosen;
	long nr_bytes = elf_file__read(file, vaddr, bytes, sizeof(bytes));

	if (nr_bytes <= 0)
		return nr_bytes ?: -EINVAL;
	code.nr_bytes = nr_bytes;
	site__choose(&code, nr_args, &chosen);
	site->vaddr = vaddr + chosen.delta;
	site->delta = chosen.delta;
	site->emulated = chosen.emulated;
	memcpy(site->insn, chosen.insn, sizeof(site->insn));
	return elf_file__offset(file, site->vaddr, &site->offset);
}

static void add_site(struct probe_image *img, const struct elf_file *file,
		     const struct family_function *function, const struct elf_function *fn,
		     const char *name)
{
	struct probe_site site = { .fn = function->fn, .symbol = function->symbol };
	int err = choose_site(file, fn->vaddr, fn->size_bytes, function->nr_args, &site);

	if (err) {
		pr_debug("%s: %s at %#llx has no code in the file\n", name, function->symbol,
			 fn->vaddr);
		return;
	}
	if (is_known_offset(img, site.offset))
		return;
	img->sites[img->nr_sites++] = site;
	pr_debug("%s: %s+%u: %s (%s)\n", name, site.symbol, site.delta, site.insn,
		 site.emulated ? "emulated" : "single-stepped");
}

/* A local symbol beside a global one of the same name is some other function. */
static bool is_shadowed(const struct scan *scan, const struct match *match)
{
	for (size_t i = 0; match->fn.is_local && i < scan->nr_matches; i++) {
		if (scan->matches[i].idx == match->idx && !scan->matches[i].fn.is_local)
			return true;
	}
	return false;
}

/* Does it do nothing but jump to another entry point (musl's memalign, mimalloc's cfree)? */
static bool is_alias(const struct elf_file *file, const struct scan *scan,
		     const struct match *match)
{
	const struct match *other;
	const char *symbol;
	__u64 vaddr;

	if (!relay__tail_jump(file, &match->fn, &vaddr, &symbol))
		return false;
	other = symbol ? find_match(scan, symbol) : find_match_at(scan, vaddr);
	return other && other->fn.vaddr != match->fn.vaddr &&
	       scan->family->functions[other->idx].fn != CHURN_FN_NONE;
}

static void mark_counted_elsewhere(const struct elf_file *file, struct scan *scan)
{
	for (size_t i = 0; i < scan->nr_matches; i++) {
		struct match *match = &scan->matches[i];

		match->is_counted_elsewhere =
			scan->family->functions[match->idx].fn == CHURN_FN_NONE ||
			is_shadowed(scan, match) || is_alias(file, scan, match);
	}
}

/* In the order of the family's table: of two names for one place the first one there is kept. */
static void add_sites(struct probe_image *img, const struct elf_file *file, const struct scan *scan,
		      const char *name)
{
	for (size_t idx = 0; idx < scan->family->nr_functions; idx++) {
		const struct family_function *function = &scan->family->functions[idx];

		for (size_t i = 0; i < scan->nr_matches; i++) {
			const struct match *match = &scan->matches[i];

			if (match->idx == idx && !match->is_counted_elsewhere)
				add_site(img, file, function, &match->fn, name);
		}
	}
}

/* A function that is counted where it goes on to: does it, in this version of the allocator? */
static void check_relays(const struct elf_file *file, const struct scan *scan, const char *name)
{
	for (size_t i = 0; i < scan->nr_matches; i++) {
		const struct match *match = &scan->matches[i];
		const struct family_function *function = &scan->family->functions[match->idx];
		const struct match *via = function->via ? find_match(scan, function->via) : NULL;

		if (!function->via)
			continue;
		if (!via || !relay__reaches(file, &match->fn, function->via, via->fn.vaddr))
			pr_debug("%s: %s does not go through %s: its calls are not counted\n",
				 name, function->symbol, function->via);
	}
}

static const struct probe_site *find_free(const struct probe_image *img)
{
	for (size_t i = 0; i < img->nr_sites; i++) {
		if (img->sites[i].fn == CHURN_FN_FREE)
			return &img->sites[i];
	}
	return NULL;
}

static void find_internal_frees(struct probe_image *img, const struct elf_file *file,
				const char *name)
{
	const struct probe_site *site = find_free(img);
	__u64 ras[PROBE_MAX_INTERNAL];
	long nr_calls;

	if (!site || !elf_file__is_shared(file))
		return;
	nr_calls = relay__direct_calls(file, site->vaddr - site->delta, ras, PROBE_MAX_INTERNAL);
	if (nr_calls < 0 || nr_calls > PROBE_MAX_INTERNAL) {
		pr_debug("%s: %ld direct calls of free: none is taken for internal\n", name,
			 nr_calls);
		return;
	}
	for (long i = 0; i < nr_calls; i++)
		img->internal_free[i] = ras[i] - site->vaddr;
	img->nr_internal_free = nr_calls;
}

static int note_entries(struct probe_image *img)
{
	img->entries = calloc(img->nr_sites, sizeof(*img->entries));
	if (!img->entries)
		return -ENOMEM;
	for (; img->nr_entries < img->nr_sites; img->nr_entries++)
		img->entries[img->nr_entries] = img->sites[img->nr_entries].vaddr -
						img->sites[img->nr_entries].delta;
	return 0;
}

static int fill_image(struct probe_image *img, const struct elf_file *file, const struct scan *scan,
		      const char *name)
{
	img->family = scan->family->name;
	img->may_forward = scan->family->may_forward;
	img->path = strdup(name);
	img->sites = calloc(scan->nr_matches, sizeof(*img->sites));
	if (!img->path || !img->sites)
		return -ENOMEM;
	add_sites(img, file, scan, name);
	if (!img->nr_sites)
		return -ENOENT;
	check_relays(file, scan, name);
	if (scan->family->has_internal_free)
		find_internal_frees(img, file, name);
	return note_entries(img);
}

static int scan_image(const struct elf_file *file, const char *name,
		      struct probe_image **ret)
{
	struct scan scan;
	struct probe_image *img;
	int err;

	if (!find_family(file, &scan))
		return -ENOENT;
	mark_counted_elsewhere(file, &scan);
	img = calloc(1, sizeof(*img));
	if (!img)
		return -ENOMEM;
	err = fill_image(img, file, &scan, name);
	if (err) {
		probe_image__free(img);
		return err;
	}
	*ret = img;
	return 0;
}

int probe_image__new(const char *path, const char *name, struct probe_image **ret)
{
	struct elf_file *file;
	int err = elf_file__open(path, &file);

	if (err)
		return err;
	err = hook_image__new(file, name, ret);
	if (err == -ENOENT)
		err = scan_image(file, name, ret);
	elf_file__close(file);
	return err;
}

static int make_slow_site(const struct elf_file *file, const struct probe_function *fn,
			  struct probe_site *ret)
{
	*ret = (struct probe_site){
		.fn = fn->slow->fn, .symbol = fn->slow->name, .size_arg = fn->slow->size_arg,
		.size_is_int = fn->slow->size_is_int,
	};
	return choose_site(file, fn->vaddr, fn->size_bytes, fn->slow->size_arg, ret);
}

int probe_image__probe_slow(struct probe_image *img, const struct elf_file *file,
			    const struct probe_function *fns, size_t nr)
{
	struct probe_site *sites = calloc(nr, sizeof(*sites));
	int err = sites ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !err; i++)
		err = make_slow_site(file, &fns[i], &sites[i]);
	if (err) {
		free(sites);
		return err;
	}
	free(img->sites);
	img->sites = sites;
	img->nr_sites = nr;
	img->may_forward = false;
	img->nr_internal_free = 0;
	return 0;
}

void probe_image__free(struct probe_image *img)
{
	if (!img)
		return;
	free(img->path);
	free(img->sites);
	free(img->entries);
	free(img);
}
