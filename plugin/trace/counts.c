// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the BPF programs have counted: blocks, hits, totals.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "churn.skel.h"
#include "probe/probe.h"
#include "probes_priv.h"

/* @pid: -1: of all. */
static void drop_blocks(struct probes *p, pid_t pid, __u64 before_ns)
{
	int fd = bpf_map__fd(p->bpf.skel->maps.live);
	struct churn_live_key key, next;
	struct churn_live rec;
	bool more;

	more = !bpf_map_get_next_key(fd, NULL, &next);
	while (more) {
		key = next;
		more = !bpf_map_get_next_key(fd, &key, &next);
		if ((pid == -1 || key.tgid == (__u64)pid) && !bpf_map_lookup_elem(fd, &key, &rec) &&
		    rec.time_ns < before_ns)
			bpf_map_delete_elem(fd, &key);
	}
}

void probes__drop_blocks(struct probes *p, pid_t pid, __u64 before_ns)
{
	drop_blocks(p, pid, before_ns);
}

void probes__drop_all_blocks(struct probes *p)
{
	drop_blocks(p, -1, ~0ULL);
}

__u64 probes__hook_period(const struct probes *p)
{
	return p->bpf.skel->bss->preload_period;
}

static void add_hits(struct probe_site_stats *stats, const struct churn_site_hits *hits)
{
	stats->nr_hits += hits->nr_hits;
	if (!hits->ip)
		return;
	stats->ip = hits->ip;
	stats->pid = hits->tgid;
}

int probes__site_stats(struct probes *p, struct probe_site_stats **ret, size_t *ret_nr)
{
	struct churn_site_hits *per_cpu = calloc(p->nr_cpus, sizeof(*per_cpu));
	struct probe_site_stats *stats = calloc(p->nr_sites ?: 1, sizeof(*stats));
	size_t img, i;
	__u32 n = 0;
	int cpu;

	if (!per_cpu || !stats) {
		free(per_cpu);
		free(stats);
		return -ENOMEM;
	}
	for (img = 0; img < p->nr_images; img++) {
		for (i = 0; i < p->images[img].probe->nr_sites; i++, n++) {
			stats[n].image = p->images[img].probe;
			stats[n].open_path = p->images[img].path;
			stats[n].site = i;
			stats[n].planted = probes__plants(p, p->images[img].probe) &&
					   (!p->images[img].probe->counter_offset || !i ||
					    p->images[img].fast_hook);
			if (bpf_map__lookup_elem(p->bpf.skel->maps.site_hits, &n, sizeof(n), per_cpu,
						 p->nr_cpus * sizeof(*per_cpu), 0))
				continue;
			for (cpu = 0; cpu < p->nr_cpus; cpu++)
				add_hits(&stats[n], &per_cpu[cpu]);
		}
	}
	free(per_cpu);
	*ret = stats;
	*ret_nr = n;
	return 0;
}

void churn_totals__add(struct churn_totals *sum, const struct churn_totals *one)
{
	const __u64 *from = (const __u64 *)one;
	__u64 *to = (__u64 *)sum;
	size_t i;

	for (i = 0; i < offsetof(struct churn_totals, malloc_ip) / sizeof(__u64); i++)
		to[i] += from[i];
	if (one->malloc_ip)
		sum->malloc_ip = one->malloc_ip;
}

int probes__read_totals(struct probes *p, pid_t pid, struct churn_totals *totals)
{
	struct churn_totals *per_cpu = calloc(p->nr_cpus, sizeof(*per_cpu));
	__u32 key = pid;
	int cpu, err;

	if (!per_cpu)
		return -ENOMEM;
	memset(totals, 0, sizeof(*totals));
	err = bpf_map__lookup_elem(p->bpf.skel->maps.totals, &key, sizeof(key), per_cpu,
				   p->nr_cpus * sizeof(*per_cpu), 0);
	for (cpu = 0; !err && cpu < p->nr_cpus; cpu++)
		churn_totals__add(totals, &per_cpu[cpu]);
	free(per_cpu);
	return err;
}

int probes__next_totals(struct probes *p, pid_t *pid, struct churn_totals *totals)
{
	__u32 key = *pid, next;
	int err;

	err = bpf_map__get_next_key(p->bpf.skel->maps.totals, *pid ? &key : NULL, &next, sizeof(next));
	if (err)
		return -ENOENT;
	err = probes__read_totals(p, next, totals);
	*pid = next;
	return err == -ENOMEM ? err : 0;
}

void probes__drop_totals(struct probes *p, pid_t pid)
{
	__u32 key = pid;

	bpf_map__delete_elem(p->bpf.skel->maps.totals, &key, sizeof(key), 0);
}

__u64 probes__nr_unread(const struct probes *p)
{
	return p->bpf.skel->bss->nr_unread_hooks;
}

__u64 probes__nr_shadowed(const struct probes *p)
{
	return p->bpf.skel->bss->nr_shadowed;
}

__u64 probes__nr_uncounted(const struct probes *p)
{
	return p->bpf.skel->bss->nr_uncounted;
}
