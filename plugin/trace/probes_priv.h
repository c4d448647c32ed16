/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probes_priv.h - the probes' inside, for probes.c (attaching) and counts.c (what was counted).
 */
#ifndef PERF_CHURN_TRACE_PROBES_PRIV_H
#define PERF_CHURN_TRACE_PROBES_PRIV_H

#include <pthread.h>

#include "hit_cost.h"
#include "load.h"
#include "probes.h"

struct trace_events;

struct image {
	const struct probe_image *probe;
	int fd;
	char path[32];			/* of the fd, under /proc/self/fd */
	size_t first_site;		/* number of its first site among all */
	struct trace_events *events;	/* PROBE_EVENT only */
	bool fast_hook;			/* of the preload library: probe that, too */
	int trial_fd;			/* link that it was tried with, -1: none */
};

/* Descriptors that keep probes planted in one process. */
struct attachment {
	pid_t pid;
	bool inherited;			/* children have copies */
	int *fds;
	int nr_fds;
};

struct probes {
	struct loaded bpf;
	bool everywhere;
	int guard_fd;			/* PROBE_EVENT only, else -1 */
	int nr_cpus;
	struct image images[CHURN_MAX_IMAGES];
	size_t nr_images;
	size_t nr_sites;
	struct hit_cost costs;		/* zeros: not asked for */
	struct attachment *attachments;
	size_t nr_attachments;
	/* Attaching follows forks in a thread of its own. */
	pthread_mutex_t lock;
};

/** probes__write_costs() - What hits of an image's sites cost, before it is attached. */
int probes__write_costs(struct probes *p, size_t first_site, const struct probe_image *image);

#endif /* PERF_CHURN_TRACE_PROBES_PRIV_H */
