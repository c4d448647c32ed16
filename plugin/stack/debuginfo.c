// SPDX-License-Identifier: GPL-2.0-only
/*
 * libdw's own search for a scope walks a whole compilation unit for each address, and finds the
 * unit only where the compiler wrote .debug_aranges (clang does not). So: one sorted array of
 * the ranges of all units, and for each unit that is asked for, one of the ranges of its
 * functions. Inside a function only the blocks that hold the address are entered.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <elfutils/libdw.h>

#include "debuginfo.h"

#define MAX_DEPTH	64		/* of namespaces, and of blocks in a function */
#define MAX_RANGES	(4U << 20)	/* a forged list can be shown many times */

/* [lo, hi) belongs to the DIE at @off; units have an index of their functions from first use. */
struct range {
	Dwarf_Addr lo, hi;
	Dwarf_Off off;
};

struct ranges {
	struct range *r;
	size_t nr, cap;
};

struct unit {
	Dwarf_Off off;
	struct ranges fns;
	struct unit *next;
};

struct debuginfo {
	Dwfl *dwfl;
	Dwarf *dwarf;
	Dwarf_Addr bias;
	struct ranges units;
	struct unit *indexed;		/* the last used first */
};

static int add_range(struct ranges *rs, Dwarf_Addr lo, Dwarf_Addr hi, Dwarf_Off off)
{
	if (lo >= hi)
		return 0;
	if (rs->nr == MAX_RANGES)
		return -E2BIG;
	if (rs->nr == rs->cap) {
		size_t cap = rs->cap ? 2 * rs->cap : 64;
		struct range *r = reallocarray(rs->r, cap, sizeof(*r));

		if (!r)
			return -ENOMEM;
		rs->r = r;
		rs->cap = cap;
	}
	rs->r[rs->nr++] = (struct range) { .lo = lo, .hi = hi, .off = off };
	return 0;
}

static int add_ranges_of(struct ranges *rs, Dwarf_Die *die)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	int err = 0;

	while (!err && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0)
		err = add_range(rs, lo, hi, dwarf_dieoffset(die));
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *ra = a, *rb = b;

	if (ra->lo != rb->lo)
		return ra->lo < rb->lo ? -1 : 1;
	return ra->hi < rb->hi ? -1 : ra->hi > rb->hi;
}

static void sort_ranges(struct ranges *rs)
{
	if (rs->nr)
		qsort(rs->r, rs->nr, sizeof(*rs->r), compare_ranges);
}

static const struct range *find_range(const struct ranges *rs, Dwarf_Addr addr)
{
	size_t lo = 0, hi = rs->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (rs->r[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Honest ranges do not overlap; look back a little for those that do. */
	for (size_t i = 0; i < 8 && i < lo; i++)
		if (addr < rs->r[lo - 1 - i].hi)
			return &rs->r[lo - 1 - i];
	return NULL;
}

static int index_units(struct debuginfo *di)
{
	Dwarf_Off off = 0, next;
	size_t header_bytes;
	int err = 0;

	while (!err && !dwarf_nextcu(di->dwarf, off, &next, &header_bytes, NULL, NULL, NULL)) {
		Dwarf_Die die;

		if (dwarf_offdie(di->dwarf, off + header_bytes, &die))
			err = add_ranges_of(&di->units, &die);
		if (next <= off)
			break;
		off = next;
	}
	sort_ranges(&di->units);
	return err == -ENOMEM ? err : 0;
}

/* Step to the next DIE; never backwards, as a forged DW_AT_sibling might. */
static bool next_sibling(Dwarf_Die *die)
{
	Dwarf_Off off = dwarf_dieoffset(die);

	return !dwarf_siblingof(die, die) && dwarf_dieoffset(die) > off;
}

static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type;
}

static int index_functions(struct ranges *fns, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int err = 0;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			err = add_ranges_of(fns, &die);
		else if (holds_functions(tag))
			err = index_functions(fns, &die, depth + 1);
	} while (!err && next_sibling(&die));
	return err;
}

/* The unit's function index, made when it is first asked for. */
static struct unit *get_unit(struct debuginfo *di, Dwarf_Off off)
{
	struct unit **link = &di->indexed, *unit;
	Dwarf_Die die;

	while (*link && (*link)->off != off)
		link = &(*link)->next;
	unit = *link;
	if (unit) {
		*link = unit->next;
	} else {
		unit = calloc(1, sizeof(*unit));
		if (!unit)
			return NULL;
		unit->off = off;
		if (dwarf_offdie(di->dwarf, off, &die))
			index_functions(&unit->fns, &die, 0);
		sort_ranges(&unit->fns);
	}
	unit->next = di->indexed;
	di->indexed = unit;
	return unit;
}

int debuginfo__new(const struct object_file *file, struct debuginfo **ret)
{
	struct debuginfo *di = calloc(1, sizeof(*di));
	Dwfl_Module *mod = NULL;
	int err = -ENOENT;

	if (!di)
		return -ENOMEM;
	di->dwfl = object__begin();
	if (di->dwfl)
		mod = object__report(di->dwfl, file, 0);
	if (mod)
		di->dwarf = dwfl_module_getdwarf(mod, &di->bias);
	if (di->dwarf)
		err = index_units(di);
	if (!err && !di->units.nr)
		err = -ENOENT;
	if (err)
		debuginfo__free(di);
	else
		*ret = di;
	return err;
}

void debuginfo__free(struct debuginfo *di)
{
	if (!di)
		return;
	while (di->indexed) {
		struct unit *unit = di->indexed;

		di->indexed = unit->next;
		free(unit->fns.r);
		free(unit);
	}
	free(di->units.r);
	dwfl_end(di->dwfl);
	free(di);
}

static const char *last_component(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

static bool find_unit_die(struct debuginfo *di, __u64 addr, Dwarf_Die *die)
{
	const struct range *unit = find_range(&di->units, addr);

	return unit && dwarf_offdie(di->dwarf, unit->off, die);
}

struct source_line debuginfo__line(struct debuginfo *di, __u64 addr)
{
	struct source_line ret = {};
	Dwarf_Line *line;
	Dwarf_Die cu;
	int nr;

	addr -= di->bias;
	if (!find_unit_die(di, addr, &cu))
		return ret;
	line = dwarf_getsrc_die(&cu, addr);
	if (!line || dwarf_lineno(line, &nr) || nr <= 0)
		return ret;
	ret.file = last_component(dwarf_linesrc(line, NULL, NULL));
	ret.line = nr;
	return ret;
}

static struct source_line call_site(Dwarf_Die *cu, Dwarf_Die *die)
{
	struct source_line ret = {};
	Dwarf_Word file, line;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	size_t nr_files;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &line) ||
	    dwarf_getsrcfiles(cu, &files, &nr_files) || file >= nr_files || line > INT32_MAX)
		return ret;
	ret.file = last_component(dwarf_filesrc(files, file, NULL, NULL));
	ret.line = line;
	return ret;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name;

	name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
	return name;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Into the child of @die that holds @addr; false: there is none. */
static bool enter_scope(Dwarf_Die *die, Dwarf_Addr addr)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return false;
	do {
		if (is_scope(dwarf_tag(&child)) && dwarf_haspc(&child, addr) > 0) {
			*die = child;
			return true;
		}
	} while (next_sibling(&child));
	return false;
}

static void reverse(struct inlined_fn *fns, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		struct inlined_fn fn = fns[i];

		fns[i] = fns[nr - 1 - i];
		fns[nr - 1 - i] = fn;
	}
}

size_t debuginfo__inlines(struct debuginfo *di, __u64 addr, struct inlined_fn *fns)
{
	const struct range *fn = NULL;
	struct unit *unit;
	Dwarf_Die cu, die;
	size_t nr = 0;

	addr -= di->bias;
	if (!find_unit_die(di, addr, &cu))
		return 0;
	unit = get_unit(di, dwarf_dieoffset(&cu));
	if (unit)
		fn = find_range(&unit->fns, addr);
	if (!fn || !dwarf_offdie(di->dwarf, fn->off, &die))
		return 0;
	for (int depth = 0; depth < MAX_DEPTH && enter_scope(&die, addr); depth++) {
		if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
			continue;
		if (nr == DEBUGINFO_MAX_INLINES)
			break;
		fns[nr].name = function_name(&die) ?: "";
		fns[nr++].call = call_site(&cu, &die);
	}
	reverse(fns, nr);
	return nr;
}
