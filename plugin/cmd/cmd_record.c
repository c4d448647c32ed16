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
#include "perfdata/synth.h"
#include "perfdata/writer.h"
#include "record_attach.h"
#include "record_opts.h"
#include "record_preload.h"
#include "record_summary.h"
#include "record_threads.h"
#include "recording.h"
#include "stack/slow.h"
#include "target/command.h"
#include "target/process.h"
#include "target/workload.h"
#include "trace/attach.h"
#include "trace/follow.h"
#include "trace/governor.h"
#include "trace/probes.h"
#include "trace/rings.h"
#include "util/files.h"
#include "util/msg.h"

#define DELAY_STEP_MS	5
#define WAIT_STEP_MS	100
#define VERIFY_EVERY	10	/* CPU samples: one is copied as well */
#define FIRST_EXACT	1000	/* fits every ring; see struct probes_opts */
#define MAX_TRIES	5	/* threads may end while events are opened on them */

/* The parts of one recording, made in this order. */
struct record {
	const struct record_opts *opts;
	struct workload *workload;
	struct probes *probes;
	struct rings *rings;
	struct follow *follow;
	struct recording *recording;
	bool traces_workload;	/* else the command only sets the duration */
	struct record_preload preload;
	char wanted[CPU_EVENT_MAX][64];	/* CPU events as they were asked for */
	int workload_status;
	bool workload_started, workload_ended;
};

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

static int start_workload_suspended(struct record *r)
{
	int err;

	if (!r->opts->command)
		return record_preload__choose(r->opts, false, &r->preload);
	r->traces_workload = !r->opts->nr_pids && !r->opts->system_wide;
	err = look_up_command(r->opts->command[0]);
	return err ?: record_preload__choose(r->opts, r->traces_workload, &r->preload) ?:
	       workload__new(r->opts->command, &r->workload);
}

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

static int load_probes(struct record *r)
{
	const struct record_opts *opts = r->opts;
	__u64 page_bytes = sysconf(_SC_PAGESIZE);
	struct probes_opts probes = {
		.method = opts->method,
		.period = opts->period ?: GOVERNOR_FIRST_PERIOD,
		.first_exact = opts->period ? 0 : FIRST_EXACT,
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
	};
	int err;

	if (wants_trace_events(r) && !trace_events__check())
		probes.method = PROBE_EVENT;
	err = probes__new(&probes, &r->probes);
	return err ?: judge_method(r) ?: choose_callgraph(r);
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
	free(chosen.tids);
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

/* One that ended, or that shows its mappings to nobody, is no reason to record nothing. */
static int synthesise_process(struct record *r, pid_t pid)
{
	struct callchains *chains = recording__callchains(r->recording);
	int err = synth__process(recording__writer(r->recording), pid,
				 r->opts->callgraph == CALLGRAPH_DWARF || r->opts->verify_stacks);

	if (!err && chains)
		callchains__add_process(chains, pid);
	if (err == -EACCES || err == -EPERM) {
		pr_debug("Process %d: cannot read its mappings: it will have no symbols\n", pid);
		return 0;
	}
	return err == -ESRCH ? 0 : err;
}

static int synthesise(struct record *r)
{
	struct pdwriter *out = recording__writer(r->recording);
	const struct record_opts *opts = r->opts;
	pid_t *all;
	size_t nr, i;
	int err;

	err = synth__kernel(out);
	for (i = 0; !err && i < (size_t)opts->nr_pids; i++)
		err = synthesise_process(r, opts->pids[i]);
	if (err || !opts->system_wide)
		return err;
	err = process__all(0, &all, &nr);
	if (err)
		return err;
	for (i = 0; i < nr && !err; i++)
		err = synthesise_process(r, all[i]);
	free(all);
	return err;
}

static int attach(struct record *r)
{
	if (r->traces_workload)
		return record_attach__workload(r->opts, r->follow,
					       recording__callchains(r->recording), r->workload);
	return record_attach__targets(r->opts, r->follow);
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

static void say_what_is_recorded(const struct record *r)
{
	size_t i;

	if (r->preload.reason)
		pr_info("%s: %s: probes are planted in the allocator itself (uprobe).\n",
			r->opts->command[0], r->preload.reason);
	for (i = 0; i < r->opts->nr_events; i++) {
		if (strcmp(r->wanted[i], r->opts->events[i].name))
			pr_info("No hardware counter for '%s' here: recording '%s' instead.\n",
				r->wanted[i], r->opts->events[i].name);
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
	err = attach(r) ?: follow__start(r->follow);
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
		err = attach(r);
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
	return 0;
}

static int configure_follow(struct record *r)
{
	if (r->opts->slow_path)
		follow__set_scan(r->follow, slow_image__new);
	if (r->opts->no_inherit)
		follow__ignore_children(r->follow);
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
	return load_probes(r) ?:
	       open_rings(r) ?:
	       connect_outputs(r) ?:
	       follow__new(r->probes, r->opts->system_wide, &r->follow) ?:
	       configure_follow(r) ?:
	       recording__new(r->opts, r->rings, r->probes, r->follow, &r->recording) ?:
	       synthesise(r);
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

	pdwriter__compression(out, &written.plain_bytes, &written.packed_bytes);
	record_summary__print(r->opts, recording__counts(r->recording), &written, cut_short);
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
