// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread takes orders from a queue: a process was forked, it mapped a file executable, it
 * exec'ed, it ended. Known files are kept by device and inode, with the verdict of their scan.
 *
 * Probes survive exec: a link's filter asks for the task's address space of the moment, so a new
 * program that maps a known object has its probes before its first instruction.
 */
#include <bpf/hashmap.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "follow.h"

#include "probe/probe.h"
#include "probes.h"
#include "target/process.h"
#include "track_record.h"
#include "util/clock.h"
#include "util/msg.h"
#include "window_gate.h"

struct known_file {
	__u64 dev, ino;
	struct probe_image *image;	/* NULL: no allocator in it */
	size_t index;			/* among the probes' images */
};

enum order_kind { ORDER_FORK, ORDER_MMAP, ORDER_EXEC, ORDER_EXIT };

struct order {
	struct order *next;
	enum order_kind kind;
	pid_t pid, ppid;
	__u64 time_ns;
	char path[];
};

struct note {
	struct note *next;
	struct follow_note note;
};

struct follow {
	struct probes *probes;
	struct window_gate *gate;	/* attaches in our place, when it sees fit; or NULL */
	bool system_wide;
	bool no_children;
	__u64 ready_ns;			/* all that was there at the start is attached */

	/* The thread's own, and its creator's before it runs. */
	struct known_file *files;
	size_t nr_files;
	size_t nr_images;
	struct hashmap *attached;	/* pid << 32 | image index, to nothing */

	pthread_t thread;
	bool running;
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake;
	struct order *first, **last;
	struct note *first_note, **last_note;
	bool stopping;
};

static size_t hash_key(long key, void *ctx __attribute__((unused)))
{
	return key;
}

static bool equal_key(long a, long b, void *ctx __attribute__((unused)))
{
	return a == b;
}

int follow__new(struct probes *probes, struct window_gate *gate, bool system_wide,
		struct follow **ret)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->attached = hashmap__new(hash_key, equal_key, NULL);
	if (libbpf_get_error(f->attached)) {
		free(f);
		return -ENOMEM;
	}
	f->probes = probes;
	f->gate = gate;
	f->system_wide = system_wide;
	f->last = &f->first;
	f->last_note = &f->first_note;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->wake, NULL);
	*ret = f;
	return 0;
}

void follow__set_gate(struct follow *f, struct window_gate *gate)
{
	f->gate = gate;
	hashmap__clear(f->attached);
}

void follow__free(struct follow *f)
{
	struct follow_note note;
	size_t i;

	if (!f)
		return;
	follow__stop(f);
	while (follow__next_note(f, &note))
		;
	for (i = 0; i < f->nr_files; i++)
		probe_image__free(f->files[i].image);
	free(f->files);
	hashmap__free(f->attached);
	pthread_cond_destroy(&f->wake);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void follow__ignore_children(struct follow *f)
{
	f->no_children = true;
}

static void add_note(struct follow *f, pid_t pid, __u64 gap_ns)
{
	struct note *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	n->note.pid = pid;
	n->note.gap_ns = gap_ns;
	pthread_mutex_lock(&f->lock);
	*f->last_note = n;
	f->last_note = &n->next;
	pthread_mutex_unlock(&f->lock);
}

bool follow__next_note(struct follow *f, struct follow_note *ret)
{
	struct note *n;

	pthread_mutex_lock(&f->lock);
	n = f->first_note;
	if (n) {
		f->first_note = n->next;
		if (!f->first_note)
			f->last_note = &f->first_note;
	}
	pthread_mutex_unlock(&f->lock);
	if (!n)
		return false;
	*ret = n->note;
	free(n);
	return true;
}

size_t follow__nr_images(const struct follow *f)
{
	return f->nr_images;
}

static struct known_file *add_file(struct follow *f, __u64 dev, __u64 ino)
{
	struct known_file *grown;

	grown = realloc(f->files, (f->nr_files + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	f->files = grown;
	grown += f->nr_files++;
	*grown = (struct known_file){ .dev = dev, .ino = ino };
	return grown;
}

/* Say what the user pays for a site that the kernel single-steps. */
static void report_sites(const struct probe_image *img)
{
	size_t i;

	for (i = 0; i < img->nr_sites; i++) {
		const struct probe_site *s = &img->sites[i];

		pr_debug("%s: %s+%u '%s'%s\n", img->path, s->symbol, s->delta, s->insn,
			 s->emulated ? "" : ", single-stepped");
		if (!s->emulated)
			pr_info("%s: %s has no instruction that the kernel emulates: each call costs several times as much to probe.\n",
				img->path, s->symbol);
	}
}

/* Has this file an allocator? Scanned once, whatever the number of processes that map it. */
static struct known_file *know_file(struct follow *f, __u64 dev, __u64 ino, const char *open_path,
				    const char *name)
{
	struct known_file *file;
	size_t i;

	for (i = 0; i < f->nr_files; i++) {
		if (f->files[i].dev == dev && f->files[i].ino == ino)
			return &f->files[i];
	}
	file = add_file(f, dev, ino);
	if (!file || probe_image__new(open_path, name, &file->image))
		return file;
	if (probes__add_image(f->probes, file->image, open_path, &file->index)) {
		probe_image__free(file->image);
		file->image = NULL;
		return file;
	}
	f->nr_images++;
	report_sites(file->image);
	return file;
}

static long attach_key(const struct follow *f, const struct known_file *file, pid_t pid)
{
	return (long)(f->system_wide ? 0 : pid) << 32 | file->index;
}

static bool is_attached(const struct follow *f, const struct known_file *file, pid_t pid)
{
	return hashmap__find(f->attached, attach_key(f, file, pid), NULL);
}

static int mark_attached(struct follow *f, const struct known_file *file, pid_t pid)
{
	return hashmap__set(f->attached, attach_key(f, file, pid), 0L, NULL, NULL);
}

static int attach(struct follow *f, const struct known_file *file, pid_t pid)
{
	int err;

	if (is_attached(f, file, pid))
		return 0;
	if (f->system_wide)
		pid = -1;
	err = f->gate ? window_gate__add(f->gate, pid, file->index) :
			probes__attach(f->probes, file->index, pid);
	return err ?: mark_attached(f, file, pid);
}

int follow__add_images(struct follow *f, pid_t pid, const struct process_image *images, size_t nr)
{
	struct known_file *file;
	int nr_found = 0, err;
	size_t i;

	for (i = 0; i < nr; i++) {
		file = know_file(f, images[i].dev, images[i].ino, images[i].open_path,
				 images[i].path);
		if (!file)
			return -ENOMEM;
		if (!file->image)
			continue;
		err = attach(f, file, pid);
		if (err)
			return err;
		nr_found++;
	}
	return nr_found;
}

int follow__add_process(struct follow *f, pid_t pid)
{
	struct process_image *images;
	size_t nr;
	int ret;

	ret = process__images(pid, &images, &nr);
	if (ret)
		return ret;
	ret = follow__add_images(f, pid, images, nr);
	process_images__free(images, nr);
	return ret;
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

static void queue_order(struct follow *f, struct order *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&f->lock);
	*f->last = o;
	f->last = &o->next;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
}

static bool is_file_name(const char *name)
{
	return name[0] == '/' && strcmp(name, "//anon") && strncmp(name, "/memfd:", 7) &&
	       strncmp(name, "/dev/zero", 9);
}

static void queue_mmap(struct follow *f, const struct perf_event_header *record)
{
	const struct mmap2_record *m = (const void *)record;

	if (mmap2_record__is_code(m) && is_file_name(m->filename))
		queue_order(f, new_order(ORDER_MMAP, m->pid, track_record__time(record), m->filename));
}

void follow__record(struct follow *f, const struct perf_event_header *record)
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
		queue_mmap(f, record);
		break;
	}
	queue_order(f, o);
}

static bool has_probes(const struct follow *f, pid_t pid)
{
	size_t i;

	for (i = 0; i < f->nr_files; i++) {
		if (f->files[i].image && is_attached(f, &f->files[i], pid))
			return true;
	}
	return false;
}

/* With windows there is no haste. */
static void on_gated_birth(struct follow *f, const struct order *o)
{
	size_t i;

	if (!has_probes(f, o->ppid) || window_gate__fork(f->gate, o->pid, o->ppid))
		return;
	for (i = 0; i < f->nr_files; i++) {
		if (f->files[i].image && is_attached(f, &f->files[i], o->ppid))
			mark_attached(f, &f->files[i], o->pid);
	}
}

/*
 * A child has what its parent has: its address space is a copy. One born while we attached to the
 * parent has inherited what was there by then.
 */
static void on_birth(struct follow *f, const struct order *o)
{
	bool inherited = probes__inherited(f->probes) && o->time_ns > f->ready_ns, late = false;
	size_t i;

	if (f->system_wide || f->no_children)
		return;
	if (f->gate) {
		on_gated_birth(f, o);
		return;
	}
	for (i = 0; i < f->nr_files; i++) {
		if (!f->files[i].image || !is_attached(f, &f->files[i], o->ppid))
			continue;
		if (inherited) {
			mark_attached(f, &f->files[i], o->pid);
			probes__anchor(f->probes, f->files[i].index, o->pid);
			continue;
		}
		late = true;
		if (attach(f, &f->files[i], o->pid))
			break;
	}
	if (late)
		add_note(f, o->pid, clock__now_ns() - o->time_ns);
}

static void on_mmap(struct follow *f, const struct order *o)
{
	struct known_file *file;
	struct stat st;
	char *path;

	if (asprintf(&path, "/proc/%d/root%s", o->pid, o->path) < 0)
		return;
	if (!stat(path, &st) && S_ISREG(st.st_mode)) {
		file = know_file(f, st.st_dev, st.st_ino, path, o->path);
		if (file && file->image && !is_attached(f, file, o->pid) &&
		    !attach(f, file, o->pid) && !f->gate)
			add_note(f, o->pid, clock__now_ns() - o->time_ns);
	}
	free(path);
}

static void on_end(struct follow *f, const struct order *o)
{
	size_t i;

	if (!f->system_wide) {
		for (i = 0; i < f->nr_files; i++)
			hashmap__delete(f->attached, attach_key(f, &f->files[i], o->pid),
					NULL, NULL);
		if (!f->gate)
			probes__forget(f->probes, o->pid);
	}
	probes__drop_blocks(f->probes, o->pid, o->time_ns);
	if (f->gate) {
		window_gate__remove(f->gate, o->pid);
		return;
	}
	add_note(f, o->pid, 0);
}

static void carry_out(struct follow *f, const struct order *o)
{
	switch (o->kind) {
	case ORDER_FORK:
		on_birth(f, o);
		break;
	case ORDER_MMAP:
		on_mmap(f, o);
		break;
	case ORDER_EXEC:
		probes__drop_blocks(f->probes, o->pid, o->time_ns);
		break;
	case ORDER_EXIT:
		on_end(f, o);
		break;
	}
}

static struct order *next_order(struct follow *f)
{
	struct order *o;

	pthread_mutex_lock(&f->lock);
	while (!f->first && !f->stopping)
		pthread_cond_wait(&f->wake, &f->lock);
	o = f->first;
	if (o) {
		f->first = o->next;
		if (!f->first)
			f->last = &f->first;
	}
	pthread_mutex_unlock(&f->lock);
	return o;
}

static void *run(void *arg)
{
	struct follow *f = arg;
	struct order *o;

	while ((o = next_order(f)) != NULL) {
		carry_out(f, o);
		free(o);
	}
	return NULL;
}

int follow__start(struct follow *f)
{
	int err;

	f->ready_ns = clock__now_ns();
	err = pthread_create(&f->thread, NULL, run, f);

	if (err) {
		pr_err("Cannot start a thread: %s\n", strerror(err));
		return -err;
	}
	f->running = true;
	return 0;
}

void follow__stop(struct follow *f)
{
	if (!f->running)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	f->running = false;
}
