// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "internals.h"

/* The recorder writes at most 1024 ranges an object; allocators at a time are a few dozen. */
#define MAX_RANGES	1024
#define MAX_OBJECTS	1024

/* @ranges: Sorted by offset, without overlaps. */
struct internal_object {
	char *path;
	struct build_id build_id;
	struct internal_range *ranges;
	size_t nr;
};

struct internals {
	struct internal_object *objects;
	size_t nr;
};

int internals__new(struct internals **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void internals__free(struct internals *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->nr; i++) {
		free(in->objects[i].path);
		free(in->objects[i].ranges);
	}
	free(in->objects);
	free(in);
}

static bool is_path(const char *recorded, const char *path)
{
	size_t chars = strlen(path), recorded_chars = strlen(recorded);

	if (recorded[0] == '/')
		return !strcmp(recorded, path);
	return recorded_chars && chars > recorded_chars &&
	       !strcmp(path + chars - recorded_chars, recorded);
}

static bool is_object(const struct internal_object *obj, const char *path,
		      const struct build_id *id)
{
	if (obj->build_id.bytes && id->bytes)
		return obj->build_id.bytes == id->bytes &&
		       !memcmp(obj->build_id.bits, id->bits, id->bytes);
	return is_path(obj->path, path);
}

static bool is_same(const struct internal_object *obj, const char *path, const struct build_id *id)
{
	return obj->build_id.bytes == id->bytes && !strcmp(obj->path, path) &&
	       !memcmp(obj->build_id.bits, id->bits, id->bytes);
}

/* Return: 0 and the object, NULL when there are too many; or -ENOMEM. */
static int get_object(struct internals *in, const char *path, const struct build_id *id,
		      struct internal_object **ret)
{
	struct internal_object *objects;

	/* Ranges of one object come in a row. */
	for (size_t i = in->nr; i-- > 0;) {
		*ret = &in->objects[i];
		if (is_same(*ret, path, id))
			return 0;
	}
	*ret = NULL;
	if (in->nr == MAX_OBJECTS)
		return 0;
	objects = reallocarray(in->objects, in->nr + 1, sizeof(*objects));
	if (!objects)
		return -ENOMEM;
	in->objects = objects;
	objects[in->nr] = (struct internal_object){ .path = strdup(path), .build_id = *id };
	if (!objects[in->nr].path)
		return -ENOMEM;
	*ret = &objects[in->nr++];
	return 0;
}

/* Index of the first range that ends behind @offset. */
static size_t find_index(const struct internal_object *obj, __u64 offset)
{
	size_t lo = 0, hi = obj->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (obj->ranges[mid].offset + obj->ranges[mid].bytes <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int internals__add(struct internals *in, const char *path, const struct build_id *build_id,
		   const struct internal_range *range)
{
	struct internal_object *obj;
	struct internal_range *ranges;
	size_t at;
	int err = get_object(in, path, build_id, &obj);

	if (err || !obj || obj->nr == MAX_RANGES || !range->bytes ||
	    range->offset + range->bytes < range->offset)
		return err;
	at = find_index(obj, range->offset);
	if (at < obj->nr && obj->ranges[at].offset < range->offset + range->bytes)
		return 0;
	ranges = reallocarray(obj->ranges, obj->nr + 1, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	obj->ranges = ranges;
	memmove(&ranges[at + 1], &ranges[at], (obj->nr - at) * sizeof(*ranges));
	ranges[at] = *range;
	obj->nr++;
	return 0;
}

const struct internal_object *internals__object(const struct internals *in,
						const struct object_id *id)
{
	for (size_t i = 0; i < in->nr; i++) {
		if (is_object(&in->objects[i], id->path, &id->build_id))
			return &in->objects[i];
	}
	return NULL;
}

const struct internal_range *internal_object__find(const struct internal_object *obj, __u64 offset)
{
	size_t at = obj ? find_index(obj, offset) : 0;

	if (!obj || at == obj->nr || offset < obj->ranges[at].offset)
		return NULL;
	return &obj->ranges[at];
}
