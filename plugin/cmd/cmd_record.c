// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmds.h"

#include "callchains.h"
#include "perfdata/writer.h"
#include "record_attach.h"
#include "record_budget.h"
#include "record_load.h"
#include "record_opts.h"
#include "record_preload.h"
#include "record_summary.h"
#include "record_synth.h"
#include "record_threads.h"
#include "recording.h"
#include "stack/slow.h"
#include "target/command.h"
#include "target/process.h"
#include "target/workload.h"
#include "trace/follow.h"
#include "trace/hit_cost.h"
#include "trace/probes.h"
#include "trace/rings.h"
#include "trace/sample_cost.h"
#include "trace/window_gate.h"
#include "util/files.h"
#include "util/msg.h"
#include "util/window_estimate.h"

#define DELAY_STEP_MS	5
#define WAIT_STEP_MS	100
#define MAX_TRIES	5	/* threads may end while events are opened on them */

static volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
	stop_signal = sig;
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* EFBIG instead */
}

/* What exec would refuse is found out before anything else is done. */
static int look_up_command(const char *name)
{
	char *path;
	int err = command__program(name, &path);

	if (err) {
		command__explain(name, err);
		return err;
	}
	free(path);
	return 0;
}

/* The library is cheap enough to be on all the time. */
static int choose_preload(struct record *r)
{
	int err = record_preload__choose(r->opts, r->traces_workload, &r->preload);

	r->windows = r->opts->windows && !r->preload.wanted;
	return err;
}

static int start_workload_suspended(struct record *r)
{
	if (!r->opts->command)
		return choose_preload(r);
	r->traces_workload = !r->opts->nr_pids && !r->opts->system_wide;
	return look_up_command(r->opts->command[0]) ?: choose_preload(r) ?:
	       workload__new(r->opts->command, &r->workload);
}

static int open_rings_on(struct record *r, const struct record_threads *all,
			 const struct record_threads *chosen)
{
	struct record_opts *opts = (struct record_opts *)r->opts;
	struct rings_opts rings = {
		.tids = chosen->tids,
		.nr_tids = chosen->nr,
		.track_tids = all->tids,
		.nr_track_tids = all->nr,
		.no_inherit = opts->no_inherit,
		.on_exec = r->traces_workload && !opts->delay_ms,
		.cpu_list = opts->cpu_list,
		.events = opts->events,
		.nr_events = opts->nr_events,
		.freq_hz = opts->freq_hz,
		.callgraph = opts->callgraph,
		.stack_bytes = opts->verify_stacks ? MAX_STACK_BYTES : opts->stack_bytes,
		.verify = opts->verify_stacks,
		.pages = opts->pages,
		.churn_pages = opts->churn_pages,
	};
	int err = rings__open(&rings, &r->rings);

	if (err || !opts->no_inherit || opts->system_wide)
		return err;
	err = probes__add_threads(r->probes, chosen->tids, chosen->nr);
	if (err)
		pr_err("Cannot choose %zu threads: %s\n", chosen->nr, strerror(-err));
	return err;
}

static int open_rings_once(struct record *r)
{
	pid_t command = r->traces_workload ? workload__pid(r->workload) : 0;
	struct record_threads all = {}, chosen = {};
	int err;

	err = record_threads__list(r->opts, command, &all) ?:
	      record_threads__choose(r->opts, &all, &chosen) ?:
	      open_rings_on(r, &all, &chosen);
	free(all.tids);
	free(r->chosen.tids);
	r->chosen = chosen;
	return err;
}

static int open_rings(struct record *r)
{
	int err = -ESRCH, tries;

	for (tries = 0; err == -ESRCH && tries < MAX_TRIES; tries++)
		err = open_rings_once(r);
	if (err == -ESRCH)
		pr_err("The process ended before it could be recorded.\n");
	return err;
}

static int connect_outputs(struct record *r)
{
	int alloc_fd, free_fd, nr, i, err = 0;
	const int *cpus;

	nr = rings__cpus(r->rings, &cpus);
	for (i = 0; i < nr && !err; i++) {
		rings__churn_fds(r->rings, i, &alloc_fd, &free_fd);
		err = probes__set_output(r->probes, cpus[i], alloc_fd, free_fd);
		if (err)
			pr_err("cpu%d: cannot connect the BPF programs to the ring: %s\n", cpus[i],
			       strerror(-err));
	}
	return err;
}

static int attach(struct record *r)
{
	if (r->traces_workload)
		return record_attach__workload(r->opts, r->follow,
					       recording__callchains(r->recording), r->workload);
	return record_attach__targets(r->opts, r->follow);
}

static struct window_gate *gate_of(const struct record *r)
{
	return r->budget ? record_budget__gate(r->budget) : NULL;
}

static int attach_targets(struct record *r)
{
	int err;

	if (!record__looks_first(r))
		return attach(r);
	err = r->budget ? attach(r) ?: record_budget__look(r->budget) : 0;
	record_budget__free(r->budget);
	r->budget = NULL;
	probes__ungate(r->probes);
	follow__set_gate(r->follow, NULL);
	return err ?: attach(r);
}

static bool targets_live(const struct record *r)
{
	const int *ids = r->opts->nr_tids ? r->opts->tids : r->opts->pids;
	int i, nr = r->opts->nr_tids ?: r->opts->nr_pids;

	if (r->opts->system_wide || r->traces_workload)
		return true;
	for (i = 0; i < nr; i++) {
		if (!kill(ids[i], 0) || errno == EPERM)
			return true;
	}
	return false;
}

static bool is_over(struct record *r)
{
	if (stop_signal)
		return true;
	if (r->workload && !r->workload_ended)
		r->workload_ended = workload__poll(r->workload, &r->workload_status);
	return r->workload_ended || !targets_live(r);
}

static int record_until_over(struct record *r)
{
	int err = 0;

	while (!err && !is_over(r)) {
		rings__poll(r->rings, recording__poll_ms(r->recording));
		err = recording__drain(r->recording) ?: recording__tick(r->recording);
	}
	return err;
}

static void *detach_thread(void *arg)
{
	struct record *r = arg;

	follow__stop(r->follow);
	if (r->budget)
		window_gate__stop(gate_of(r));
	probes__stop(r->probes);
	probes__detach(r->probes);
	return NULL;
}

/*
 * Detaching takes the kernel up to seconds, and the target runs on meanwhile: keep draining, or
 * its last events are lost.
 */
static int detach_and_drain(struct record *r)
{
	pthread_t thread;
	int err = recording__drain(r->recording);	/* forks and mappings, before nobody follows them */

	if (err) {
		detach_thread(r);
		return err;
	}
	if (pthread_create(&thread, NULL, detach_thread, r)) {
		detach_thread(r);
		return recording__drain(r->recording);
	}
	do {
		rings__poll(r->rings, 5);
		err = recording__drain(r->recording);
	} while (!err && pthread_tryjoin_np(thread, NULL));
	if (err) {
		pthread_join(thread, NULL);
		return err;
	}
	/* Two passes: the first may have read a ring before the last event reached it. */
	return recording__drain(r->recording) ?: recording__drain(r->recording);
}

/* ", 249 times a second ..." where that is less than usual. */
static void describe_rate(const struct record *r, char *buf, size_t bytes)
{
	buf[0] = '\0';
	if (r->sample_ns && r->opts->freq_hz < RECORD_DEFAULT_FREQ_HZ)
		snprintf(buf, bytes, ", %llu times a second since a sample takes %.0f us (-F asks for more)",
			 r->opts->freq_hz, r->sample_ns / 1000);
}

static void say_what_is_recorded(const struct record *r)
{
	char rate[80];
	size_t i;

	if (r->preload.reason)
		pr_info("%s: %s: probes are planted in the allocator itself (uprobe).\n",
			r->opts->command[0], r->preload.reason);
	describe_rate(r, rate, sizeof(rate));
	for (i = 0; i < r->opts->nr_events; i++) {
		if (strcmp(r->wanted[i], r->opts->events[i].name))
			pr_info("No hardware counter for '%s' here: recording '%s' instead%s.\n",
				r->wanted[i], r->opts->events[i].name, rate);
	}
}

static int start_workload(struct record *r)
{
	int err = r->workload ? workload__start(r->workload) : 0;

	r->workload_started = r->workload && !err;
	return err;
}

/* Probes in place before the command's first instruction. */
static int start_at_once(struct record *r)
{
	int err;

	if (!r->traces_workload)
		rings__enable_track(r->rings);
	err = attach_targets(r) ?: follow__start(r->follow);
	if (err)
		return err;
	say_what_is_recorded(r);
	if (recording__callchains(r->recording))
		callchains__ready(recording__callchains(r->recording));
	if (r->traces_workload)
		rings__enable_churn(r->rings);	/* the others start at exec */
	else
		rings__enable(r->rings);
	probes__start(r->probes);
	recording__begin(r->recording);
	err = r->budget ? window_gate__start(gate_of(r)) : 0;
	if (err)
		return err;
	return start_workload(r);
}

/* -D: the command runs for a while; it may well end before anything is recorded. */
static int start_late(struct record *r)
{
	const struct timespec step = { .tv_nsec = DELAY_STEP_MS * 1000000L };
	unsigned int waited;
	int err = start_workload(r);

	for (waited = 0; !err && waited < r->opts->delay_ms; waited += DELAY_STEP_MS) {
		nanosleep(&step, NULL);
		if (is_over(r))
			return 0;
	}
	rings__enable_track(r->rings);
	if (!err && r->traces_workload)
		err = record_attach__pid(r->follow, workload__pid(r->workload));
	else if (!err)
		err = attach_targets(r);
	if (is_over(r))
		return 0;
	err = err ?: follow__start(r->follow);
	if (err)
		return err;
	say_what_is_recorded(r);
	if (recording__callchains(r->recording))
		callchains__ready(recording__callchains(r->recording));
	rings__enable(r->rings);
	probes__start(r->probes);
	recording__begin(r->recording);
	err = r->budget ? window_gate__start(gate_of(r)) : 0;
	if (err)
		return err;
	return 0;
}

static int make_hit_child(struct record *r)
{
	return r->windows || record__looks_first(r) ? hit_child__new(&r->hit_child) : 0;
}

static int make_budget(struct record *r)
{
	struct hit_child *child = r->hit_child;
	size_t nr_tids = r->opts->no_inherit ? r->chosen.nr : 0;
	const int *cpus;

	if (!r->hit_child || probes__method(r->probes) == PROBE_EVENT)
		return 0;
	r->hit_child = NULL;
	return record_budget__new(r->opts, r->probes, child, r->chosen.tids, nr_tids,
				  rings__cpus(r->rings, &cpus), &r->budget);
}

static int configure_follow(struct record *r)
{
	if (r->opts->slow_path)
		follow__set_scan(r->follow, slow_image__new);
	if (r->opts->no_inherit)
		follow__ignore_children(r->follow);
	return 0;
}

/* Samples of a clock are dear in virtual machines; a frequency that was asked for is left alone. */
static int choose_rate(struct record *r)
{
	struct record_opts *opts = (struct record_opts *)r->opts;

	if (opts->freq_given || !opts->nr_events)
		return 0;
	r->sample_ns = sample_cost__ns(&opts->events[0].attr);
	opts->freq_hz = sample_cost__freq(r->sample_ns, opts->freq_hz);
	return 0;
}

static int open_all(struct record *r)
{
	size_t i;
	int err;

	for (i = 0; i < r->opts->nr_events; i++)
		strcpy(r->wanted[i], r->opts->events[i].name);
	err = start_workload_suspended(r) ?: files__raise_limit();	/* not the command's */
	if (err)
		return err;
	return make_hit_child(r) ?:
	       record__load_probes(r) ?:
	       choose_rate(r) ?:
	       open_rings(r) ?:
	       connect_outputs(r) ?:
	       make_budget(r) ?:
	       follow__new(r->probes, gate_of(r), r->opts->system_wide, &r->follow) ?:
	       configure_follow(r) ?:
	       recording__new(r->opts, r->rings, r->probes, r->follow,
			      r->windows ? r->budget : NULL, &r->recording) ?:
	       record_synth__all(r->opts, r->recording);
}

static void interrupt_workload(struct record *r)
{
	workload__kill(r->workload);
	r->workload_ended = workload__poll(r->workload, &r->workload_status);
}

/* A recording that failed is no reason for the command to. */
static void let_workload_end(struct record *r)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_MS * 1000000L };

	if (!r->workload_started || stop_signal ||
	    workload__poll(r->workload, &r->workload_status))
		return;
	pr_info("%s runs on, without being recorded\n", r->opts->command[0]);
	do {
		nanosleep(&step, NULL);
		if (stop_signal)
			interrupt_workload(r);
	} while (!stop_signal && !workload__poll(r->workload, &r->workload_status));
}

static void close_all(struct record *r)
{
	follow__free(r->follow);
	recording__free(r->recording);
	record_budget__free(r->budget);
	hit_child__free(r->hit_child);
	free(r->chosen.tids);
	probes__free(r->probes);
	rings__free(r->rings);
	let_workload_end(r);
	workload__free(r->workload);
}

static int exit_status(struct record *r, int err)
{
	const struct recording_counts *counts = recording__counts(r->recording);
	int status = r->workload_status;

	if (err)
		return 1;
	if (r->opts->strict && (record_summary__nr_lost(counts) || counts->nr_gaps || counts->nr_unhooked)) {
		pr_err("--strict: the recording is not complete\n");
		return 1;
	}
	if (!r->workload || !r->workload_ended)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int stop(struct record *r, int err)
{
	/* The last window is closed by who has opened it. */
	if (!r->budget)
		probes__stop(r->probes);
	rings__disable_cpu(r->rings);
	recording__end(r->recording);
	if (r->workload && !r->workload_ended && (!err || stop_signal))
		interrupt_workload(r);
	err = detach_and_drain(r) ?: err;
	if (err)
		pdwriter__cut_short(recording__writer(r->recording));
	return recording__finish(r->recording) ?: err;
}

static void print_summary(struct record *r, bool cut_short)
{
	struct pdwriter *out = recording__writer(r->recording);
	struct record_written written = { .file_bytes = pdwriter__bytes(out) };
	struct window_result windows;

	if (r->budget)
		record_budget__result(r->budget, &windows);
	pdwriter__compression(out, &written.plain_bytes, &written.packed_bytes);
	record_summary__print(r->opts, recording__counts(r->recording), r->budget ? &windows : NULL,
			      &written, cut_short);
}

/* Nothing can fail to start any more: only now does an older file give way. */
static int record(struct record *r)
{
	int err = pdwriter__publish(recording__writer(r->recording));

	if (err)
		return 1;
	err = stop(r, record_until_over(r));
	print_summary(r, err);
	return exit_status(r, err);
}

int cmd_record(int argc, const char **argv)
{
	struct record_opts opts;
	struct record r = { .opts = &opts };
	int err, status = 1;

	if (record_opts__parse(&opts, argc, argv))
		return 1;
	catch_signals();
	err = open_all(&r);
	if (!err)
		err = opts.delay_ms ? start_late(&r) : start_at_once(&r);
	if (!err)
		status = record(&r);
	close_all(&r);
	record_opts__exit(&opts);
	return status;
}
