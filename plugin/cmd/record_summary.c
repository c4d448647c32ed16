// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "record_summary.h"

#include "record_opts.h"
#include "recording.h"
#include "trace/probes.h"
#include "util/msg.h"

__u64 record_summary__nr_lost(const struct recording_counts *c)
{
	return c->nr_lost_output + c->nr_lost_map + c->nr_lost_inflight + c->nr_lost_cpu +
	       c->nr_malformed + c->nr_uncounted;
}

static void print_losses(const struct recording_counts *c)
{
	if (c->nr_lost_output)
		pr_warning("%llu churn samples lost: a ring was full (-m makes it larger, -c takes fewer samples)\n",
			   c->nr_lost_output);
	if (c->nr_lost_map)
		pr_warning("%llu blocks not followed: more were live than --max-blocks allows\n",
			   c->nr_lost_map);
	if (c->nr_lost_inflight)
		pr_warning("%llu calls lost that never returned\n", c->nr_lost_inflight);
	if (c->nr_uncounted)
		pr_warning("%llu calls not recorded: more than %d processes at a time\n",
			   c->nr_uncounted, CHURN_MAX_PROCS);
	if (c->nr_malformed)
		pr_warning("%llu churn samples lost: not as the BPF program writes them\n",
			   c->nr_malformed);
	if (c->nr_lost_cpu)
		pr_warning("%llu CPU samples lost: a ring was full (-m makes it larger)\n",
			   c->nr_lost_cpu);
	if (c->nr_gaps)
		pr_warning("%llu processes ran for %.1f ms on average before their probes were in place: what they allocated then is missing (--method uprobe-event leaves no gap)\n",
			   c->nr_gaps, c->gap_ns / 1e6 / c->nr_gaps);
}

/* "222 cycles, 210 instructions" */
static void list_events(const struct record_opts *opts, const struct recording_counts *c, char *buf,
			size_t bytes)
{
	size_t i, used = 0;

	for (i = 0; i < opts->nr_events && used < bytes; i++)
		used += snprintf(buf + used, bytes - used, "%s%llu %s", i ? ", " : "",
				 c->nr_event_samples[i], opts->events[i].name);
}

void record_summary__print(const struct record_opts *opts, const struct recording_counts *c,
			   __u64 file_bytes)
{
	char events[CPU_EVENT_MAX * (sizeof(opts->events[0].name) + 24)];

	print_losses(c);
	list_events(opts, c, events, sizeof(events));
	pr_info("[ perf churn record: Captured and wrote %.3f MB %s (%s, %llu churn:alloc, %llu churn:free samples; %llu allocations, %llu lost) ]\n",
		file_bytes / 1048576.0, opts->output, events, c->nr_alloc_samples,
		c->nr_free_samples, c->nr_allocations, record_summary__nr_lost(c));
}
