// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "callchains.h"

#include "stack/walk_spaces.h"
#include "trace/probes.h"
#include "trace/walked.h"
#include "trace/walker.h"
#include "util/msg.h"

#define READY_MS		1000
#define WAIT_FOR_MAP_NS		500000000ULL
#define WAIT_FOR_TABLE_NS	5000000000ULL
#define RETRY_NS		5000000ULL
#define MAX_WAITING_BYTES	(64U << 20)

/*
 * A copied stack that is not walked yet.
 * @status: Of the last walk; WALK_RUNNING: there was none.
 * @nr_changes: See walk_spaces__nr_changes(); at that walk.
 */
struct waiting {
	struct waiting *next;
	bool is_cpu;
	int status;
	__u64 time_ns;
	__u64 nr_changes;
	struct perf_event_header record[];
};

struct callchains {
	struct callchains_opts opts;
	struct walker *walker;
	struct walk_spaces *spaces;
	struct waiting *first, **last;
	size_t waiting_bytes;
	bool copies_off;
	bool mappings_wait;
	__u64 retried_ns;
	__u64 nr_ends[WALK_STATUS_NR];	/* of those walked here */
	__u64 ips[WALK_MAX_FRAMES];
	char out[WALKED_MAX_BYTES] __attribute__((aligned(8)));
};

int callchains__new(const struct callchains_opts *opts, struct callchains **ret)
{
	struct callchains *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->last = &s->first;
	err = walker__new(opts->probes, &s->walker);
	err = err ?: walk_spaces__new(walker__memory(s->walker), &s->spaces);
	err = err ?: walker__connect(s->walker, opts->rings);
	if (err) {
		callchains__free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void callchains__free(struct callchains *s)
{
	struct waiting *w;

	if (!s)
		return;
	while ((w = s->first) != NULL) {
		s->first = w->next;
		free(w);
	}
	walk_spaces__free(s->spaces);
	walker__free(s->walker);
	free(s);
}

void callchains__add_process(struct callchains *s, pid_t pid)
{
	int err = walk_spaces__add_process(s->spaces, pid);

	if (err)
		pr_debug("Process %d: cannot read its mappings: %s\n", pid, strerror(-err));
}

void callchains__add_images(struct callchains *s, const struct process_image *images, size_t nr)
{
	walk_spaces__add_images(s->spaces, images, nr);
}

/* Publishing takes no record: any pass will do. */
void callchains__ready(struct callchains *s)
{
	walk_spaces__update(s->spaces, 0);
	walk_spaces__wait(s->spaces, READY_MS);
	walk_spaces__update(s->spaces, 0);
}

void callchains__track(struct callchains *s, const struct perf_event_header *record)
{
	walk_spaces__record(s->spaces, record);
}

static int write_sample(struct callchains *s, const struct walked *w, const __u64 *ips, __u32 nr)
{
	struct callchains_sample sample = { .record = (void *)s->out, .event_id = w->event_id };
	int bytes = walked__finish(w, ips, nr, s->out, &sample.repaired);

	return bytes < 0 ? bytes : s->opts.write(s->opts.ctx, &sample);
}

/* No copies while too much waits: these stacks end where the walker did not know on. */
static void limit_copies(struct callchains *s)
{
	bool off = s->copies_off ? s->waiting_bytes > MAX_WAITING_BYTES / 4 :
				   s->waiting_bytes > MAX_WAITING_BYTES;

	if (off == s->copies_off)
		return;
	s->copies_off = off;
	walker__allow_copies(s->walker, !off);
}

static int make_wait(struct callchains *s, const struct perf_event_header *record, bool is_cpu,
		     __u64 time_ns)
{
	struct waiting *w = malloc(sizeof(*w) + record->size);

	if (!w)
		return -ENOMEM;
	w->next = NULL;
	w->is_cpu = is_cpu;
	w->status = WALK_RUNNING;
	w->time_ns = time_ns;
	w->nr_changes = 0;
	memcpy(w->record, record, record->size);
	*s->last = w;
	s->last = &w->next;
	s->waiting_bytes += record->size;
	limit_copies(s);
	return 0;
}

int callchains__take(struct callchains *s, const struct perf_event_header *record, bool is_cpu)
{
	struct walked w;
	int err;

	err = walked__parse(record, is_cpu, &w);
	if (err)
		return err;
	if (w.head.is_copy) {
		walker__took_copy(s->walker, is_cpu, w.copy.bytes);
		return make_wait(s, record, is_cpu, w.time_ns);
	}
	memcpy(s->ips, w.ips, w.head.nr * sizeof(s->ips[0]));
	return write_sample(s, &w, s->ips, w.head.nr);
}

/* What it came to by then may change: mappings are reported late, tables take time. */
static bool may_improve(const struct waiting *one, __u64 now_ns)
{
	__u64 age_ns = now_ns > one->time_ns ? now_ns - one->time_ns : 0;

	return (one->status == WALK_NO_MAP && age_ns < WAIT_FOR_MAP_NS) ||
	       (one->status == WALK_PENDING && age_ns < WAIT_FOR_TABLE_NS);
}

/* Before all records of its time are in, a program's stack would be taken for its predecessor's. */
static bool worth_a_walk(const struct callchains *s, const struct waiting *one, __u64 pass_ns)
{
	return one->time_ns <= pass_ns &&
	       (one->nr_changes != walk_spaces__nr_changes(s->spaces) ||
		!may_improve(one, pass_ns));
}

/* Return: is the stack walked as far as it ever will be? */
static bool walk_waiting(struct callchains *s, struct waiting *one, const struct walked *w,
			 __u64 pass_ns, bool last, __u32 *nr)
{
	one->nr_changes = walk_spaces__nr_changes(s->spaces);
	one->status = walk_spaces__walk(s->spaces, w->pid, w->time_ns, &w->copy, w->stack,
					s->opts.max_stack, s->ips, nr);
	if (!last && may_improve(one, pass_ns))
		return false;
	s->nr_ends[one->status]++;
	return true;
}

static int retry(struct callchains *s, __u64 pass_ns, bool last)
{
	struct waiting **at = &s->first, *one;
	struct walked w;
	__u32 nr;
	int err = 0;

	while (!err && (one = *at) != NULL) {
		/* Taken apart before; it cannot fail. */
		if ((!last && !worth_a_walk(s, one, pass_ns)) ||
		    walked__parse(one->record, one->is_cpu, &w) ||
		    !walk_waiting(s, one, &w, pass_ns, last, &nr)) {
			at = &one->next;
			continue;
		}
		err = write_sample(s, &w, s->ips, nr);
		*at = one->next;
		s->waiting_bytes -= one->record->size;
		free(one);
	}
	if (!*at)
		s->last = at;
	limit_copies(s);
	return err;
}

int callchains__settle(struct callchains *s, __u64 pass_ns, bool last)
{
	if (last)
		walk_spaces__wait(s->spaces, WAIT_FOR_TABLE_NS / 1000000);
	s->mappings_wait = walk_spaces__update(s->spaces, last ? WALK_SPACES_LAST_PASS : pass_ns);
	if (!s->first || (!last && pass_ns < s->retried_ns + RETRY_NS))
		return 0;
	s->retried_ns = pass_ns;
	return retry(s, pass_ns, last);
}

bool callchains__waiting(const struct callchains *s)
{
	return s->mappings_wait || s->first;
}

void callchains__counts(const struct callchains *s, struct callchains_counts *ret)
{
	struct walker_stats stats;
	size_t i;

	walker__stats(s->walker, &stats);
	for (i = 0; i < WALK_STATUS_NR; i++)
		ret->nr_ends[i] = stats.nr_ends[i] + s->nr_ends[i];
	ret->nr_copied = stats.nr_copied;
	ret->nr_lost_cpu = stats.nr_lost_cpu;
}
