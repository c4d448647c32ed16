// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event_ids.h"

#include "rings.h"

struct event_id {
	__u64 id;
	int event;
};

struct event_ids {
	size_t nr;
	struct event_id ids[];		/* by id */
};

static int compare(const void *a, const void *b)
{
	const struct event_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int event_ids__new(const struct ring_event *events, size_t nr, struct event_ids **ret)
{
	struct event_ids *ids;
	size_t total = 0, i, j;

	for (i = 0; i < nr; i++)
		total += events[i].nr_ids;
	ids = calloc(1, sizeof(*ids) + total * sizeof(ids->ids[0]));
	if (!ids)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		for (j = 0; j < events[i].nr_ids; j++)
			ids->ids[ids->nr++] = (struct event_id){ events[i].ids[j], i };
	}
	qsort(ids->ids, ids->nr, sizeof(ids->ids[0]), compare);
	*ret = ids;
	return 0;
}

void event_ids__free(struct event_ids *ids)
{
	free(ids);
}

int event_ids__find(const struct event_ids *ids, const struct perf_event_header *sample)
{
	const struct event_id *found;
	struct event_id key = {};

	if (sample->size < sizeof(*sample) + sizeof(key.id))
		return -ENOENT;
	memcpy(&key.id, sample + 1, sizeof(key.id));
	found = bsearch(&key, ids->ids, ids->nr, sizeof(key), compare);
	return found ? found->event : -ENOENT;
}
