// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread takes orders from a queue (orders.h). Known files are kept by device and inode, with the verdict of their scan.
 *
 * Probes survive exec: a link's filter asks for the task's address space of the moment, so a new
 * program that maps a known object has its probes before its first instruction.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "follow.h"

#include "hooked.h"
#include "orders.h"
#include "probe/probe.h"
#include "probes.h"
#include "target/process.h"
#include "util/clock.h"
#include "util/long_map.h"
#include "util/msg.h"
#include "window_gate.h"

struct known_file {
	__u64 dev, ino;
	struct probe_image *image;	/* NULL: no allocator in it */
	size_t index;			/* among the probes' images */
};

struct note {
	struct note *next;
	struct follow_note note;
};

struct follow {
	struct probes *probes;
	struct window_gate *gate;	/* attaches in our place, when it sees fit; or NULL */
	bool everywhere;		/* probes are in each process that maps a file */
	bool no_children;
	__u64 ready_ns;			/* all that was there at the start is attached */

	/* The thread's own, and its creator's before it runs. */
	struct known_file *files;
	size_t nr_files;
	size_t nr_images, nr_refused;
	int (*scan)(const char *path, const char *name, struct probe_image **ret);
	struct hashmap *attached;	/* pid << 32 | image index, to nothing */
	struct hooked *hooked;		/* with PROBE_PRELOAD only */

	struct orders *orders;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;		/* of the notes */
	struct note *first_note, **last_note;
};

int follow__new(struct probes *probes, struct window_gate *gate, bool system_wide,
		struct follow **ret)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->attached = long_map__new();
	if (!f->attached) {
		free(f);
		return -ENOMEM;
	}
	f->probes = probes;
	f->scan = probe_image__new;
	f->everywhere = system_wide || probes__everywhere(probes);
	f->gate = gate;
	f->last_note = &f->first_note;
	pthread_mutex_init(&f->lock, NULL);
	if (orders__new(&f->orders) ||
	    (probes__method(probes) == PROBE_PRELOAD && hooked__new(&f->hooked))) {
		follow__free(f);
		return -ENOMEM;
	}
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
	orders__free(f->orders);
	free(f->files);
	hashmap__free(f->attached);
	hooked__free(f->hooked);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void follow__set_scan(struct follow *f, int (*scan)(const char *path, const char *name,
						     struct probe_image **ret))
{
	f->scan = scan;
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

size_t follow__nr_unhooked(const struct follow *f)
{
	return f->hooked ? hooked__nr_without(f->hooked) + probes__nr_shadowed(f->probes) : 0;
}

size_t follow__nr_images(const struct follow *f)
{
	return f->nr_images;
}

size_t follow__nr_refused(const struct follow *f)
{
	return f->nr_refused;
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

static bool is_probed(const struct follow *f, const struct known_file *file)
{
	return file->image && probes__plants(f->probes, file->image);
}

static struct known_file *find_file(const struct follow *f, __u64 dev, __u64 ino)
{
	size_t i;

	for (i = 0; i < f->nr_files; i++) {
		if (f->files[i].dev == dev && f->files[i].ino == ino)
			return &f->files[i];
	}
	return NULL;
}

static struct known_file *find_name(const struct follow *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->nr_files; i++) {
		if (f->files[i].image && !strcmp(f->files[i].image->path, name))
			return &f->files[i];
	}
	return NULL;
}

/* Has this file an allocator? Scanned once, whatever the number of processes that map it. */
static struct known_file *know_file(struct follow *f, __u64 dev, __u64 ino, const char *open_path,
				    const char *name)
{
	struct known_file *file = find_file(f, dev, ino);
	int err;

	if (file)
		return file;
	file = add_file(f, dev, ino);
	err = file ? f->scan(open_path, name, &file->image) : -ENOMEM;
	f->nr_refused += err == -ENODATA;
	if (err)
		return file;
	if (probes__add_image(f->probes, file->image, open_path, &file->index)) {
		probe_image__free(file->image);
		file->image = NULL;
		return file;
	}
	f->nr_images++;
	if (is_probed(f, file))
		report_sites(file->image);
	return file;
}

static long attach_key(const struct follow *f, const struct known_file *file, pid_t pid)
{
	return (long)(f->everywhere ? 0 : pid) << 32 | file->index;
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
	if (f->everywhere)
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
		if (!is_probed(f, file))
			continue;
		err = attach(f, file, pid);
		if (err)
			return err;
		if (f->hooked)
			hooked__load(f->hooked, pid);
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

void follow__flush(struct follow *f)
{
	orders__flush(f->orders);
}

void follow__record(struct follow *f, const struct perf_event_header *record)
{
	orders__record(f->orders, record);
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

	if (f->hooked)
		hooked__fork(f->hooked, o->ppid, o->pid);
	if (f->everywhere || f->no_children)
		return;
	if (f->gate) {
		on_gated_birth(f, o);
		return;
	}
	for (i = 0; i < f->nr_files; i++) {
		if (!is_probed(f, &f->files[i]) || !is_attached(f, &f->files[i], o->ppid))
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

static void note_hooked(struct follow *f, const struct known_file *file, pid_t pid)
{
	if (!f->hooked || !file->image)
		return;
	if (is_probed(f, file))
		hooked__load(f->hooked, pid);
	else
		hooked__allocator(f->hooked, pid);
}

/* By the process's own view of its files; of one that is gone it is only counted what it was. */
static struct known_file *know_mapped(struct follow *f, const struct order *o)
{
	struct known_file *file = NULL;
	struct stat st;
	char *path;

	if (asprintf(&path, "/proc/%d/root%s", o->pid, o->path) < 0)
		return NULL;
	if (stat(path, &st))
		file = find_name(f, o->path);
	else if (S_ISREG(st.st_mode))
		file = know_file(f, st.st_dev, st.st_ino, path, o->path);
	free(path);
	return file;
}

static void on_mmap(struct follow *f, const struct order *o)
{
	struct known_file *file = know_mapped(f, o);

	if (!file)
		return;
	note_hooked(f, file, o->pid);
	if (is_probed(f, file) && !is_attached(f, file, o->pid) && !attach(f, file, o->pid) &&
	    !f->gate)
		add_note(f, o->pid, clock__now_ns() - o->time_ns);
}

static void on_end(struct follow *f, const struct order *o)
{
	size_t i;

	if (f->hooked)
		hooked__reset(f->hooked, o->pid);
	if (!f->everywhere) {
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
		if (f->hooked)
			hooked__reset(f->hooked, o->pid);
		probes__drop_blocks(f->probes, o->pid, o->time_ns);
		break;
	case ORDER_EXIT:
		on_end(f, o);
		break;
	}
}

static void *run(void *arg)
{
	struct follow *f = arg;
	struct order *o;

	while ((o = orders__next(f->orders)) != NULL) {
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
	orders__stop(f->orders);
	pthread_join(f->thread, NULL);
	f->running = false;
}
