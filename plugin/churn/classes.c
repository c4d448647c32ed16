// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"

void classes__exit(struct classes *c)
{
	free(c->tallies);
	memset(c, 0, sizeof(*c));
}

static int make_room(struct classes *c, unsigned int class)
{
	unsigned int first = c->nr && c->first < class ? c->first : class;
	unsigned int end = c->nr && c->first + c->nr > class ? c->first + c->nr : class + 1;
	struct tally *wide;

	if (end - first == c->nr)
		return 0;
	wide = calloc(end - first, sizeof(*wide));
	if (!wide)
		return -ENOMEM;
	if (c->nr)
		memcpy(wide + c->first - first, c->tallies, c->nr * sizeof(*wide));
	free(c->tallies);
	*c = (struct classes){ wide, first, end - first };
	return 0;
}

int classes__add(struct classes *c, __u64 value, __u64 weight)
{
	unsigned int class = log2_class(value);
	int err = make_room(c, class);

	if (!err)
		tally__add(&c->tallies[class - c->first], weight, 0);
	return err;
}

int classes__finish(const struct classes *c, const struct calibration *calibration,
		    struct report_class **ret, size_t *ret_nr)
{
	struct report_class *classes = NULL;
	unsigned int i;

	if (c->nr) {
		classes = calloc(c->nr, sizeof(*classes));
		if (!classes)
			return -ENOMEM;
	}
	for (i = 0; i < c->nr; i++) {
		classes[i].le = log2_class_bound(c->first + i);
		classes[i].count = calibration__count(calibration, &c->tallies[i]);
	}
	*ret = classes;
	*ret_nr = c->nr;
	return 0;
}
