// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "churn.skel.h"
#include "probe/probe.h"
#include "probes_priv.h"

static int cost_class(const struct probe_site *site)
{
	return site->emulated ? HIT_EMULATED : HIT_STEPPED;
}

static enum hit_kind cost_kind(const struct probe_image *image, const struct probe_site *site)
{
	if (image->may_forward || (site->fn > CHURN_FN_CALLOC && site->fn < CHURN_FN_FREE))
		return HIT_WRAPPING;
	return site->fn == CHURN_FN_FREE ? HIT_FREE : HIT_ALLOC;
}

/*
 * Before anything is attached there: it resets the hits. What returns cost the programs add, as if of
 * a sampled call.
 */
int probes__write_costs(struct probes *p, size_t first_site, const struct probe_image *image)
{
	struct churn_site_hits *hits = calloc(p->nr_cpus, sizeof(*hits));
	__u32 n = first_site;
	size_t i;
	int cpu, err = hits ? 0 : -ENOMEM;

	for (i = 0; i < image->nr_sites && !err; i++, n++) {
		const struct probe_site *site = &image->sites[i];
		enum hit_kind kind = cost_kind(image, site);
		double ns = p->costs.ns[kind][cost_class(site)];

		if (kind == HIT_WRAPPING)
			ns = fmax(ns - p->costs.sampled_ns, 0);
		for (cpu = 0; cpu < p->nr_cpus; cpu++)
			hits[cpu].cost_ns = ns + 0.5;
		err = bpf_map__update_elem(p->bpf.skel->maps.site_hits, &n, sizeof(n), hits,
					   p->nr_cpus * sizeof(*hits), BPF_ANY);
	}
	free(hits);
	return err;
}

void probes__set_costs(struct probes *p, const struct hit_cost *costs)
{
	p->costs = *costs;
	p->bpf.skel->bss->sampled_cost_ns = costs->sampled_ns + 0.5;
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

__u64 probes__nr_uncounted(const struct probes *p)
{
	return p->bpf.skel->bss->nr_uncounted;
}
