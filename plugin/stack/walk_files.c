// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/hashmap.h>
#include <bpf/libbpf.h>

#include "cfi.h"
#include "locate.h"
#include "util/clock.h"
#include "util/msg.h"
#include "vdso.h"
#include "walk_files.h"

#define MAX_SEGMENTS	16
#define KEY_BYTES	64

struct segment {
	__u64 offset, vaddr, bytes;
};

/*
 * @kind is the last to be written, with release: who sees it see all else.
 */
struct walk_object {
	struct walk_object *next;	/* in the queue, then in all */
	struct walk_object *next_queued;
	__u32 kind;			/* enum walk_map_kind */
	int fd;
	size_t nr_uses;
	char *path;
	struct walk_file file;
	struct segment segments[MAX_SEGMENTS];
	size_t nr_segments;
};

struct walk_files {
	struct hashmap *by_key;		/* char * to object */
	struct walk_object *all;
	struct walk_object *anonymous, *none;
	pthread_t thread;
	bool running;

	pthread_mutex_t tables_lock;	/* may be held for milliseconds */
	struct walk_tables *tables;

	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake, idle;
	struct walk_object *queue;
	bool changed, busy, stopping;
	struct walk_files_stats stats;
};

static size_t hash_key(long key, void *ctx __attribute__((unused)))
{
	return str_hash((const char *)key);
}

static bool equal_key(long a, long b, void *ctx __attribute__((unused)))
{
	return !strcmp((const char *)a, (const char *)b);
}

static struct walk_object *new_object(struct walk_files *f, const char *path, __u32 kind)
{
	struct walk_object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->fd = -1;
	o->kind = kind;
	o->path = strdup(path);
	if (!o->path) {
		free(o);
		return NULL;
	}
	o->next = f->all;
	f->all = o;
	return o;
}

/* Executable PT_LOADs: where in the file an address of the process is. */
static int read_segments(struct walk_object *o)
{
	Elf64_Ehdr head;
	Elf64_Phdr ph;
	size_t i;

	if (pread(o->fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_phentsize != sizeof(ph))
		return -ENOEXEC;
	for (i = 0; i < head.e_phnum && o->nr_segments < MAX_SEGMENTS; i++) {
		if (pread(o->fd, &ph, sizeof(ph), head.e_phoff + i * sizeof(ph)) != sizeof(ph))
			return -ENOEXEC;
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			o->segments[o->nr_segments++] = (struct segment){
				.offset = ph.p_offset, .vaddr = ph.p_vaddr, .bytes = ph.p_filesz,
			};
	}
	return o->nr_segments ? 0 : -ENOEXEC;
}

static void count_result(struct walk_files *f, const struct walk_object *o, int err)
{
	if (!err)
		f->stats.nr_files++;
	else if (err == -ENODATA || err == -ENOEXEC)
		f->stats.nr_without++;
	else if (err == -ENOSPC || err == -E2BIG)
		f->stats.nr_too_many++;
	else
		f->stats.nr_unreadable++;
	if (err && err != -ENODATA && err != -ENOEXEC)
		pr_debug("%s: no CFI table: %s\n", o->path, strerror(-err));
}

/*
 * Code of a file without CFI keeps frame pointers, perhaps; code that is no ELF file was made by a
 * compiler at run time, which mostly does.
 */
static void build(struct walk_files *f, struct walk_object *o)
{
	struct cfi_table *cfi = NULL;
	__u64 start_ns = clock__thread_ns();
	__u32 kind = WALK_MAP_TABLE;
	int err;

	err = read_segments(o) ?: cfi_table__new(o->fd, &cfi);
	close(o->fd);
	o->fd = -1;
	if (err == -ENODATA || err == -ENOEXEC)
		kind = WALK_MAP_FP;
	pthread_mutex_lock(&f->tables_lock);
	if (!err)
		err = walk_tables__add(f->tables, cfi, &o->file);
	pthread_mutex_unlock(&f->tables_lock);
	pthread_mutex_lock(&f->lock);
	count_result(f, o, err);
	f->stats.build_ns += clock__thread_ns() - start_ns;
	f->changed = true;
	__atomic_store_n(&o->kind, kind, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&f->lock);
	cfi_table__free(cfi);
}

/* The one that most mappings show. */
static struct walk_object *take_queued(struct walk_files *f)
{
	struct walk_object **at, **best = &f->queue, *o;

	for (at = &f->queue; *at; at = &(*at)->next_queued) {
		if ((*at)->nr_uses > (*best)->nr_uses)
			best = at;
	}
	o = *best;
	if (o)
		*best = o->next_queued;
	return o;
}

static void *run(void *arg)
{
	struct walk_files *f = arg;
	struct walk_object *o;

	pthread_mutex_lock(&f->lock);
	while (!f->stopping) {
		o = take_queued(f);
		f->busy = o != NULL;
		if (!o) {
			pthread_cond_broadcast(&f->idle);
			pthread_cond_wait(&f->wake, &f->lock);
			continue;
		}
		pthread_mutex_unlock(&f->lock);
		build(f, o);
		pthread_mutex_lock(&f->lock);
	}
	f->busy = false;
	pthread_cond_broadcast(&f->idle);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

int walk_files__new(const struct walk_memory *mem, struct walk_files **ret)
{
	struct walk_files *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	if (!f)
		return err;
	pthread_mutex_init(&f->tables_lock, NULL);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->wake, NULL);
	pthread_cond_init(&f->idle, NULL);
	f->by_key = hashmap__new(hash_key, equal_key, NULL);
	if (libbpf_get_error(f->by_key)) {
		f->by_key = NULL;
		goto err_free;
	}
	f->anonymous = new_object(f, "//anon", WALK_MAP_FP);
	f->none = new_object(f, "", WALK_MAP_TABLE);
	if (!f->anonymous || !f->none)
		goto err_free;
	err = walk_tables__new(mem, &f->tables);
	if (err)
		goto err_free;
	err = -pthread_create(&f->thread, NULL, run, f);
	if (err)
		goto err_free;
	f->running = true;
	*ret = f;
	return 0;

err_free:
	walk_files__free(f);
	return err;
}

static void stop_thread(struct walk_files *f)
{
	if (!f->running)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
}

void walk_files__free(struct walk_files *f)
{
	struct hashmap_entry *entry;
	struct walk_object *o;
	size_t bucket;

	if (!f)
		return;
	stop_thread(f);
	while ((o = f->all) != NULL) {
		f->all = o->next;
		if (o->fd >= 0)
			close(o->fd);
		free(o->path);
		free(o);
	}
	if (f->by_key) {
		hashmap__for_each_entry(f->by_key, entry, bucket)
			free((char *)entry->pkey);
		hashmap__free(f->by_key);
	}
	walk_tables__free(f->tables);
	pthread_cond_destroy(&f->wake);
	pthread_cond_destroy(&f->idle);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->tables_lock);
	free(f);
}

static bool is_file(const char *path)
{
	return path[0] == '/' && strcmp(path, "//anon") && strncmp(path, "/dev/zero", 9);
}

/* False when there is nothing to know it by. */
static bool make_key(const struct object_id *id, char *key)
{
	int i;

	if (id->build_id.bytes > 0 && id->build_id.bytes <= BUILD_ID_MAX_BYTES) {
		for (i = 0; i < id->build_id.bytes; i++)
			sprintf(key + 2 * i, "%02x", id->build_id.bits[i]);
		return true;
	}
	snprintf(key, KEY_BYTES, "%x:%x:%llx", id->maj, id->min, id->ino);
	return id->ino != 0;
}

static struct walk_object *find(struct walk_files *f, const char *key)
{
	struct walk_object *o = NULL;

	hashmap__find(f->by_key, key, &o);
	return o;
}

static void remember(struct walk_files *f, const char *key, struct walk_object *o)
{
	char *copy = strdup(key);

	if (copy && hashmap__add(f->by_key, copy, o))
		free(copy);
}

static int open_object(const struct object_id *id)
{
	char *file = NULL;
	int fd;

	if (!strcmp(id->path, "[vdso]"))
		fd = vdso__open(&id->build_id, &file);
	else
		fd = locate__object(LOCATE_HERE, id, &file);
	free(file);
	return fd;
}

static void enqueue(struct walk_files *f, struct walk_object *o)
{
	pthread_mutex_lock(&f->lock);
	o->next_queued = f->queue;
	f->queue = o;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
}

/* Opened under another name it may be one that we have. */
static struct walk_object *add_file(struct walk_files *f, const struct object_id *id, int fd)
{
	struct object_id real = *id;
	struct walk_object *o;
	char key[KEY_BYTES];

	if (!real.build_id.bytes)
		real.build_id = locate__build_id(fd);
	if (make_key(&real, key)) {
		o = find(f, key);
		if (o) {
			close(fd);
			return o;
		}
	}
	o = new_object(f, id->path, WALK_MAP_PENDING);
	if (!o) {
		close(fd);
		return NULL;
	}
	o->fd = fd;
	if (make_key(&real, key))
		remember(f, key, o);
	enqueue(f, o);
	return o;
}

struct walk_object *walk_files__get(struct walk_files *f, const struct object_id *id)
{
	struct walk_object *o = NULL;
	char key[KEY_BYTES];
	bool known;
	int fd;

	if (!is_file(id->path) && strcmp(id->path, "[vdso]"))
		return f->anonymous;
	known = make_key(id, key);
	if (known)
		o = find(f, key);
	if (!o) {
		fd = open_object(id);
		if (fd >= 0)
			o = add_file(f, id, fd);
		else
			o = f->none;
		if (known && o && !find(f, key) && fd >= 0)
			remember(f, key, o);
	}
	if (o)
		__atomic_add_fetch(&o->nr_uses, 1, __ATOMIC_RELAXED);
	return o;
}

bool walk_files__changed(struct walk_files *f)
{
	bool changed;

	pthread_mutex_lock(&f->lock);
	changed = f->changed;
	f->changed = false;
	pthread_mutex_unlock(&f->lock);
	return changed;
}

void walk_files__wait(struct walk_files *f, int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_mutex_lock(&f->lock);
	while (f->queue || f->busy) {
		if (pthread_cond_timedwait(&f->idle, &f->lock, &until))
			break;
	}
	pthread_mutex_unlock(&f->lock);
}

static __u64 bias_of(const struct walk_object *o, __u64 start, __u64 pgoff)
{
	const struct segment *s;
	size_t i;

	/* A mapping begins at the page that holds the segment's first byte. */
	for (i = 0; i < o->nr_segments; i++) {
		s = &o->segments[i];
		if (pgoff + 4096 > s->offset && pgoff < s->offset + s->bytes)
			return start - (s->vaddr - s->offset + pgoff);
	}
	return start - pgoff;
}

void walk_object__fill(const struct walk_object *o, __u64 pgoff, struct walk_map *map)
{
	map->kind = __atomic_load_n(&o->kind, __ATOMIC_ACQUIRE);
	map->bias = 0;
	map->first_page = map->page_base = map->nr_pages = 0;
	if (map->kind != WALK_MAP_TABLE)
		return;
	map->bias = bias_of(o, map->start, pgoff);
	map->first_page = o->file.first_page;
	map->page_base = o->file.page_base;
	map->nr_pages = o->file.nr_pages;
}

void walk_files__stats(struct walk_files *f, struct walk_files_stats *ret)
{
	pthread_mutex_lock(&f->lock);
	*ret = f->stats;
	pthread_mutex_unlock(&f->lock);
	pthread_mutex_lock(&f->tables_lock);
	walk_tables__size(f->tables, &ret->tables);
	pthread_mutex_unlock(&f->tables_lock);
}
