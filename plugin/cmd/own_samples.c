// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "own_samples.h"

#include "bpf/churn.h"
#include "perfdata/writer.h"
#include "probe/probe.h"
#include "stack/ranges.h"
#include "trace/probes.h"
#include "trace/synthetic.h"
#include "util/clock.h"
#include "util/msg.h"

/* Timed by when it is written: an older time would stand behind records that a reader has passed. */
int own_sample__write(struct pdwriter *out, __u64 sample_id, pid_t pid, __u64 ip, const void *raw,
		      size_t raw_bytes)
{
	return own_sample__write_at(out, sample_id, clock__now_ns(), pid, ip, raw, raw_bytes);
}

int own_sample__write_at(struct pdwriter *out, __u64 sample_id, __u64 time_ns, pid_t pid, __u64 ip,
			 const void *raw, size_t raw_bytes)
{
	struct synthetic_sample s = {
		.sample_id = sample_id, .ip = ip, .time_ns = time_ns, .pid = pid,
		.raw = raw, .raw_bytes = raw_bytes,
	};
	char buf[SYNTHETIC_MAX_BYTES] __attribute__((aligned(8)));

	return pdwriter__write(out, buf, synthetic_encode(&s, buf));
}

/* The end of a path tells more than its beginning. */
static void fill_path(char *out, size_t max_bytes, const char *path)
{
	size_t bytes = strlen(path);

	if (bytes >= max_bytes)
		path += bytes - max_bytes + 1;
	strcpy(out, path);
}

static void fill_probe(struct churn_probe *to, const struct probe_site_stats *stats)
{
	const struct probe_site *site = &stats->image->sites[stats->site];

	memset(to, 0, sizeof(*to));
	to->common.type = CHURN_PROBE_ID;
	to->offset = site->offset;
	to->nr_hits = stats->nr_hits;
	to->site_delta = site->delta;
	to->fn = site->fn;
	to->emulated = site->emulated;
	strncpy(to->symbol, site->symbol, sizeof(to->symbol) - 1);
	fill_path(to->object, sizeof(to->object), stats->image->path);
}

static void fill_range(struct churn_range *to, const struct alloc_ranges *ranges, size_t idx,
		       const char *path)
{
	memset(to, 0, sizeof(*to));
	to->common.type = CHURN_RANGE_ID;
	to->start = ranges->ranges[idx].start;
	to->end = ranges->ranges[idx].end;
	to->offset = ranges->ranges[idx].offset;
	to->how = ranges->how;
	to->build_id_bytes = ranges->build_id.bytes;
	memcpy(to->build_id, ranges->build_id.bits, ranges->build_id.bytes);
	fill_path(to->object, sizeof(to->object), path);
}

/* Of several allocators that a program has loaded, one is in use. */
static void warn_if_silent(const struct probe_site_stats *stats, size_t nr)
{
	const struct probe_image *img = NULL;
	size_t i;

	for (i = 0; i < nr && !img; i++)
		img = stats[i].planted ? stats[i].image : NULL;

	for (i = 0; i < nr; i++) {
		if (stats[i].nr_hits)
			return;
	}
	if (img && img->counter_offset)
		pr_warning("Nothing was heard of %s: the program does not allocate, or did not load it (--method=uprobe does without).\n",
			   img->path);
	else if (img && img->sites[0].fn == CHURN_FN_REFILL)
		pr_warning("No hits on %s of %s: its caches served everything, or the program does not allocate, or by an allocator of its own.\n",
			   img->sites[0].symbol, img->path);
	else if (img)
		pr_warning("No hits on %s, %s, ... of %s: the program does not allocate, or uses an allocator of its own.\n",
			   img->sites[0].symbol, img->sites[img->nr_sites > 1].symbol, img->path);
}

/*
 * Where to show a probe: where it was hit; else in a process that another of its object was hit in,
 * at the same distance as in the file.
 */
static __u64 place_probe(const struct probe_site_stats *stats, size_t nr,
			 const struct probe_site_stats *which, pid_t *pid)
{
	const struct probe_site *site = &which->image->sites[which->site];
	size_t i;

	*pid = which->pid;
	if (which->ip)
		return which->ip;
	for (i = 0; i < nr; i++) {
		if (stats[i].image != which->image || !stats[i].ip)
			continue;
		*pid = stats[i].pid;
		return stats[i].ip - stats[i].image->sites[stats[i].site].vaddr + site->vaddr;
	}
	return 0;
}

/* A report without them is as good as it was before there were any: only no memory is an error. */
static int write_ranges(struct pdwriter *out, const struct probe_site_stats *stats, size_t nr)
{
	const struct probe_image *img = stats[0].image;
	struct alloc_ranges *ranges;
	struct churn_range range;
	pid_t pid;
	__u64 ip = place_probe(stats, nr, &stats[0], &pid);
	int err = alloc_ranges__new(stats[0].open_path, img, &ranges);

	if (err) {
		pr_debug("%s: where its code is cannot be told: %s\n", img->path, strerror(-err));
		return err == -ENOMEM ? err : 0;
	}
	for (size_t i = 0; i < ranges->nr && !err; i++) {
		fill_range(&range, ranges, i, img->path);
		err = own_sample__write(out, SYNTHETIC_RANGE_SAMPLE_ID, pid,
				       ip ? ip - img->sites[stats[0].site].vaddr + range.start : 0,
				       &range, sizeof(range));
	}
	alloc_ranges__free(ranges);
	return err;
}

static int write_probes(struct pdwriter *out, const struct probe_site_stats *stats, size_t nr)
{
	struct churn_probe probe;
	int err = 0;
	pid_t pid;
	__u64 ip;

	for (size_t i = 0; i < nr && !err; i++) {
		if (!stats[i].planted)
			continue;
		fill_probe(&probe, &stats[i]);
		ip = place_probe(stats, nr, &stats[i], &pid);
		err = own_sample__write(out, SYNTHETIC_PROBE_SAMPLE_ID, pid, ip, &probe,
				       sizeof(probe));
	}
	return err;
}

/* @write: Called with the probes of one image after the other. */
static int each_image(struct pdwriter *out, const struct probe_site_stats *stats, size_t nr,
		      int (*write)(struct pdwriter *out, const struct probe_site_stats *stats,
				   size_t nr))
{
	size_t first, end;
	int err = 0;

	for (first = 0; first < nr && !err; first = end) {
		for (end = first + 1; end < nr && stats[end].image == stats[first].image; end++)
			;
		err = write(out, &stats[first], end - first);
	}
	return err;
}

int own_samples__write_images(struct pdwriter *out, struct probes *probes, bool warn_silent)
{
	struct probe_site_stats *stats;
	size_t nr;
	int err;

	err = probes__site_stats(probes, &stats, &nr);
	if (err)
		return err;
	err = each_image(out, stats, nr, write_probes);
	if (warn_silent)
		warn_if_silent(stats, nr);
	err = err ?: each_image(out, stats, nr, write_ranges);
	free(stats);
	return err;
}
