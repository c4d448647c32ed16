/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dso.h - one mapped object: its file, its symbols, and what is at its addresses.
 *
 * Everything is loaded when first asked for, and remembered.
 */
#ifndef PERF_CHURN_STACK_DSO_H
#define PERF_CHURN_STACK_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct build_id;
struct dso;
struct dso_env;
struct locate_env;
struct internal_range;
struct machine_opts;
struct object_file;
struct object_id;
struct strpool;

/**
 * struct dso_inline - A function inlined at an address.
 * @name: As shown.
 * @id: Made from the name, with the top bit set: stands in for an address.
 * @srcline: Once dso__srclines() ran: the line in it.
 */
struct dso_inline {
	const char *name;
	__u64 id;
	const char *srcline;
};

/**
 * struct dso_addr - What is at one address; valid until the next dso__at() of that object.
 * @sym: Function as shown, or NULL.
 * @sym_start: Its first address; 0 when unknown.
 * @inlines, @nr_inlines: Innermost first.
 * @srcline: Once dso__srclines() ran: the line in @sym, or NULL.
 */
struct dso_addr {
	__u64 addr;
	const char *sym;
	__u64 sym_start;
	struct dso_inline *inlines;
	size_t nr_inlines;
	const char *srcline;
	bool has_srclines;
};

/**
 * dso_env__new() - What all objects of a machine share.
 * @opts, @strings: Must outlive it.
 *
 * Return: 0 or -ENOMEM.
 */
int dso_env__new(const struct machine_opts *opts, struct strpool *strings, struct dso_env **ret);

/** dso_env__locate() - Where its objects are looked for; lives as long as @env. */
const struct locate_env *dso_env__locate(const struct dso_env *env);

/** dso_env__free() - Free it and all its objects. */
void dso_env__free(struct dso_env *env);

/**
 * dso_env__get() - The object of a mapping; found by path and identity, or made.
 * @kernel: It has no file of its own here: see kernel.h.
 *
 * Return: The object, which lives as long as @env; NULL when out of memory.
 */
struct dso *dso_env__get(struct dso_env *env, const struct object_id *id, bool kernel);

/** dso_env__by_name() - The object that dso__name() is the name of (that very pointer), or NULL. */
struct dso *dso_env__by_name(struct dso_env *env, const char *name);

/** dso__name() - Its path as shown; each object has a pointer of its own. */
const char *dso__name(const struct dso *dso);

bool dso__is_kernel(const struct dso *dso);

/** dso__file() - The file to read, or NULL where there is none. */
const struct object_file *dso__file(struct dso *dso);

/** dso__vaddr() - The address, as linked, that a file offset is loaded at. */
__u64 dso__vaddr(struct dso *dso, __u64 offset);

/** dso_env__add_internal() - As internals__add(), before any address of the object is asked for. */
int dso_env__add_internal(struct dso_env *env, const char *path, const struct build_id *build_id,
			  const struct internal_range *range);

/** dso__internal() - The allocator's code that holds a file offset, or NULL. */
const struct internal_range *dso__internal(struct dso *dso, __u64 offset);

/**
 * dso__at() - What is at an address, as linked. Cheap for addresses asked for before.
 *
 * Return: Never NULL.
 */
struct dso_addr *dso__at(struct dso *dso, __u64 addr);

/** dso__srclines() - Fill in the source lines of @at, if that was not done yet. */
void dso__srclines(struct dso *dso, struct dso_addr *at);

#endif /* PERF_CHURN_STACK_DSO_H */
