/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probes_priv.h - what probes.c (planting) and counts.c (what was counted) share.
 */
#ifndef PERF_CHURN_TRACE_PROBES_PRIV_H
#define PERF_CHURN_TRACE_PROBES_PRIV_H

#include <pthread.h>

#include "load.h"
#include "probes.h"

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
	struct attachment *attachments;
	size_t nr_attachments;
	/* Attaching follows forks in a thread of its own. */
	pthread_mutex_t lock;
};

#endif /* PERF_CHURN_TRACE_PROBES_PRIV_H */
