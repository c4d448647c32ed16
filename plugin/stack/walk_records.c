// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/track_record.h"
#include "walk_records.h"

void walk_records__exit(struct walk_records *r)
{
	size_t i;

	for (i = r->next; i < r->nr; i++)
		free(r->held[i].record);
	free(r->held);
}

static bool is_of_interest(const struct perf_event_header *record)
{
	return record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT ||
	       record->type == PERF_RECORD_MMAP2 ||
	       (record->type == PERF_RECORD_COMM && record->misc & PERF_RECORD_MISC_COMM_EXEC);
}

void walk_records__hold(struct walk_records *r, const struct perf_event_header *record)
{
	struct walk_records_held *grown;
	struct perf_event_header *copy;
	size_t room;

	if (!is_of_interest(record))
		return;
	if (r->nr == r->room) {
		room = r->room * 2 + 64;
		grown = reallocarray(r->held, room, sizeof(*grown));
		if (!grown)
			return;
		r->held = grown;
		r->room = room;
	}
	copy = malloc(record->size);
	if (!copy)
		return;
	memcpy(copy, record, record->size);
	r->held[r->nr++] = (struct walk_records_held){
		.time_ns = track_record__time(record), .nth = r->nr_seen++, .record = copy,
	};
}

static int by_time(const void *a, const void *b)
{
	const struct walk_records_held *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

void walk_records__sort(struct walk_records *r)
{
	qsort(r->held, r->nr, sizeof(*r->held), by_time);
}

/* The one handed out last is freed by the next call: all before @next have been. */
const struct perf_event_header *walk_records__next(struct walk_records *r, __u64 until_ns,
						   __u64 *time_ns)
{
	struct walk_records_held *held = &r->held[r->next];

	if (r->next)
		free(held[-1].record);
	if (r->next < r->nr && held->time_ns <= until_ns) {
		r->next++;
		*time_ns = held->time_ns;
		return held->record;
	}
	r->nr -= r->next;
	memmove(r->held, held, r->nr * sizeof(*held));
	r->next = 0;
	return NULL;
}
