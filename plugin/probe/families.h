/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * families.h - the allocators we know. A new one is one row in families.c.
 */
#ifndef PERF_CHURN_PROBE_FAMILIES_H
#define PERF_CHURN_PROBE_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct family_function - One entry point.
 * @fn: enum churn_fn: what the call means and where its arguments are; CHURN_FN_NONE for one that
 *	is not probed itself.
 * @nr_args: Arguments the probe reads, in rdi, rsi, rdx.
 * @via: For CHURN_FN_NONE: the entry point it calls, where its calls are counted.
 */
struct family_function {
	const char *symbol;
	__u32 fn;
	unsigned int nr_args;
	const char *via;
};

/**
 * struct slow_function - What an allocator calls where its caches cannot serve a call.
 * @symbol: As the linker sees it. Where no argument is read, the compiler may have made a copy
 *	of it for some constant argument ("systrim.constprop.0").
 * @name: What it is called in messages and in the file.
 * @fn: CHURN_FN_REFILL: it finds or makes a block, which it returns; CHURN_FN_OS_ALLOC, which it
 *	calls, or CHURN_FN_OS_FREE.
 * @size_arg: Of a refill: the argument that is the size of the block, 1 to 3.
 * @size_is_int: It is an int.
 */
struct slow_function {
	const char *symbol;
	const char *name;
	__u32 fn;
	unsigned int size_arg;
	bool size_is_int;
};

/**
 * struct family - One allocator.
 * @soname: DT_SONAME of its shared object, and
 * @marker: a symbol that its static copies define and others do not: either proves the family.
 *	Both NULL: any object that defines malloc and free of @functions, and not as local symbols,
 *	whose name alone proves nothing.
 * @functions: Of two names for one address the first is taken.
 * @unit: All functions that the source file exports which holds those of @functions, and which the
 *	compiler therefore puts in one piece; patterns for fnmatch(3). NULL: not one file.
 * @slow: Its slow functions, if it has these; ends at a symbol of NULL.
 * @may_forward: Its functions may call another allocator's (an interposer, a wrapper library).
 * @has_internal_free: It frees for itself through its own public entry point.
 */
struct family {
	const char *name;
	const char *soname;
	const char *marker;
	const struct family_function *functions;
	size_t nr_functions;
	const char *const *unit;
	const struct slow_function *slow;
	bool may_forward;
	bool has_internal_free;
};

/** family__get() - The @idx-th row, NULL at the end. The first to fit an object is its family. */
const struct family *family__get(size_t idx);

/** family__find() - The row of that name, or NULL. */
const struct family *family__find(const char *name);

/** family__is_library() - Is an object of this soname (may be NULL) an allocator and nothing else? */
bool family__is_library(const char *soname);

/** family__is_internal() - Does a symbol have a name that only allocators' internals have? */
bool family__is_internal(const char *symbol);

/** family__in_unit() - Is a symbol exported by the source file of @family.unit? */
bool family__in_unit(const struct family *family, const char *symbol);

/** family__slow() - Row of the slow function that a symbol names, or NULL. */
const struct slow_function *family__slow(const struct family *family, const char *symbol);

/**
 * family__is_loader() - Is an object of this soname a dynamic loader?
 * @soname: May be NULL.
 *
 * Loaders up to glibc 2.30 export a malloc for their own start-up, which libc's then replaces.
 */
bool family__is_loader(const char *soname);

#endif /* PERF_CHURN_PROBE_FAMILIES_H */
