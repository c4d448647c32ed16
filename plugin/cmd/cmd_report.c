// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmds.h"
#include "report_opts.h"

#include "churn/feed.h"
#include "churn/report.h"
#include "perfdata/reader.h"
#include "stack/machine.h"
#include "util/msg.h"
#include "view/term.h"
#include "view/view.h"

/* What a report is made with, in the order the data passes through. */
struct session {
	struct pdreader *reader;
	struct machine *machine;
	struct feed *feed;
	struct term_progress progress;
};

static void show_progress(void *ctx, __u64 done_bytes, __u64 total_bytes)
{
	term__progress(ctx, done_bytes, total_bytes);
}

static int set_time(struct report_opts *opts, const struct pdreader *reader)
{
	const struct pdinfo *info = pdreader__info(reader);
	int err;

	if (!opts->time_text)
		return 0;
	err = filter__parse_time(&opts->filter, opts->time_text, info->first_time_ns,
				 info->last_time_ns);
	if (err == -ENODATA)
		pr_err("--time '%s': the file does not say when it begins and ends, give seconds\n",
		       opts->time_text);
	return err;
}

static int open_session(struct session *s, struct report_opts *opts)
{
	const struct feed_opts feed_opts = {
		.filter = &opts->filter, .names = opts->names, .site_depth = opts->site_depth,
		.progress = show_progress, .progress_ctx = &s->progress,
	};
	int err;

	err = pdreader__open(opts->input, &s->reader);
	err = err ?: set_time(opts, s->reader);
	err = err ?: machine__new(&opts->symbols, &s->machine);
	err = err ?: feed__new(&feed_opts, s->reader, s->machine, &s->feed);
	if (err == -ENOMSG)
		pr_err("%s: no allocation events in it: record with 'perf churn record', or probe an allocator's function with a field named size\n",
		       opts->input);
	return err;
}

static void close_session(struct session *s)
{
	feed__free(s->feed);
	machine__free(s->machine);
	pdreader__close(s->reader);
}

static int print_report(const struct report *r, struct report_opts *opts)
{
	switch (opts->format) {
	case FORMAT_JSON:
		return view__json(stdout, r, &opts->view);
	case FORMAT_FOLDED:
		return view__folded(stdout, r, &opts->view);
	case FORMAT_STDIO:
		break;
	}
	opts->view.color = term__begin_output(opts->pager);
	return view__stdio(stdout, r, &opts->view);
}

static bool is_empty(const struct report *r, const struct report_opts *opts)
{
	if (opts->format == FORMAT_FOLDED)
		return !r->nr_paths;
	return *opts->filters && !r->check.nr_allocs && !(r->totals.allocs.value > 0);
}

/* Zeros alone would look like a finding, and no line at all like a failure. */
static void warn_empty(const struct report *r, const struct report_opts *opts)
{
	bool has_others = r->check.nr_frees || r->cpu.nr_samples || r->cpu.nr_probe;

	if (!is_empty(r, opts))
		return;
	if (*opts->filters)
		pr_warning("%s: no %ssamples match %s\n", opts->input,
			   has_others ? "allocation " : "", opts->filters);
	else
		pr_warning("%s: no allocation samples in it\n", opts->input);
}

static int judge_gaps(const struct report *r, const struct report_opts *opts)
{
	/* The reader has said so; a script must not take the rest for the whole. */
	if (r->recording.truncated)
		return -EIO;
	if (!opts->strict || !report__has_gaps(r))
		return 0;
	fflush(stdout);
	if (report__why_cut(r)) {
		pr_err("--strict: the recording was cut short: %s\n", report__why_cut(r));
		return -EIO;
	}
	pr_err("--strict: the recording is not complete: %llu churn samples and %llu others lost, %.3f s without probes\n",
	       report__nr_lost(r), r->losses.perf_other, r->losses.gap_ns / 1e9);
	return -EIO;
}

static int run_report(struct report_opts *opts)
{
	struct session s = {0};
	const struct report *report;
	int err;

	err = open_session(&s, opts) ?: feed__read(s.feed);
	term__end_progress(&s.progress);
	err = err ?: feed__report(s.feed, &report);
	if (!err) {
		warn_empty(report, opts);
		err = print_report(report, opts) ?: judge_gaps(report, opts);
	}
	if (err == -ENOMEM)
		pr_err("Not enough memory\n");
	close_session(&s);
	return err;
}

int cmd_report(int argc, const char **argv)
{
	struct report_opts opts;
	int err;

	report_opts__parse(&opts, argc, argv);
	err = run_report(&opts);
	report_opts__exit(&opts);
	return err ? 1 : 0;
}
