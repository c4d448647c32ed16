// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "windows.h"

#include "bpf/churn.h"
#include "bpf/control.h"
#include "util/long_map.h"

struct process {
	struct churn_totals last;
	__u64 start_ns;
	__u64 gap_ns;
	bool has_window;
};

struct windows {
	struct hashmap *processes;	/* pid to struct process */
	__u64 start_ns;
};

int windows__new(__u64 start_ns, struct windows **ret)
{
	struct windows *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->start_ns = start_ns;
	w->processes = long_map__new();
	if (!w->processes) {
		free(w);
		return -ENOMEM;
	}
	*ret = w;
	return 0;
}

void windows__free(struct windows *w)
{
	struct hashmap_entry *cur;
	size_t bucket;

	if (!w)
		return;
	hashmap__for_each_entry(w->processes, cur, bucket)
		free(cur->pvalue);
	hashmap__free(w->processes);
	free(w);
}

void windows__begin(struct windows *w, __u64 start_ns)
{
	w->start_ns = start_ns;
}

static struct process *find_process(struct windows *w, pid_t pid)
{
	struct process *p;

	if (hashmap__find(w->processes, (long)pid, &p))
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->start_ns = w->start_ns;
	if (hashmap__add(w->processes, (long)pid, p)) {
		free(p);
		return NULL;
	}
	return p;
}

int windows__add_gap(struct windows *w, pid_t pid, __u64 gap_ns)
{
	struct process *p = find_process(w, pid);

	if (!p)
		return -ENOMEM;
	p->gap_ns += gap_ns;
	return 0;
}

/* Counters only grow; that they could be read a moment apart does not make one run backwards. */
static __u64 since(__u64 now, __u64 last)
{
	return now > last ? now - last : 0;
}

static void fill(struct churn_window *out, const struct churn_totals *now,
		 const struct churn_totals *last)
{
	out->nr_allocs = since(now->nr_allocs, last->nr_allocs);
	out->alloc_bytes = since(now->alloc_bytes, last->alloc_bytes);
	out->nr_frees = since(now->nr_frees, last->nr_frees);
	out->nr_failed = since(now->nr_failed, last->nr_failed);
	out->nr_free_null = since(now->nr_free_null, last->nr_free_null);
	out->nr_free_unseen = since(now->nr_free_unseen, last->nr_free_unseen);
	out->nr_free_internal = since(now->nr_free_internal, last->nr_free_internal);
	out->nr_reallocs = since(now->nr_reallocs, last->nr_reallocs);
	out->nr_lost_output = since(now->nr_lost_output, last->nr_lost_output);
	out->nr_lost_map = since(now->nr_lost_map, last->nr_lost_map);
	out->nr_lost_inflight = since(now->nr_lost_inflight, last->nr_lost_inflight);
	out->nr_hits = since(now->nr_hits, last->nr_hits);
}

int windows__close(struct windows *w, pid_t pid, __u64 end_ns, __u64 period,
		   const struct churn_totals *totals, struct churn_window *ret)
{
	struct process *p = find_process(w, pid);

	if (!p)
		return -ENOMEM;
	if (p->has_window && !memcmp(totals, &p->last, sizeof(*totals)) && !p->gap_ns)
		return 0;
	p->has_window = true;
	memset(ret, 0, sizeof(*ret));
	ret->common.type = CHURN_WINDOW_ID;
	ret->common.pid = pid;
	ret->start_ns = p->start_ns;
	ret->end_ns = end_ns;
	ret->sample_period = period;
	ret->gap_ns = p->gap_ns;
	fill(ret, totals, &p->last);
	p->last = *totals;
	p->start_ns = end_ns;
	p->gap_ns = 0;
	return 1;
}

void windows__forget(struct windows *w, pid_t pid)
{
	struct process *p;

	if (hashmap__delete(w->processes, (long)pid, NULL, &p))
		free(p);
}
