// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "record_load.h"

#include "trace/attach.h"
#include "trace/governor.h"
#include "trace/probes.h"
#include "util/files.h"
#include "util/msg.h"

#define FIRST_EXACT	1000	/* fits every ring; see struct probes_opts */
#define VERIFY_EVERY	10	/* CPU samples: one is copied as well */

/*
 * Exact counts of a command want no gap when it forks; see attach_event.c. A process that is attached
 * to wants the probes gone at once in the end, which sessions are better at.
 */
static bool wants_trace_events(const struct record *r)
{
	return r->opts->method == PROBE_AUTO && !r->preload.wanted && r->opts->period == 1 && r->traces_workload &&
	       !r->opts->no_inherit;
}

static int judge_method(const struct record *r)
{
	const char *name = probes__method_name(r->probes);
	bool needed = probes__method(r->probes) == PROBE_EVENT;
	int err = needed || wants_trace_events(r) ? trace_events__check() : 0;

	if (needed && r->windows) {
		pr_err("This kernel has no uprobe_multi links (Linux 6.6): no budget can be kept. --budget none keeps the probes on all the time.\n");
		return -EOPNOTSUPP;
	}
	if (!err)
		return 0;
	if (err == -EMFILE) {
		files__say_too_many();
		return err;
	}
	if (needed) {
		pr_err("%s need a writable tracefs, /sys/kernel/tracing/uprobe_events: %s\n", name,
		       strerror(-err));
		return err;
	}
	pr_info("No writable tracefs (%s): probes by %s, which children of the command get some time after their start.\n",
		strerror(-err), name);
	return 0;
}

/* Where the kernel does not take the walker, copies of the stack are the next best. */
static int choose_callgraph(struct record *r)
{
	struct record_opts *opts = (struct record_opts *)r->opts;

	if (opts->callgraph != CALLGRAPH_WALK || probes__walks(r->probes))
		return 0;
	pr_info("This kernel cannot walk stacks for us: recording copies of %u bytes, as --call-graph dwarf does.\n",
		opts->stack_bytes);
	record_opts__copy_stacks(opts);
	return 0;
}

bool record__looks_first(const struct record *r)
{
	return r->opts->period == 1 && !r->traces_workload && !r->preload.wanted &&
	       r->opts->method != PROBE_EVENT;
}

int record__load_probes(struct record *r)
{
	const struct record_opts *opts = r->opts;
	__u64 page_bytes = sysconf(_SC_PAGESIZE);
	struct probes_opts probes = {
		.method = opts->method,
		.period = opts->period ?: GOVERNOR_FIRST_PERIOD,
		.first_exact = opts->period || r->windows ? 0 : FIRST_EXACT,
		.max_live = opts->max_blocks,
		.cpus = opts->cpus,
		.nr_cpus = opts->nr_cpus,
		.uid = opts->uid,
		.walking = opts->callgraph == CALLGRAPH_WALK,
		.max_stack = opts->max_stack,
		.copy_room = { opts->churn_pages * page_bytes / 2, opts->pages * page_bytes / 2 },
		.verify_every = opts->verify_stacks ? VERIFY_EVERY : 0,
		.choose_threads = opts->no_inherit && !opts->system_wide,
		.preload = r->preload.wanted,
		.session = r->preload.session,
		.gated = r->windows || record__looks_first(r),
		.one_gate = (r->windows || record__looks_first(r)) && opts->system_wide,
	};
	int err;

	if (wants_trace_events(r) && !trace_events__check())
		probes.method = PROBE_EVENT;
	err = probes__new(&probes, &r->probes);
	return err ?: judge_method(r) ?: choose_callgraph(r);
}
