// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>

#include "bpf/churn.h"
#include "bpf/preload.h"
#include "families.h"
#include "probe.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define C_FUNCTIONS \
	{ "malloc",		CHURN_FN_MALLOC,		1, NULL }, \
	{ "calloc",		CHURN_FN_CALLOC,		2, NULL }, \
	{ "realloc",		CHURN_FN_REALLOC,		2, NULL }, \
	{ "reallocarray",	CHURN_FN_NONE,			3, "realloc" }, \
	{ "memalign",		CHURN_FN_MEMALIGN,		2, NULL }, \
	{ "aligned_alloc",	CHURN_FN_ALIGNED_ALLOC,		2, NULL }, \
	{ "posix_memalign",	CHURN_FN_POSIX_MEMALIGN,	3, NULL }, \
	{ "valloc",		CHURN_FN_VALLOC,		1, NULL }, \
	{ "pvalloc",		CHURN_FN_PVALLOC,		1, NULL }, \
	{ "free",		CHURN_FN_FREE,			1, NULL }, \
	{ "cfree",		CHURN_FN_FREE,			1, NULL }

static const struct family_function c_functions[] = { C_FUNCTIONS };

/* Of an allocator that has C++'s operators, too: all take the size, or the block, first. */
static const struct family_function c_and_cxx_functions[] = {
	C_FUNCTIONS,
	{ "_Znwm", CHURN_FN_MALLOC, 1, NULL },
	{ "_Znam", CHURN_FN_MALLOC, 1, NULL },
	{ "_ZnwmRKSt9nothrow_t", CHURN_FN_MALLOC, 1, NULL },
	{ "_ZnamRKSt9nothrow_t", CHURN_FN_MALLOC, 1, NULL },
	{ "_ZnwmSt11align_val_t", CHURN_FN_MALLOC, 1, NULL },
	{ "_ZnamSt11align_val_t", CHURN_FN_MALLOC, 1, NULL },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", CHURN_FN_MALLOC, 1, NULL },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", CHURN_FN_MALLOC, 1, NULL },
	{ "_ZdlPv", CHURN_FN_FREE, 1, NULL },
	{ "_ZdaPv", CHURN_FN_FREE, 1, NULL },
	{ "_ZdlPvm", CHURN_FN_FREE, 1, NULL },
	{ "_ZdaPvm", CHURN_FN_FREE, 1, NULL },
	{ "_ZdlPvRKSt9nothrow_t", CHURN_FN_FREE, 1, NULL },
	{ "_ZdaPvRKSt9nothrow_t", CHURN_FN_FREE, 1, NULL },
	{ "_ZdlPvSt11align_val_t", CHURN_FN_FREE, 1, NULL },
	{ "_ZdaPvSt11align_val_t", CHURN_FN_FREE, 1, NULL },
	{ "_ZdlPvmSt11align_val_t", CHURN_FN_FREE, 1, NULL },
	{ "_ZdaPvmSt11align_val_t", CHURN_FN_FREE, 1, NULL },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", CHURN_FN_FREE, 1, NULL },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", CHURN_FN_FREE, 1, NULL },
};

/* glibc's malloc/malloc.c, all versions; arena.c and, in old ones, hooks.c are included by it. */
static const char *const glibc_unit[] = {
	"malloc", "free", "cfree", "calloc", "realloc", "memalign", "aligned_alloc",
	"posix_memalign", "valloc", "pvalloc", "free_sized", "free_aligned_sized",
	"malloc_trim", "malloc_usable_size", "malloc_stats", "malloc_info", "mallinfo", "mallinfo2",
	"mallopt", "malloc_get_state", "malloc_set_state",
	"__malloc_info", "__malloc_stats", "__malloc_trim", "__malloc_usable_size",
	"__malloc_get_state", "__malloc_set_state", "__malloc_fork_*",
	"__malloc_arena_thread_freeres",
	"__libc_malloc", "__libc_free", "__libc_calloc", "__libc_realloc", "__libc_memalign",
	"__libc_valloc", "__libc_pvalloc", "__libc_mallinfo", "__libc_mallopt",
	"__posix_memalign", "__default_morecore", "__morecore", "__after_morecore_hook", NULL
};

/* sysmalloc calls mmap and sbrk for blocks and heaps; systrim and heap_trim give back. */
static const struct slow_function glibc_slow[] = {
	{ "_int_malloc",	"_int_malloc",	CHURN_FN_REFILL,	2, false },
	{ "sysmalloc",		"sysmalloc",	CHURN_FN_OS_ALLOC,	0, false },
	{ "systrim",		"systrim",	CHURN_FN_OS_FREE,	0, false },
	{ "heap_trim",		"heap_trim",	CHURN_FN_OS_FREE,	0, false },
	{}
};

/* tcmalloc of gperftools, whose size is that of the class; mimalloc. */
static const struct slow_function other_slow[] = {
	{ "_ZN8tcmalloc11ThreadCache21FetchFromCentralCacheEjiPFPvmE", "FetchFromCentralCache",
	  CHURN_FN_REFILL, 3, true },
	{ "_Z20TCMalloc_SystemAllocmPmm", "TCMalloc_SystemAlloc", CHURN_FN_OS_ALLOC, 0, false },
	{ "_Z22TCMalloc_SystemReleasePvm", "TCMalloc_SystemRelease", CHURN_FN_OS_FREE, 0, false },
	{ "_mi_malloc_generic",	"_mi_malloc_generic",	CHURN_FN_REFILL,	2, false },
	{ "_mi_os_alloc_aligned", "_mi_os_alloc_aligned", CHURN_FN_OS_ALLOC,	0, false },
	{}
};

/* What the families below prefix their internals with when they are linked into a program. */
static const char *const internals[] = {
	"je_*", "_rjem_*", "tc_*", "mi_*", "_mi_*", "_ZN8tcmalloc*", "_ZNK8tcmalloc*", NULL
};

static const char *const libraries[] = {
	"libjemalloc.so*", "libtcmalloc*.so*", "libmimalloc*.so*", "libumem.so*", "libhoard.so*",
	"libsnmalloc*.so*", PRELOAD_LIBRARY, NULL
};

static const struct family families[] = {
	{
		.name = "glibc",
		/* Not __libc_malloc: tcmalloc and mimalloc define that, too. */
		.soname = "libc.so.6",
		.marker = "_int_malloc",
		.functions = c_functions,
		.nr_functions = ARRAY_SIZE(c_functions),
		.unit = glibc_unit,
		.slow = glibc_slow,
		.has_internal_free = true,
	},
	{
		.name = "generic",
		.functions = c_and_cxx_functions,
		.nr_functions = ARRAY_SIZE(c_and_cxx_functions),
		.slow = other_slow,
		.may_forward = true,
	},
};

const struct family *family__get(size_t idx)
{
	return idx < ARRAY_SIZE(families) ? &families[idx] : NULL;
}

const struct family *family__find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (!strcmp(families[i].name, name))
			return &families[i];
	}
	return NULL;
}

static bool in_table(const char *const *table, const char *name)
{
	for (; *table; table++) {
		if (!fnmatch(*table, name, 0))
			return true;
	}
	return false;
}

bool family__is_library(const char *soname)
{
	return soname && in_table(libraries, soname);
}

bool family__is_internal(const char *symbol)
{
	return in_table(internals, symbol);
}

bool family__in_unit(const struct family *family, const char *symbol)
{
	return family->unit && in_table(family->unit, symbol);
}

/* A copy for a constant argument has the others in other registers, perhaps. */
static bool is_slow(const struct slow_function *slow, const char *symbol)
{
	size_t chars = strlen(slow->symbol);

	if (strncmp(symbol, slow->symbol, chars))
		return false;
	return !symbol[chars] || (!slow->size_arg && !strncmp(symbol + chars, ".constprop.", 11));
}

const struct slow_function *family__slow(const struct family *family, const char *symbol)
{
	for (const struct slow_function *slow = family->slow; slow && slow->symbol; slow++) {
		if (is_slow(slow, symbol))
			return slow;
	}
	return NULL;
}

bool family__is_loader(const char *soname)
{
	static const char prefix[] = "ld-linux";

	return soname && !strncmp(soname, prefix, strlen(prefix));
}

const char *probe_families__describe(void)
{
	return "glibc, or any other that defines malloc and free "
	       "(malloc, calloc, realloc, reallocarray, memalign, aligned_alloc, posix_memalign, "
	       "valloc, pvalloc, free, cfree, operator new and delete)";
}
