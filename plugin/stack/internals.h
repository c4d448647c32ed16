/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * internals.h - where objects have their allocator's code, as the recorder found it.
 *
 * By file offsets, which a mapping tells: it takes no object file to use this.
 */
#ifndef PERF_CHURN_STACK_INTERNALS_H
#define PERF_CHURN_STACK_INTERNALS_H

#include <stddef.h>
#include <linux/types.h>

#include "locate.h"

struct internals;
struct internal_object;

/**
 * struct internal_range - Code of the allocator of one object.
 * @start: First address, as linked.
 * @offset: File offset of @start.
 */
struct internal_range {
	__u64 start, offset, bytes;
};

int internals__new(struct internals **ret);
void internals__free(struct internals *in);

/**
 * internals__add() - Add a range.
 * @path: Of the object, as recorded; without a slash in front it is the end of a longer one.
 * @build_id: Of the object; 0 bytes: it has none.
 *
 * A range that overlaps one of the same object is left out, and what is more than any honest
 * file has.
 *
 * Return: 0 or -ENOMEM.
 */
int internals__add(struct internals *in, const char *path, const struct build_id *build_id,
		   const struct internal_range *range);

/**
 * internals__object() - The object of a mapping: by its build-id where both have one, else by path.
 *
 * Return: NULL when nothing was added for it. Valid until the next internals__add().
 */
const struct internal_object *internals__object(const struct internals *in,
						const struct object_id *id);

/** internal_object__find() - The range that holds a file offset, or NULL; @obj may be NULL. */
const struct internal_range *internal_object__find(const struct internal_object *obj,
						   __u64 offset);

#endif /* PERF_CHURN_STACK_INTERNALS_H */
