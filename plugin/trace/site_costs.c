// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells the BPF programs what hits of each site cost, so that a process's cost adds up there.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

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
