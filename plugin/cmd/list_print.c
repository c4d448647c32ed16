// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>

#include "list_print.h"

#include "list_objects.h"
#include "probe/probe.h"
#include "trace/probe_cost.h"
#include "view/format.h"
#include "view/json_out.h"

#define ROW	"%-14s  %-18s  %-27s  %-14s  %-13s  %7s  %7s\n"
#define DOTS	"..........................."

/* Why record takes this one, and what that means. The best is tried first. */
static const char *method_reason(enum probe_method method)
{
	switch (method) {
	case PROBE_SESSION:
		return "the kernel has them (6.13): only sampled calls pay for the return";
	case PROBE_MULTI:
		return "the kernel has no uprobe sessions (6.13): allocations pay for entry and return";
	default:
		return "the kernel has no uprobe_multi links (6.6): allocations pay for entry and return";
	}
}

/* NULL: it depends on the method, which is not known. */
static const char *pays_for(const struct probe_costs *costs, enum probe_call call)
{
	static const char entry[] = "entry", both[] = "entry, return";

	if (call == COST_FREE)
		return entry;
	if (call == COST_WRAPPING)
		return both;
	if (!costs)
		return NULL;
	return costs->method == PROBE_SESSION ? entry : both;
}

static struct probe_cost cost_of(const struct probe_costs *costs, const struct probe_image *image,
				 const struct probe_site *site)
{
	static const struct probe_cost unknown = { .ns = NAN, .mad_ns = NAN };

	if (!costs)
		return unknown;
	return costs->costs[probe_cost__class(site)][probe_cost__call(image, site)];
}

static void print_probe(FILE *out, const struct probe_costs *costs, const struct probe_image *image,
			const struct probe_site *site)
{
	struct probe_cost cost = cost_of(costs, image, site);
	char place[64], ns[FORMAT_BYTES], mad[FORMAT_BYTES];

	snprintf(place, sizeof(place), "%s+%u", site->symbol, site->delta);
	fprintf(out, "  " ROW, entry_point_name(site->fn), place, site->insn,
		probe_class__name(probe_cost__class(site)),
		pays_for(costs, probe_cost__call(image, site)) ?: "-",
		format_count(ns, round(cost.ns)), format_count(mad, round(cost.mad_ns)));
}

static void print_image(FILE *out, const struct probe_costs *costs, const struct probe_image *image)
{
	fprintf(out, "#\n# %s: ", image->family);
	print_text(out, image->path);
	fprintf(out, "\n#\n# " ROW, "Function", "Probe", "Instruction", "Class", "Pays for", "ns", "+-");
	fprintf(out, "# %.14s  %.18s  %.27s  %.14s  %.13s  %.7s  %.7s\n#\n", DOTS, DOTS, DOTS, DOTS, DOTS,
		DOTS, DOTS);
	for (size_t i = 0; i < image->nr_sites; i++)
		print_probe(out, costs, image, &image->sites[i]);
}

static const char *preload_reason(const struct list_objects *list)
{
	if (list->slow_path)
		return "--slow-path is for uprobes";
	if (list->preloads)
		return "the target loads libperf-churn.so: only calls that are sampled pay for a probe";
	return list->why_not ?: "the target runs without libperf-churn.so (perf churn run)";
}

void list_print__text(FILE *out, const struct list_objects *list, const struct probe_costs *costs)
{
	fprintf(out, "# preload  : %s: %s\n", list->preloads ? "yes" : "no", preload_reason(list));
	if (costs)
		fprintf(out, "# uprobe   : %s: %s\n"
			"# ns       : measured now, on a child of this program: CPU time that a call pays for its probe\n"
			"#            when it is not sampled; median of batches, +- their median absolute deviation\n",
			probe_method__name(costs->method), method_reason(costs->method));
	for (size_t i = 0; i < list->nr; i++)
		print_image(out, costs, list->images[i]);
}

static void json_probe(struct json_out *j, const struct probe_costs *costs,
		       const struct probe_image *image, const struct probe_site *site)
{
	struct probe_cost cost = cost_of(costs, image, site);

	json__open(j, NULL, '{');
	json__string(j, "function", entry_point_name(site->fn));
	json__string(j, "symbol", site->symbol);
	json__u64(j, "delta", site->delta);
	json__u64(j, "offset", site->offset);
	json__u64(j, "address", site->vaddr);
	json__string(j, "instruction", site->insn);
	json__string(j, "class", probe_class__name(probe_cost__class(site)));
	json__string(j, "pays_for", pays_for(costs, probe_cost__call(image, site)));
	json__number(j, "ns", cost.ns);
	json__number(j, "ns_mad", cost.mad_ns);
	json__close(j, '}');
}

static void json_image(struct json_out *j, const struct probe_costs *costs,
		       const struct probe_image *image)
{
	json__open(j, NULL, '{');
	json__string(j, "family", image->family);
	json__string(j, "path", image->path);
	json__open(j, "probes", '[');
	for (size_t i = 0; i < image->nr_sites; i++)
		json_probe(j, costs, image, &image->sites[i]);
	json__close(j, ']');
	json__close(j, '}');
}

void list_print__json(FILE *out, const struct list_objects *list, const struct probe_costs *costs)
{
	struct json_out j = { .out = out };

	json__open(&j, NULL, '{');
	json__string(&j, "schema", "perf-churn-list/1");
	json__bool(&j, "measured", costs);
	json__bool(&j, "slow_path", list->slow_path);
	json__bool(&j, "preload", list->preloads);
	json__string(&j, "preload_reason", preload_reason(list));
	json__string(&j, "method", costs ? probe_method__name(costs->method) : NULL);
	json__string(&j, "reason", costs ? method_reason(costs->method) : NULL);
	json__open(&j, "objects", '[');
	for (size_t i = 0; i < list->nr; i++)
		json_image(&j, costs, list->images[i]);
	json__close(&j, ']');
	json__close(&j, '}');
}
