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

#include "perfdata/synth.h"
#include "perfdata/writer.h"
#include "probe/probe.h"
#include "record_opts.h"
#include "recording.h"
#include "target/command.h"
#include "target/process.h"
#include "target/workload.h"
#include "trace/follow.h"
#include "trace/governor.h"
#include "trace/probes.h"
#include "trace/rings.h"
#include "util/msg.h"

#define POLL_MS		100
#define DELAY_STEP_MS	5
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

static int start_workload_suspended(struct record *r)
{
	if (!r->opts->command)
		return 0;
	r->traces_workload = !r->opts->nr_pids && !r->opts->system_wide;
	return workload__new(r->opts->command, &r->workload);
}

static int load_probes(struct record *r)
{
	const struct record_opts *opts = r->opts;
	struct probes_opts probes = {
		.method = opts->method,
		.period = opts->period ?: GOVERNOR_FIRST_PERIOD,
		.first_exact = opts->period ? 0 : FIRST_EXACT,
		.max_live = opts->max_blocks,
		.cpus = opts->cpus,
		.nr_cpus = opts->nr_cpus,
		.uid = opts->uid,
	};

	/*
	 * Exact counts of a command want no gap when it forks; see attach_event.c. A process that
	 * is attached to wants the probes gone at once in the end, which sessions are better at.
	 */
	if (opts->method == PROBE_AUTO && opts->period == 1 && r->traces_workload)
		probes.method = PROBE_EVENT;
	return probes__new(&probes, &r->probes);
}

/* Threads to profile; none for -a. */
static int list_threads(struct record *r, pid_t **ret, size_t *ret_nr)
{
	pid_t *tids = NULL, *more, pid;
	size_t nr = 0, nr_more;
	int i, err;

	*ret = NULL;
	*ret_nr = 0;
	if (r->opts->system_wide)
		return 0;
	if (r->traces_workload) {
		pid = workload__pid(r->workload);
		*ret = malloc(sizeof(pid));
		if (!*ret)
			return -ENOMEM;
		**ret = pid;
		*ret_nr = 1;
		return 0;
	}
	for (i = 0; i < r->opts->nr_pids; i++) {
		err = process__threads(r->opts->pids[i], &more, &nr_more);
		if (err)
			continue;	/* ended meanwhile */
		tids = realloc(tids, (nr + nr_more) * sizeof(*tids));
		if (tids)
			memcpy(tids + nr, more, nr_more * sizeof(*more));
		free(more);
		if (!tids)
			return -ENOMEM;
		nr += nr_more;
	}
	*ret = tids;
	*ret_nr = nr;
	return nr ? 0 : -ESRCH;
}

static int open_rings_once(struct record *r)
{
	struct record_opts *opts = (struct record_opts *)r->opts;
	struct rings_opts rings = {
		.on_exec = r->traces_workload && !opts->delay_ms,
		.cpu_list = opts->cpu_list,
		.events = opts->events,
		.nr_events = opts->nr_events,
		.freq_hz = opts->freq_hz,
		.callgraph = opts->callgraph,
		.stack_bytes = opts->stack_bytes,
		.pages = opts->pages,
		.churn_pages = opts->churn_pages,
	};
	pid_t *tids;
	int err;

	err = list_threads(r, &tids, &rings.nr_tids);
	if (err)
		return err;
	rings.tids = tids;
	err = rings__open(&rings, &r->rings);
	free(tids);
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
	int err = synth__process(recording__writer(r->recording), pid,
				 r->opts->callgraph == CALLGRAPH_DWARF);

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

static int no_allocator(const char *what, const struct process_image *images, size_t nr)
{
	size_t i;

	pr_err("%s has no allocator that is known. Searched for %s in:", what,
	       probe_families__describe());
	for (i = 0; i < nr; i++)
		pr_err(" %s", images[i].path);
	pr_err("\n");
	return -ENOENT;
}

static int attach_workload(struct record *r)
{
	struct process_image *images;
	size_t nr;
	int ret;

	ret = workload__images(r->opts->command, &images, &nr);
	if (ret) {
		command__explain(r->opts->command[0], ret);
		return ret;
	}
	ret = follow__add_images(r->follow, workload__pid(r->workload), images, nr);
	if (!ret)
		ret = no_allocator(r->opts->command[0], images, nr);
	process_images__free(images, nr);
	return ret < 0 ? ret : 0;
}

static int attach_pid(struct record *r, pid_t pid)
{
	struct process_image *images;
	char what[32];
	size_t nr;
	int ret;

	ret = follow__add_process(r->follow, pid);
	if (ret == -ESRCH)
		pr_err("Process %d ended while probes were attached.\n", pid);
	if (ret)
		return ret < 0 ? ret : 0;
	snprintf(what, sizeof(what), "Process %d", pid);
	ret = process__images(pid, &images, &nr);
	if (ret)
		return ret;
	ret = no_allocator(what, images, nr);
	process_images__free(images, nr);
	return ret;
}

static int attach_all(struct record *r)
{
	pid_t *all;
	size_t nr, i;
	int err;

	err = process__all(getpid(), &all, &nr);
	if (err)
		return err;
	for (i = 0; i < nr; i++)
		follow__add_process(r->follow, all[i]);
	free(all);
	if (follow__nr_images(r->follow))
		return 0;
	pr_err("No process has an allocator that is known. Searched for %s.\n",
	       probe_families__describe());
	return -ENOENT;
}

/* With several targets one that ends, or has no allocator, does not stop the others. */
static int attach(struct record *r)
{
	int i, err = -ESRCH, one;

	if (r->traces_workload)
		return attach_workload(r);
	if (r->opts->system_wide)
		return attach_all(r);
	for (i = 0; i < r->opts->nr_pids; i++) {
		one = attach_pid(r, r->opts->pids[i]);
		if (!one || err)
			err = one;
	}
	return err;
}

static bool targets_live(const struct record *r)
{
	int i;

	if (r->opts->system_wide || r->traces_workload)
		return true;
	for (i = 0; i < r->opts->nr_pids; i++) {
		if (!kill(r->opts->pids[i], 0) || errno == EPERM)
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
		rings__poll(r->rings, POLL_MS);
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
	int err;

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
		err = attach_pid(r, workload__pid(r->workload));
	else if (!err)
		err = attach(r);
	if (is_over(r))
		return 0;
	err = err ?: follow__start(r->follow);
	if (err)
		return err;
	say_what_is_recorded(r);
	rings__enable(r->rings);
	probes__start(r->probes);
	recording__begin(r->recording);
	return 0;
}

static int open_all(struct record *r)
{
	size_t i;

	for (i = 0; i < r->opts->nr_events; i++)
		strcpy(r->wanted[i], r->opts->events[i].name);
	return start_workload_suspended(r) ?:
	       load_probes(r) ?:
	       open_rings(r) ?:
	       connect_outputs(r) ?:
	       follow__new(r->probes, r->opts->system_wide, &r->follow) ?:
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
	const struct timespec step = { .tv_nsec = POLL_MS * 1000000L };

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

static __u64 nr_lost(const struct recording_counts *c)
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

static void print_closing_line(struct record *r, int err)
{
	const struct recording_counts *c = recording__counts(r->recording);
	const struct record_opts *opts = r->opts;

	print_losses(c);
	if (err)
		pr_info("[ perf churn record: Cut short, %.3f MB in %s ]\n",
			pdwriter__bytes(recording__writer(r->recording)) / 1048576.0, opts->output);
	else
		pr_info("[ perf churn record: Captured and wrote %.3f MB %s (%llu %s, %llu churn:alloc, %llu churn:free samples; %llu allocations, %llu lost) ]\n",
			pdwriter__bytes(recording__writer(r->recording)) / 1048576.0, opts->output,
			c->nr_cpu_samples, opts->nr_events == 1 ? opts->events[0].name : "CPU event",
			c->nr_alloc_samples, c->nr_free_samples, c->nr_allocations, nr_lost(c));
}

static int exit_status(struct record *r, int err)
{
	int status = r->workload_status;

	if (err)
		return 1;
	if (r->opts->strict && (nr_lost(recording__counts(r->recording)) ||
				recording__counts(r->recording)->nr_gaps)) {
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
	if (!err) {
		err = record_until_over(&r);
		err = stop(&r, err);
		print_closing_line(&r, err);
		status = exit_status(&r, err);
	}
	close_all(&r);
	record_opts__exit(&opts);
	return status;
}
