// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "orders.h"

#include "track_record.h"

struct orders {
	/* The drain's: what a pass over the rings of all CPUs brings, in no order of time. */
	struct order **staged;
	size_t nr_staged;

	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake;
	struct order *first, **last;
	bool stopping;
};

int orders__new(struct orders **ret)
{
	struct orders *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->last = &all->first;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->wake, NULL);
	*ret = all;
	return 0;
}

void orders__free(struct orders *all)
{
	struct order *next;
	size_t i;

	if (!all)
		return;
	for (i = 0; i < all->nr_staged; i++)
		free(all->staged[i]);
	free(all->staged);
	for (; all->first; all->first = next) {
		next = all->first->next;
		free(all->first);
	}
	pthread_cond_destroy(&all->wake);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static struct order *new_order(enum order_kind kind, pid_t pid, __u64 time_ns, const char *path)
{
	size_t bytes = path ? strlen(path) + 1 : 1;
	struct order *o = calloc(1, sizeof(*o) + bytes);

	if (!o)
		return NULL;
	o->kind = kind;
	o->pid = pid;
	o->time_ns = time_ns;
	if (path)
		memcpy(o->path, path, bytes);
	return o;
}

static void stage(struct orders *all, struct order *o)
{
	struct order **grown;

	if (!o)
		return;
	grown = reallocarray(all->staged, all->nr_staged + 1, sizeof(*grown));
	if (!grown) {
		free(o);
		return;
	}
	all->staged = grown;
	grown[all->nr_staged++] = o;
}

static int by_time(const void *a, const void *b)
{
	const struct order *one = *(struct order *const *)a, *other = *(struct order *const *)b;

	return one->time_ns < other->time_ns ? -1 : one->time_ns > other->time_ns;
}

void orders__flush(struct orders *all)
{
	size_t i;

	if (!all->nr_staged)
		return;
	qsort(all->staged, all->nr_staged, sizeof(*all->staged), by_time);
	pthread_mutex_lock(&all->lock);
	for (i = 0; i < all->nr_staged; i++) {
		*all->last = all->staged[i];
		all->last = &all->staged[i]->next;
	}
	pthread_cond_signal(&all->wake);
	pthread_mutex_unlock(&all->lock);
	all->nr_staged = 0;
}

static bool is_file_name(const char *name)
{
	return name[0] == '/' && strcmp(name, "//anon") && strncmp(name, "/memfd:", 7) &&
	       strncmp(name, "/dev/zero", 9);
}

static void stage_mmap(struct orders *all, const struct perf_event_header *record)
{
	const struct mmap2_record *m = (const void *)record;

	if (mmap2_record__is_code(m) && is_file_name(m->filename))
		stage(all, new_order(ORDER_MMAP, m->pid, track_record__time(record), m->filename));
}

void orders__record(struct orders *all, const struct perf_event_header *record)
{
	const struct task_record *t = (const void *)record;
	struct order *o = NULL;

	switch (record->type) {
	case PERF_RECORD_FORK:
		if (t->pid == t->ppid)
			break;
		o = new_order(ORDER_FORK, t->pid, track_record__time(record), NULL);
		if (o)
			o->ppid = t->ppid;
		break;
	case PERF_RECORD_EXIT:
		if (t->pid == t->tid)
			o = new_order(ORDER_EXIT, t->pid, track_record__time(record), NULL);
		break;
	case PERF_RECORD_COMM:
		if (record->misc & PERF_RECORD_MISC_COMM_EXEC)
			o = new_order(ORDER_EXEC, t->pid, track_record__time(record), NULL);
		break;
	case PERF_RECORD_MMAP2:
		stage_mmap(all, record);
		break;
	}
	stage(all, o);
}

struct order *orders__next(struct orders *all)
{
	struct order *o;

	pthread_mutex_lock(&all->lock);
	while (!all->first && !all->stopping)
		pthread_cond_wait(&all->wake, &all->lock);
	o = all->first;
	if (o) {
		all->first = o->next;
		if (!all->first)
			all->last = &all->first;
	}
	pthread_mutex_unlock(&all->lock);
	return o;
}

void orders__stop(struct orders *all)
{
	pthread_mutex_lock(&all->lock);
	all->stopping = true;
	pthread_cond_signal(&all->wake);
	pthread_mutex_unlock(&all->lock);
}
