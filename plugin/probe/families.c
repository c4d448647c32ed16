// SPDX-License-Identifier: GPL-2.0-only
#include <linux/types.h>
#include <stdio.h>
#include <string.h>

#include "bpf/churn.h"
#include "families.h"
#include "probe.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static const struct family_function c_functions[] = {
	{ "malloc",		CHURN_FN_MALLOC,		1, NULL },
	{ "calloc",		CHURN_FN_CALLOC,		2, NULL },
	{ "realloc",		CHURN_FN_REALLOC,		2, NULL },
	{ "reallocarray",	CHURN_FN_NONE,			3, "realloc" },
	{ "memalign",		CHURN_FN_MEMALIGN,		2, NULL },
	{ "aligned_alloc",	CHURN_FN_ALIGNED_ALLOC,		2, NULL },
	{ "posix_memalign",	CHURN_FN_POSIX_MEMALIGN,	3, NULL },
	{ "valloc",		CHURN_FN_VALLOC,		1, NULL },
	{ "pvalloc",		CHURN_FN_PVALLOC,		1, NULL },
	{ "free",		CHURN_FN_FREE,			1, NULL },
	{ "cfree",		CHURN_FN_FREE,			1, NULL },
};

static const struct family families[] = {
	{
		.name = "glibc",
		/* Not __libc_malloc: tcmalloc and mimalloc define that, too. */
		.soname = "libc.so.6",
		.marker = "_int_malloc",
		.functions = c_functions,
		.nr_functions = ARRAY_SIZE(c_functions),
		.has_internal_free = true,
	},
	{
		.name = "generic",
		.functions = c_functions,
		.nr_functions = ARRAY_SIZE(c_functions),
		.may_forward = true,
	},
};

const struct family *family__get(size_t idx)
{
	return idx < ARRAY_SIZE(families) ? &families[idx] : NULL;
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
	       "valloc, pvalloc, free, cfree)";
}
