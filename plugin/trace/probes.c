// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "churn.skel.h"
#include "hook_site.h"
#include "probe/probe.h"
#include "probes_priv.h"
#include "target/process.h"
#include "util/files.h"
#include "util/msg.h"

#define MAX_CLOSING	16	/* attachments of one process, at the same time */

int probes__new(const struct probes_opts *opts, struct probes **ret)
{
	struct probes *p;
	int err;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	p->guard_fd = -1;
	p->nr_cpus = libbpf_num_possible_cpus();
	if (p->nr_cpus < 0) {
		err = p->nr_cpus;
		pr_err("Cannot tell the number of CPUs: %s\n", strerror(-err));
		goto err_free;
	}
	err = load_programs(opts, p->nr_cpus, &p->bpf);
	if (err)
		goto err_free;
	p->everywhere = p->bpf.method == PROBE_PRELOAD && opts->session;
	if (p->bpf.method == PROBE_EVENT) {
		trace_events__sweep();
		p->guard_fd = trace_events__guard();
	}
	*ret = p;
	return 0;

err_free:
	probes__free(p);
	return err;
}

void probes__free(struct probes *p)
{
	size_t i;

	if (!p)
		return;
	probes__detach(p);
	for (i = 0; i < p->nr_images; i++) {
		close(p->images[i].fd);
		if (p->images[i].trial_fd >= 0)
			close(p->images[i].trial_fd);
	}
	if (p->guard_fd >= 0)
		close(p->guard_fd);
	churn_bpf__destroy(p->bpf.skel);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

enum probe_method probes__method(const struct probes *p)
{
	return p->bpf.method;
}

const char *probe_method__name(enum probe_method method)
{
	static const char *const names[] = {
		[PROBE_AUTO] = "auto",
		[PROBE_SESSION] = "uprobe session",
		[PROBE_MULTI] = "uprobe_multi",
		[PROBE_EVENT] = "uprobe trace events",
		[PROBE_PRELOAD] = "preload",
	};

	return names[method];
}

const char *probes__method_name(const struct probes *p)
{
	return probe_method__name(p->bpf.method);
}

bool probes__walks(const struct probes *p)
{
	return p->bpf.walks;
}

struct churn_bpf *probes__bpf(struct probes *p)
{
	return p->bpf.skel;
}

bool probes__inherited(const struct probes *p)
{
	return p->bpf.method == PROBE_EVENT;
}

bool probes__everywhere(const struct probes *p)
{
	return p->everywhere;
}

bool probes__plants(const struct probes *p, const struct probe_image *image)
{
	return (p->bpf.method == PROBE_PRELOAD) == (image->counter_offset != 0);
}

int probes__set_output(struct probes *p, int cpu, int alloc_fd, int free_fd)
{
	return bpf_map__update_elem(p->bpf.skel->maps.alloc_events, &cpu, sizeof(cpu), &alloc_fd,
				    sizeof(alloc_fd), BPF_ANY) ?:
	       bpf_map__update_elem(p->bpf.skel->maps.free_events, &cpu, sizeof(cpu), &free_fd,
				    sizeof(free_fd), BPF_ANY);
}

int probes__add_threads(struct probes *p, const pid_t *tids, size_t nr_tids)
{
	__u8 yes = 1;
	size_t i;
	int err = 0;

	for (i = 0; i < nr_tids && !err; i++)
		err = bpf_map__update_elem(p->bpf.skel->maps.tid_selected, &tids[i], sizeof(tids[i]),
					   &yes, sizeof(yes), BPF_ANY);
	return err;
}

static int write_image_cfg(struct probes *p, __u32 index, const struct probe_image *image)
{
	struct churn_image_cfg cfg = { .nr_internal_free = image->nr_internal_free };
	size_t i;

	_Static_assert(CHURN_MAX_INTERNAL == PROBE_MAX_INTERNAL, "one limit");
	for (i = 0; i < image->nr_internal_free; i++)
		cfg.internal_free[i] = image->internal_free[i];
	return bpf_map__update_elem(p->bpf.skel->maps.images, &index, sizeof(index), &cfg,
				    sizeof(cfg), BPF_ANY);
}

static int hold_file(struct image *img, const char *open_path)
{
	img->trial_fd = -1;
	img->fd = open(open_path, O_RDONLY | O_CLOEXEC);
	if (img->fd < 0)
		return -errno;
	snprintf(img->path, sizeof(img->path), "/proc/self/fd/%d", img->fd);
	return 0;
}

struct site_lists {
	unsigned long offsets[CHURN_MAX_SITES];
	__u64 cookies[CHURN_MAX_SITES];
	unsigned long counters[CHURN_MAX_SITES];
	struct attach_sites sites;
};

static __u64 cookie_of(const struct image *img, size_t index, size_t i)
{
	const struct probe_site *site = &img->probe->sites[i];
	__u64 cookie = CHURN_COOKIE(site->fn, img->first_site + i, index);

	if (img->probe->may_forward)
		cookie |= CHURN_COOKIE_WRAPS;
	if (site->size_is_int)
		cookie |= CHURN_COOKIE_SIZE_IS_INT;
	return cookie | CHURN_COOKIE_SIZE_ARG(site->size_arg);
}

static void list_sites(struct probes *p, size_t index, struct site_lists *lists, bool returns_only)
{
	const struct image *img = &p->images[index];
	size_t i, n = 0;

	for (i = 0; i < img->probe->nr_sites; i++) {
		__u64 cookie = cookie_of(img, index, i);

		if (returns_only && !attach_has_return(cookie))
			continue;
		lists->offsets[n] = img->probe->sites[i].offset;
		lists->counters[n] = img->probe->counter_offset;
		lists->cookies[n++] = cookie;
	}
	lists->sites.path = img->path;
	lists->sites.offsets = lists->offsets;
	lists->sites.cookies = lists->cookies;
	lists->sites.nr = n;
	lists->sites.counters = img->probe->counter_offset ? lists->counters : NULL;
}

static int attach_hook(struct probes *p, size_t index, struct site_lists *lists, pid_t pid, int *fds)
{
	int fd;

	if (!p->images[index].fast_hook)
		lists->sites.nr = 1;
	fd = attach_multi(bpf_program__fd(p->bpf.skel->progs.churn_hook), TRACE_UPROBE_MULTI,
			  &lists->sites, pid, false);
	fds[0] = fd;
	return fd < 0 ? fd : 1;
}

static int try_fast_hook(struct probes *p, size_t index)
{
	struct site_lists *lists = calloc(1, sizeof(*lists));
	struct image *img = &p->images[index];

	if (!lists)
		return -ENOMEM;
	list_sites(p, index, lists, false);
	img->fast_hook = hook_site__fast_is_faster(bpf_program__fd(p->bpf.skel->progs.churn_hook),
						   &lists->sites, &img->trial_fd);
	free(lists);
	return 0;
}

int probes__add_image(struct probes *p, const struct probe_image *image, const char *open_path,
		      size_t *index)
{
	int err = 0;

	pthread_mutex_lock(&p->lock);
	if (p->nr_images == CHURN_MAX_IMAGES || p->nr_sites + image->nr_sites > CHURN_MAX_SITES) {
		pr_warning("%s: more allocator objects than can be probed at a time, left out\n",
			   image->path);
		err = -ENOSPC;
		goto out;
	}
	err = hold_file(&p->images[p->nr_images], open_path);
	if (err)
		goto out;
	err = write_image_cfg(p, p->nr_images, image) ?: probes__write_costs(p, p->nr_sites, image);
	if (err) {
		close(p->images[p->nr_images].fd);
		goto out;
	}
	p->images[p->nr_images].probe = image;
	p->images[p->nr_images].first_site = p->nr_sites;
	if (p->bpf.method == PROBE_PRELOAD && image->counter_offset)
		err = try_fast_hook(p, p->nr_images);
	if (err) {
		close(p->images[p->nr_images].fd);
		goto out;
	}
	p->nr_sites += image->nr_sites;
	*index = p->nr_images++;
out:
	pthread_mutex_unlock(&p->lock);
	return err;
}

static int attach_session(struct probes *p, const struct attach_sites *sites, pid_t pid, int *fds)
{
	int fd = attach_multi(bpf_program__fd(p->bpf.skel->progs.churn_session), TRACE_UPROBE_SESSION,
			      sites, pid, false);

	fds[0] = fd;
	return fd < 0 ? fd : 1;
}

static int attach_return(struct probes *p, const struct attach_sites *sites, pid_t pid, int *fds)
{
	fds[1] = attach_multi(bpf_program__fd(p->bpf.skel->progs.churn_multi_ret), TRACE_UPROBE_MULTI,
			      sites, pid, true);
	return fds[1] < 0 ? fds[1] : 0;
}

static int attach_entry(struct probes *p, const struct attach_sites *sites, pid_t pid, int *fds)
{
	fds[0] = attach_multi(bpf_program__fd(p->bpf.skel->progs.churn_multi), TRACE_UPROBE_MULTI,
			      sites, pid, false);
	if (fds[0] >= 0)
		return 2;
	close(fds[1]);
	return fds[0];
}

/*
 * Returns are attached first and go last: an entry without its return would leave a call in flight.
 */
static int attach_entry_and_return(struct probes *p, size_t index, struct site_lists *lists,
				   pid_t pid, int *fds)
{
	int err;

	list_sites(p, index, lists, true);
	err = attach_return(p, &lists->sites, pid, fds);
	if (err)
		return err;
	list_sites(p, index, lists, false);
	return attach_entry(p, &lists->sites, pid, fds);
}

static int define_events(struct probes *p, size_t index, struct site_lists *lists)
{
	char group[16];

	snprintf(group, sizeof(group), "%zu", index);
	return trace_events__new(group, &lists->sites,
				 bpf_program__fd(p->bpf.skel->progs.churn_event),
				 bpf_program__fd(p->bpf.skel->progs.churn_event_ret),
				 &p->images[index].events);
}

/* One perf event a thread: a fork inherits from the thread that forks. Anchors: the leader only. */
static int open_events(struct image *img, const pid_t *tids, size_t nr_tids, bool inherit, int *fds)
{
	int n, nr = 0;
	size_t i;

	for (i = 0; i < nr_tids; i++) {
		n = trace_events__open(img->events, tids[i], inherit, fds + nr);
		if (n >= 0) {
			nr += n;
		} else if (n != -ESRCH) {
			while (nr)
				close(fds[--nr]);
			return n;
		}
	}
	return nr ?: -ESRCH;
}

static int attach_events(struct probes *p, size_t index, struct site_lists *lists, pid_t pid,
			 bool inherit, int **fds)
{
	struct image *img = &p->images[index];
	pid_t *tids = &pid;
	size_t nr_tids = 1;
	int err = 0;

	if (!img->events)
		err = define_events(p, index, lists);
	if (!err && pid != -1 && inherit)
		err = process__threads(pid, &tids, &nr_tids);
	if (err)
		return err;
	*fds = realloc(*fds, nr_tids * 2 * img->probe->nr_sites * sizeof(**fds));
	err = *fds ? open_events(img, tids, nr_tids, inherit, *fds) : -ENOMEM;
	if (tids != &pid)
		free(tids);
	return err;
}

static int plant(struct probes *p, size_t index, pid_t pid, bool inherit, int **fds)
{
	struct site_lists *lists = calloc(1, sizeof(*lists));
	pid_t link_pid = pid == -1 ? 0 : pid;
	int nr;

	*fds = calloc(2, sizeof(**fds));
	if (!lists || !*fds) {
		free(lists);
		return -ENOMEM;
	}
	list_sites(p, index, lists, false);
	if (p->bpf.method == PROBE_PRELOAD)
		nr = attach_hook(p, index, lists, link_pid, *fds);
	else if (p->bpf.method == PROBE_SESSION)
		nr = attach_session(p, &lists->sites, link_pid, *fds);
	else if (p->bpf.method == PROBE_MULTI)
		nr = attach_entry_and_return(p, index, lists, link_pid, *fds);
	else
		nr = attach_events(p, index, lists, pid, inherit, fds);
	free(lists);
	return nr;
}

/* A process that never allocates has totals, too: zeros, which is something else than unknown. */
static void begin_totals(struct probes *p, pid_t pid)
{
	struct churn_totals *zeros = calloc(p->nr_cpus, sizeof(*zeros));
	__u32 key = pid;

	if (zeros)
		bpf_map__update_elem(p->bpf.skel->maps.totals, &key, sizeof(key), zeros,
				     p->nr_cpus * sizeof(*zeros), BPF_NOEXIST);
	free(zeros);
}

/* Takes the descriptors. */
static int keep(struct probes *p, pid_t pid, bool inherit, int *fds, int nr)
{
	struct attachment *grown;

	grown = realloc(p->attachments, (p->nr_attachments + 1) * sizeof(*grown));
	if (!grown) {
		while (nr)
			close(fds[--nr]);
		free(fds);
		return -ENOMEM;
	}
	p->attachments = grown;
	grown[p->nr_attachments++] = (struct attachment){
		.pid = pid, .inherited = inherit, .fds = fds, .nr_fds = nr,
	};
	return 0;
}

static int attach(struct probes *p, size_t index, pid_t pid, bool inherit)
{
	int *fds = NULL, nr;

	pthread_mutex_lock(&p->lock);
	nr = plant(p, index, pid, inherit, &fds);
	if (nr < 0)
		free(fds);
	else
		nr = keep(p, pid, inherit, fds, nr);
	pthread_mutex_unlock(&p->lock);
	if (!nr)
		return 0;
	if (nr == -EMFILE)
		files__say_too_many();
	else if (nr != -ESRCH)
		pr_err("Cannot attach probes to %s%s: %s\n", p->images[index].probe->path,
		       nr == -EACCES || nr == -EPERM ? " (CAP_PERFMON and CAP_BPF are needed)" : "",
		       strerror(-nr));
	return nr;
}

int probes__attach(struct probes *p, size_t index, pid_t pid)
{
	bool inherited = probes__inherited(p) && pid != -1;
	int err = 0;

	if (pid != -1)
		begin_totals(p, pid);
	if (inherited)
		err = attach(p, index, pid, false);
	return err ?: attach(p, index, pid, inherited);
}

static int plant_own(struct probes *p, const struct attach_sites *sites, pid_t pid, int *fds)
{
	int err;

	if (p->bpf.method == PROBE_SESSION)
		return attach_session(p, sites, pid, fds);
	if (p->bpf.method != PROBE_MULTI)
		return -EOPNOTSUPP;
	err = attach_return(p, sites, pid, fds);
	return err ?: attach_entry(p, sites, pid, fds);
}

int probes__attach_own(struct probes *p, const unsigned long *offsets, const __u64 *cookies,
		       size_t nr_sites, pid_t pid)
{
	const struct attach_sites sites = {
		.path = "/proc/self/exe", .offsets = offsets, .cookies = cookies, .nr = nr_sites,
	};
	int *fds = calloc(2, sizeof(*fds)), nr;

	if (!fds)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	nr = plant_own(p, &sites, pid, fds);
	if (nr < 0)
		free(fds);
	else
		nr = keep(p, pid, false, fds, nr);
	pthread_mutex_unlock(&p->lock);
	return nr;
}

int probes__anchor(struct probes *p, size_t index, pid_t pid)
{
	return attach(p, index, pid, false);
}

static void attachment__close(struct attachment *a)
{
	int i;

	for (i = 0; i < a->nr_fds; i++)
		close(a->fds[i]);
	free(a->fds);
}

static bool take_attachment(struct probes *p, pid_t pid, struct attachment *ret)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&p->lock);
	for (i = 0; i < p->nr_attachments && !found; i++) {
		found = p->attachments[i].pid == pid && !p->attachments[i].inherited;
		if (found) {
			*ret = p->attachments[i];
			p->attachments[i] = p->attachments[--p->nr_attachments];
		}
	}
	pthread_mutex_unlock(&p->lock);
	return found;
}

static void *close_thread(void *arg)
{
	attachment__close(arg);
	free(arg);
	return NULL;
}

/*
 * Breakpoints go at once, and then closing waits for grace periods: not under the lock, and all at
 * the same time, so that no breakpoint waits for another one's.
 */
void probes__forget(struct probes *p, pid_t pid)
{
	pthread_t threads[MAX_CLOSING];
	struct attachment one, *gone;
	size_t nr = 0;

	while (take_attachment(p, pid, &one)) {
		gone = nr < MAX_CLOSING ? malloc(sizeof(*gone)) : NULL;
		if (gone)
			*gone = one;
		if (gone && !pthread_create(&threads[nr], NULL, close_thread, gone)) {
			nr++;
			continue;
		}
		free(gone);
		attachment__close(&one);
	}
	while (nr)
		pthread_join(threads[--nr], NULL);
}

void probes__ungate(struct probes *p)
{
	*(volatile bool *)&p->bpf.skel->bss->gated = false;
}

void probes__start(struct probes *p)
{
	*(volatile bool *)&p->bpf.skel->bss->recording = true;
}

void probes__stop(struct probes *p)
{
	*(volatile bool *)&p->bpf.skel->bss->recording = false;
}

void probes__detach(struct probes *p)
{
	size_t i;

	pthread_mutex_lock(&p->lock);
	for (i = 0; i < p->nr_attachments; i++)
		attachment__close(&p->attachments[i]);
	free(p->attachments);
	p->attachments = NULL;
	p->nr_attachments = 0;
	for (i = 0; i < p->nr_images; i++) {
		trace_events__free(p->images[i].events);
		p->images[i].events = NULL;
	}
	pthread_mutex_unlock(&p->lock);
}

int probes__set_period(struct probes *p, __u64 period)
{
	return load_period(p->bpf.skel, period, 0);
}
