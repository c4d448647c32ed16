// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "symtab.h"

/*
 * Symbols may share one huge string, so that a small file asks for terabytes of copies. The
 * largest honest objects (browsers, compilers) stay far below these.
 */
#define MAX_NAME_BYTES	(16 * 1024)
#define MAX_NAMES_BYTES	(1U << 30)
#define MAX_SYMBOLS	(32U * 1024 * 1024)

#define PAGE_BYTES	4096
#define MAX_NESTING	32

void symtab__exit(struct symtab *tab)
{
	free(tab->syms);
	free(tab->names);
	memset(tab, 0, sizeof(*tab));
}

static int grow(void **array, size_t *cap, size_t want, size_t item_bytes)
{
	size_t cap_new = *cap ?: 256;
	void *p;

	while (cap_new < want)
		cap_new *= 2;
	if (cap_new == *cap)
		return 0;
	p = reallocarray(*array, cap_new, item_bytes);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = cap_new;
	return 0;
}

static int add_name(struct symtab *tab, const char *name, __u32 *ret)
{
	size_t bytes = strnlen(name, MAX_NAME_BYTES);
	size_t at = tab->names_bytes ?: 1;	/* offset 0 means none */

	if (at + bytes + 1 > MAX_NAMES_BYTES)
		return -E2BIG;
	if (grow((void **)&tab->names, &tab->names_cap, at + bytes + 1, 1))
		return -ENOMEM;
	memcpy(tab->names + at, name, bytes);
	tab->names[at + bytes] = '\0';
	tab->names_bytes = at + bytes + 1;
	*ret = at;
	return 0;
}

static int add_module(struct symtab *tab, const char *module, __u32 *ret)
{
	const struct symbol *last = tab->nr ? &tab->syms[tab->nr - 1] : NULL;

	*ret = 0;
	if (!module)
		return 0;
	if (last && last->module && !strcmp(tab->names + last->module, module)) {
		*ret = last->module;
		return 0;
	}
	return add_name(tab, module, ret);
}

int symtab__add(struct symtab *tab, __u64 start, __u64 size, __u8 bind, const char *name,
		const char *module)
{
	struct symbol *sym;
	__u32 at_name, at_module;
	int err;

	if (tab->nr >= MAX_SYMBOLS)
		return -E2BIG;
	err = grow((void **)&tab->syms, &tab->cap, tab->nr + 1, sizeof(*tab->syms));
	err = err ?: add_module(tab, module, &at_module);
	err = err ?: add_name(tab, name, &at_name);
	if (err)
		return err;
	sym = &tab->syms[tab->nr];
	*sym = (struct symbol) {
		.start = start, .end = start + size < start ? ~0ULL : start + size,
		.name = at_name, .module = at_module, .order = tab->nr, .bind = bind,
	};
	tab->nr++;
	return 0;
}

static int compare_start(const void *a, const void *b)
{
	const struct symbol *sa = a, *sb = b;

	if (sa->start != sb->start)
		return sa->start < sb->start ? -1 : 1;
	return sa->order < sb->order ? -1 : sa->order > sb->order;
}

static bool is_sorted(const struct symtab *tab)
{
	for (size_t i = 1; i < tab->nr; i++)
		if (tab->syms[i].start < tab->syms[i - 1].start)
			return false;
	return true;
}

/* The constructors C1 and C2 of a class: one character differs, and neither is shown. */
static bool are_twins(const char *a, const char *b)
{
	size_t nr_differ = 0;

	for (; *a && *b; a++, b++)
		nr_differ += *a != *b;
	return *a == *b && nr_differ <= 1;
}

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

static bool second_name_is_better(const char *a, const char *b)
{
	size_t ua = leading_underscores(a), ub = leading_underscores(b);

	if (ua != ub)
		return ub < ua;
	return strlen(b) > strlen(a);
}

static bool second_is_better_demangled(const char *a, const char *b)
{
	char *da = demangle__name(a), *db = demangle__name(b);
	bool better = second_name_is_better(da ?: a, db ?: b);

	free(da);
	free(db);
	return better;
}

/*
 * perf's choose_best_symbol(), for the same names as in perf report. perf chooses when sizes are
 * made up already: of symbols without one, the last at an address then has the gap that follows.
 * So of the kernel's aliases always the last is shown.
 */
static bool second_is_better(const struct symtab *tab, const struct symbol *a,
			     const struct symbol *b, bool b_is_last, bool demangle)
{
	const char *na = symtab__name(tab, a), *nb = symtab__name(tab, b);
	bool a_has_size = a->end != a->start, b_has_size = b->end != b->start || b_is_last;

	if (a_has_size != b_has_size)
		return b_has_size;
	if ((a->bind == STB_WEAK) != (b->bind == STB_WEAK))
		return a->bind == STB_WEAK;
	if ((a->bind == STB_GLOBAL) != (b->bind == STB_GLOBAL))
		return b->bind == STB_GLOBAL;
	if (na[0] == '_' && nb[0] == '_' && are_twins(na, nb))
		return false;
	return demangle ? second_is_better_demangled(na, nb) : second_name_is_better(na, nb);
}

static void drop_aliases(struct symtab *tab, bool demangle)
{
	size_t nr = 0;

	for (size_t i = 0; i < tab->nr; i++) {
		struct symbol *sym = &tab->syms[i], *kept = nr ? &tab->syms[nr - 1] : NULL;
		bool is_last = i + 1 == tab->nr || sym[1].start != sym->start;

		if (!kept || kept->start != sym->start)
			tab->syms[nr++] = *sym;
		else if (second_is_better(tab, kept, sym, is_last, demangle))
			*kept = *sym;
	}
	tab->nr = nr;
}

static __u64 page_end(__u64 addr)
{
	__u64 end = (addr + 2 * PAGE_BYTES - 1) & ~(__u64)(PAGE_BYTES - 1);

	return end > addr ? end : ~0ULL;
}

/*
 * Assembly often states no size: up to the next symbol then, but never across a module's end.
 * A label inside a function that has a size is no function.
 */
static void fix_sizes(struct symtab *tab)
{
	__u64 covered = 0;

	for (size_t i = 0; i < tab->nr; i++) {
		struct symbol *sym = &tab->syms[i];
		const struct symbol *next = i + 1 < tab->nr ? sym + 1 : NULL;

		if (sym->end != sym->start) {
			covered = sym->end > covered ? sym->end : covered;
		} else if (sym->start >= covered) {
			sym->end = page_end(sym->start);
			if (next && (next->module == sym->module || next->start < sym->end))
				sym->end = next->start;
		}
	}
}

void symtab__finish(struct symtab *tab, bool demangle)
{
	if (!is_sorted(tab))
		qsort(tab->syms, tab->nr, sizeof(*tab->syms), compare_start);
	drop_aliases(tab, demangle);
	fix_sizes(tab);
}

void symtab__finish_latest(struct symtab *tab)
{
	size_t nr = 0;

	if (!is_sorted(tab))
		qsort(tab->syms, tab->nr, sizeof(*tab->syms), compare_start);
	for (size_t i = 0; i < tab->nr; i++) {
		const struct symbol *sym = &tab->syms[i];

		while (nr && tab->syms[nr - 1].end > sym->start &&
		       tab->syms[nr - 1].order < sym->order)
			nr--;
		if (!nr || tab->syms[nr - 1].end <= sym->start)
			tab->syms[nr++] = *sym;
	}
	tab->nr = nr;
}

struct symbol *symtab__find(const struct symtab *tab, __u64 addr)
{
	size_t lo = 0, hi = tab->nr;

	while (lo < hi) {		/* lo: the first that starts after addr */
		size_t mid = lo + (hi - lo) / 2;

		if (tab->syms[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = 0; i < MAX_NESTING && i < lo; i++)
		if (addr < tab->syms[lo - 1 - i].end)
			return &tab->syms[lo - 1 - i];
	return NULL;
}
