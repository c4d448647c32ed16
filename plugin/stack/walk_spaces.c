// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process has generations: one for each program it has run, the newest first, each with its
 * space. Older ones stay for a while, for stacks that were copied before the exec and are walked
 * after it; so do processes that have ended. The newest of a living process has its mappings in the
 * walker's array; stacks that were copied are walked by an array of the generation's own.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "locate.h"
#include "space.h"
#include "target/maps.h"
#include "target/process.h"
#include "trace/track_record.h"
#include "walk.h"
#include "walk_ranges.h"
#include "walk_records.h"
#include "walk_spaces.h"
#include "util/clock.h"
#include "util/long_map.h"

#define KEEP_NS		6000000000ULL	/* longer than a copied stack waits for a table */
#define PRUNE_NS	1000000000ULL
#define PUBLISH_NS	60000ULL	/* a mapping: half of the array in the time that ranges rest */

/* What the walker's array holds of a space; a child begins with its parent's. */
struct published {
	__u32 first, nr;
	unsigned int nr_refs;
};

struct generation {
	struct generation *older;
	__u64 since_ns;			/* of the exec that began it; 0: from before */
	__u64 until_ns;			/* when the next began; 0: it lasts */
	struct space *space;
	struct published *published;	/* NULL: nothing yet, or not any more */
	__u64 published_ns;
	bool changed;
	struct walk_map *own;		/* for copied stacks; made when the first is walked */
	__u32 nr_own;
	__u64 own_is_of;		/* the state of affairs that it shows; 0: none */
};

struct walk_process {
	pid_t pid;
	__u64 ended_ns;			/* its leader has; 0: it lives */
	bool gone;			/* and so have all other threads */
	struct generation *newest;
};

struct walk_spaces {
	const struct walk_memory *mem;
	struct walk_files *files;
	struct walk_ranges *ranges;
	struct space_pool pool;
	struct hashmap *processes;	/* pid to struct walk_process */
	struct walk_records records;
	__u64 nr_changes;		/* of mappings and tables */
	__u64 pruned_ns;
	bool any_changed;
	__u64 nr_no_room;
};

int walk_spaces__new(const struct walk_memory *mem, struct walk_spaces **ret)
{
	struct walk_spaces *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return err;
	s->mem = mem;
	s->nr_changes = 1;
	s->processes = long_map__new();
	if (!s->processes)
		goto err_free;
	s->ranges = walk_ranges__new(WALK_MAX_MAPS);
	if (!s->ranges)
		goto err_free;
	err = walk_files__new(mem, &s->files);
	if (err)
		goto err_free;
	*ret = s;
	return 0;

err_free:
	walk_spaces__free(s);
	return err;
}

static void put_published(struct walk_spaces *s, struct published *p)
{
	if (!p || --p->nr_refs)
		return;
	walk_ranges__give(s->ranges, p->first, p->nr, clock__now_ns());
	free(p);
}

static void free_generations(struct walk_spaces *s, struct generation *g)
{
	struct generation *older;

	for (; g; g = older) {
		older = g->older;
		put_published(s, g->published);
		space__put(g->space);
		free(g->own);
		free(g);
	}
}

void walk_spaces__free(struct walk_spaces *s)
{
	struct hashmap_entry *entry;
	size_t bucket;

	if (!s)
		return;
	walk_files__free(s->files);
	if (s->processes) {
		hashmap__for_each_entry(s->processes, entry, bucket) {
			struct walk_process *p = entry->pvalue;

			free_generations(s, p->newest);
			free(p);
		}
		hashmap__free(s->processes);
	}
	walk_ranges__free(s->ranges);
	walk_records__exit(&s->records);
	free(s);
}

static struct walk_process *find_process(const struct walk_spaces *s, pid_t pid)
{
	struct walk_process *p = NULL;

	hashmap__find(s->processes, (long)pid, &p);
	return p;
}

/* A new generation of @p, with a reference to @space, or an empty one for NULL. */
static struct generation *add_generation(struct walk_spaces *s, struct walk_process *p,
					 struct space *space, __u64 since_ns)
{
	struct generation *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->space = space ? space__get(space) : space__new(&s->pool);
	if (!g->space) {
		free(g);
		return NULL;
	}
	g->since_ns = since_ns;
	if (p->newest) {
		p->newest->until_ns = since_ns;
		put_published(s, p->newest->published);
		p->newest->published = NULL;
	}
	g->older = p->newest;
	p->newest = g;
	return g;
}

/* The process, with an empty space if it is new to us; NULL when out of memory. */
static struct walk_process *get_process(struct walk_spaces *s, pid_t pid)
{
	struct walk_process *p = find_process(s, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	if (!add_generation(s, p, NULL, 0) || hashmap__add(s->processes, (long)pid, p)) {
		free_generations(s, p->newest);
		free(p);
		return NULL;
	}
	return p;
}

static void mark_changed(struct walk_spaces *s, struct generation *g)
{
	g->changed = true;
	s->any_changed = true;
	s->nr_changes++;
}

static void add_mapping(struct walk_spaces *s, struct walk_process *p, const struct object_id *id,
			__u64 pgoff)
{
	struct mapping map = { .start = id->start, .end = id->end, .pgoff = pgoff, .exec = true };

	map.dso = walk_files__get(s->files, id);
	if (map.dso && !space__map(&p->newest->space, &map))
		mark_changed(s, p->newest);
}

int walk_spaces__add_process(struct walk_spaces *s, pid_t pid)
{
	struct maps_entry entry;
	struct walk_process *p;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	p = get_process(s, pid);
	while (p && getline(&line, &room, maps) > 0) {
		struct object_id id = { .pid = pid };

		if (!maps_entry__parse(line, &entry) || !entry.is_executable)
			continue;
		id.path = entry.path;
		id.start = entry.start;
		id.end = entry.end;
		id.maj = major(entry.dev);
		id.min = minor(entry.dev);
		id.ino = entry.ino;
		add_mapping(s, p, &id, entry.pgoff);
	}
	free(line);
	fclose(maps);
	return p ? 0 : -ENOMEM;
}

void walk_spaces__add_images(struct walk_spaces *s, const struct process_image *images, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		struct object_id id = { .path = images[i].open_path };

		walk_files__get(s->files, &id);
	}
}

void walk_spaces__wait(struct walk_spaces *s, int timeout_ms)
{
	walk_files__wait(s->files, timeout_ms);
}

void walk_spaces__record(struct walk_spaces *s, const struct perf_event_header *record)
{
	walk_records__hold(&s->records, record);
}

static void on_mmap(struct walk_spaces *s, const struct perf_event_header *record)
{
	const struct mmap2_record *m = (const void *)record;
	struct object_id id = { .path = m->filename, .pid = m->pid, .start = m->start };
	struct walk_process *p;

	if (!mmap2_record__is_code(m))
		return;
	p = get_process(s, m->pid);
	if (!p)
		return;
	id.end = m->start + m->len;
	if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		id.build_id.bytes = m->build_id_bytes <= 20 ? m->build_id_bytes : 0;
		memcpy(id.build_id.bits, m->build_id, sizeof(m->build_id));
	} else {
		id.maj = m->maj;
		id.min = m->min;
		id.ino = m->ino;
	}
	add_mapping(s, p, &id, m->pgoff);
}

/* The child's program has begun when its parent's had. */
static void on_fork(struct walk_spaces *s, const struct task_record *t, __u64 time_ns)
{
	struct walk_process *parent, *child;
	struct generation *g;

	if (t->pid == t->ppid)
		return;
	parent = find_process(s, t->ppid);
	child = get_process(s, t->pid);
	if (!child)
		return;
	child->ended_ns = 0;
	child->gone = false;
	g = add_generation(s, child, parent ? parent->newest->space : NULL, time_ns);
	if (!g || !parent)
		return;
	g->published = parent->newest->published;
	if (g->published)
		g->published->nr_refs++;
	mark_changed(s, g);
}

static void act_on(struct walk_spaces *s, const struct perf_event_header *record, __u64 time_ns)
{
	const struct task_record *t = (const void *)record;
	struct walk_process *p;

	if (record->size < sizeof(*t))
		return;
	switch (record->type) {
	case PERF_RECORD_FORK:
		on_fork(s, t, time_ns);
		break;
	case PERF_RECORD_EXIT:
		p = t->pid == t->tid ? find_process(s, t->pid) : NULL;
		if (p)
			p->ended_ns = time_ns ?: 1;
		break;
	case PERF_RECORD_COMM:
		p = get_process(s, t->pid);
		if (p)
			add_generation(s, p, NULL, time_ns);
		break;
	case PERF_RECORD_MMAP2:
		on_mmap(s, record);
		break;
	}
}

static void act_on_records(struct walk_spaces *s, __u64 pass_ns)
{
	const struct perf_event_header *record;
	__u64 time_ns;

	walk_records__sort(&s->records);
	while ((record = walk_records__next(&s->records, pass_ns, &time_ns)) != NULL) {
		act_on(s, record, time_ns);
		s->nr_changes++;
	}
}

static struct published *new_published(struct walk_spaces *s, size_t nr)
{
	struct published *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->nr_refs = 1;
	p->nr = nr;
	if (nr && walk_ranges__take(s->ranges, nr, clock__now_ns(), &p->first)) {
		s->nr_no_room++;
		p->nr = 0;
	}
	return p;
}

static void fill(struct walk_map *to, size_t room, const struct space *space)
{
	size_t i, nr = space__nr(space);
	const struct mapping *map;

	for (i = 0; i < nr && i < room; i++) {
		map = space__at(space, i);
		to[i].start = map->start;
		to[i].end = map->end;
		walk_object__fill(map->dso, map->pgoff, &to[i]);
	}
}

/* Without room nothing of the process is published, until there is. */
static void publish(struct walk_spaces *s, struct walk_process *p)
{
	struct generation *g = p->newest;
	struct walk_proc proc = { .since_ns = g->since_ns };
	struct published *old = g->published, *new;
	size_t nr = space__nr(g->space);

	g->changed = false;
	new = new_published(s, nr);
	if (!new)
		return;
	if (new->nr < nr)
		mark_changed(s, g);
	g->published = new;
	g->published_ns = clock__now_ns();
	fill(&s->mem->maps[new->first], new->nr, g->space);
	proc.first = new->first;
	proc.nr = new->nr;
	s->mem->set_proc(s->mem->ctx, p->pid, &proc);
	put_published(s, old);
}

/*
 * A table is there that mappings wait for. What the walker reads now is not changed: a mapping
 * whose fields change one by one would lead it astray.
 */
static void mark_all(struct walk_spaces *s)
{
	struct hashmap_entry *entry;
	size_t bucket, i;

	hashmap__for_each_entry(s->processes, entry, bucket) {
		struct walk_process *p = entry->pvalue;
		struct generation *g = p->newest;

		for (i = 0; g->published && i < g->published->nr; i++) {
			if (s->mem->maps[g->published->first + i].kind == WALK_MAP_PENDING) {
				mark_changed(s, g);
				break;
			}
		}
	}
}

/* A leader that ends before its other threads leaves a process that lives. */
static bool is_gone(struct walk_process *p)
{
	if (p->ended_ns && !p->gone)
		p->gone = kill(p->pid, 0) && errno == ESRCH;
	return p->gone;
}

/* A compiler at run time may change thousands of mappings one by one. */
static bool was_just_published(const struct generation *g, __u64 now)
{
	return g->published && now < g->published_ns + g->published->nr * PUBLISH_NS;
}

static void publish_changed(struct walk_spaces *s)
{
	struct hashmap_entry *entry;
	__u64 now = clock__now_ns();
	size_t bucket;

	s->any_changed = false;
	hashmap__for_each_entry(s->processes, entry, bucket) {
		struct walk_process *p = entry->pvalue;

		if (!p->newest->changed || is_gone(p))
			continue;
		if (was_just_published(p->newest, now))
			s->any_changed = true;
		else
			publish(s, p);
	}
}

static void drop_old_generations(struct walk_spaces *s, struct walk_process *p, __u64 now)
{
	struct generation **at = &p->newest->older;

	while (*at && (*at)->until_ns + KEEP_NS > now)
		at = &(*at)->older;
	free_generations(s, *at);
	*at = NULL;
}

static void prune(struct walk_spaces *s, __u64 now)
{
	struct hashmap_entry *entry, *next;
	size_t bucket;

	s->pruned_ns = now;
	hashmap__for_each_entry_safe(s->processes, entry, next, bucket) {
		struct walk_process *p = entry->pvalue;

		drop_old_generations(s, p, now);
		if (p->ended_ns + KEEP_NS > now || !is_gone(p))
			continue;
		s->mem->set_proc(s->mem->ctx, p->pid, NULL);
		hashmap__delete(s->processes, (long)p->pid, NULL, NULL);
		free_generations(s, p->newest);
		free(p);
	}
}

bool walk_spaces__update(struct walk_spaces *s, __u64 pass_ns)
{
	if (s->records.nr)
		act_on_records(s, pass_ns);
	if (walk_files__changed(s->files)) {
		s->nr_changes++;
		mark_all(s);
	}
	if (s->any_changed)
		publish_changed(s);
	/* In the last pass there may be stacks yet of all that have ended. */
	if (pass_ns > s->pruned_ns + PRUNE_NS && pass_ns != WALK_SPACES_LAST_PASS)
		prune(s, pass_ns);
	return s->records.nr != 0;
}

__u64 walk_spaces__nr_changes(const struct walk_spaces *s)
{
	return s->nr_changes;
}

/* The generation of that time; one that has no mappings yet is still to be heard of. */
static struct generation *find_generation(const struct walk_process *p, __u64 time_ns)
{
	struct generation *g = p->newest;

	while (g->older && g->since_ns > time_ns)
		g = g->older;
	return g;
}

/* The generation's mappings as they are known now. Out of memory: as they were. */
static void update_own(struct walk_spaces *s, struct generation *g)
{
	size_t nr = space__nr(g->space);
	struct walk_map *grown;

	if (g->own_is_of == s->nr_changes)
		return;
	if (nr > WALK_MAX_MAPS)
		nr = WALK_MAX_MAPS;
	grown = reallocarray(g->own, nr + 1, sizeof(*grown));
	if (!grown)
		return;
	g->own = grown;
	g->nr_own = nr;
	g->own_is_of = s->nr_changes;
	fill(g->own, nr, g->space);
}

int walk_spaces__walk(struct walk_spaces *s, pid_t pid, __u64 time_ns,
		      const struct walk_copy *copy, const void *stack, __u32 max, __u64 *ips,
		      __u32 *nr)
{
	struct walk_process *p = find_process(s, pid);
	struct walk_memory mem = *s->mem;
	struct walk_input in = {
		.mem = &mem, .copy = copy, .stack = stack, .stack_bytes = copy->bytes, .max = max,
	};
	struct generation *g;

	*nr = 0;
	if (p) {
		g = find_generation(p, time_ns);
		update_own(s, g);
		mem.maps = g->own;
		in.proc.nr = g->nr_own;
	}
	return walk_stack(&in, ips, nr);
}

void walk_spaces__stats(struct walk_spaces *s, struct walk_spaces_stats *ret)
{
	ret->nr_processes = hashmap__size(s->processes);
	ret->nr_no_room = s->nr_no_room;
	walk_files__stats(s->files, &ret->files);
}
