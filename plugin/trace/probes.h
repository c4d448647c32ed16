/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probes.h - the running probes: the BPF programs, where they are attached, what they counted.
 *
 * Images (allocator objects) are added once, then attached for each process. Everything here dies
 * with our process: links and perf events are file descriptors, nothing is pinned.
 */
#ifndef PERF_CHURN_TRACE_PROBES_H
#define PERF_CHURN_TRACE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

#include "bpf/churn.h"
#include "bpf/control.h"

struct churn_bpf;
struct hit_cost;
struct probes;
struct probe_image;

/**
 * enum probe_method - How uprobes are attached.
 * @PROBE_AUTO: The cheapest that works.
 * @PROBE_SESSION: uprobe sessions (kernel 6.13): only sampled calls pay for the return.
 * @PROBE_MULTI: uprobe_multi links (6.6) for entries and for returns.
 * @PROBE_EVENT: Trace events opened as inherited perf events: any kernel, and no gap when a
 *	process forks, but every call pays for the return.
 * @PROBE_PRELOAD: One uprobe_multi link on the hook of our preload library, which counts and picks;
 *	the allocators themselves are only looked at. By PROBE_AUTO with probes_opts.preload only.
 */
enum probe_method {
	PROBE_AUTO,
	PROBE_SESSION,
	PROBE_MULTI,
	PROBE_EVENT,
	PROBE_PRELOAD,
};

/**
 * struct probes_opts - Fixed when the programs are loaded.
 * @method: PROBE_AUTO is resolved by trying.
 * @period: 1: exact; N: one in N to begin with, see probes__set_period().
 * @first_exact: Calls at the beginning that are all taken, with weight 1: a short program shows
 *	each of its allocations. Which calls these are does not depend on what they are, so no sum
 *	is biased.
 * @max_live: Sampled blocks followed at a time.
 * @cpus: CPUs to record on, @nr_cpus of them, NULL: all.
 * @uid: Only threads of this user, (uid_t)-1: all.
 * @walking: Walk stacks by CFI (walker.h), if the kernel takes these programs.
 * @max_stack: Frames a walk ends at.
 * @copy_room: Bytes of copied stacks that may be in the rings of churn events, and of CPU samples, at a
 *	time.
 * @verify_every: Of so many CPU samples one is copied, too; 0: none.
 * @choose_threads: Only threads named by probes__add_threads().
 * @preload: PROBE_AUTO may become PROBE_PRELOAD: the target has the library.
 * @session: With PROBE_PRELOAD: only programs that were started with this session (preload.h), and
 *	probes are planted wherever the library is mapped, children and all; 0: only in the processes
 *	attached to.
 * @gated: Hits count only while the gate of their process is open (gate.h).
 * @one_gate: There is one for all processes.
 */
struct probes_opts {
	enum probe_method method;
	__u64 period;
	__u32 first_exact;
	__u32 max_live;
	const int *cpus;
	int nr_cpus;
	uid_t uid;
	bool walking;
	__u32 max_stack;
	__u64 copy_room[2];
	__u32 verify_every;
	bool choose_threads;
	bool preload;
	__u64 session;
	bool gated, one_gate;
};

/**
 * probes__new() - Load the BPF programs.
 *
 * Context: Needs CAP_BPF and CAP_PERFMON.
 * Return: 0 or a negative errno; the error is printed.
 */
int probes__new(const struct probes_opts *opts, struct probes **ret);

/** probes__free() - Detach everything and unload. */
void probes__free(struct probes *p);

/** probe_method__name() - For people. */
const char *probe_method__name(enum probe_method method);

/** probes__method() - What PROBE_AUTO became, and its name for people. */
enum probe_method probes__method(const struct probes *p);
const char *probes__method_name(const struct probes *p);

/** probes__walks() - Does this kernel walk stacks, as was asked for? */
bool probes__walks(const struct probes *p);

/** probes__bpf() - The loaded programs and their maps, for this room. */
struct churn_bpf *probes__bpf(struct probes *p);

/** probes__inherited() - Do children get the probes at fork, without our doing? */
bool probes__inherited(const struct probes *p);

/** probes__everywhere() - Are probes in all processes that map a file once it is attached? */
bool probes__everywhere(const struct probes *p);

/** probes__plants() - Does the method probe this image, or only look where its code is? */
bool probes__plants(const struct probes *p, const struct probe_image *image);

/**
 * probes__set_output() - Where samples of one CPU go.
 * @cpu: CPU number.
 * @alloc_fd, @free_fd: bpf-output events, system-wide on that CPU.
 */
int probes__set_output(struct probes *p, int cpu, int alloc_fd, int free_fd);

/**
 * probes__add_threads() - With @choose_threads: count these, too.
 *
 * Return: 0, -E2BIG for more than 65536 in all, or another negative errno.
 */
int probes__add_threads(struct probes *p, const pid_t *tids, size_t nr_tids);

/**
 * probes__add_image() - Make an allocator object known.
 * @image: Must outlive the probes.
 * @open_path: A path that opens now; the file is kept open, so that probes can be planted in it
 *	when the process that showed it, or the path, is gone.
 * @index: Set to its number, for probes__attach().
 */
int probes__add_image(struct probes *p, const struct probe_image *image, const char *open_path,
		      size_t *index);

/**
 * probes__attach() - Plant the probes of an image in one process.
 * @index: From probes__add_image().
 * @pid: Process id; -1: every process (with -a only).
 *
 * Return: 0; -ESRCH when the process is gone (not printed); another negative errno, printed.
 */
int probes__attach(struct probes *p, size_t index, pid_t pid);

/**
 * probes__attach_own() - Plant probes in our own program as a child of ours runs it (hit_child.c).
 * @offsets, @cookies, @nr_sites: File offsets, and CHURN_COOKIE() of each.
 *
 * Return: 0; -EOPNOTSUPP with PROBE_EVENT; another negative errno. Prints nothing.
 */
int probes__attach_own(struct probes *p, const unsigned long *offsets, const __u64 *cookies,
		       size_t nr_sites, pid_t pid);

/**
 * probes__set_costs() - What hits cost, for the totals; before images are added.
 */
void probes__set_costs(struct probes *p, const struct hit_cost *costs);

/**
 * probes__anchor() - Make sure that a child keeps the probes that it has inherited.
 *
 * Only where probes__inherited(). Return: as probes__attach().
 */
int probes__anchor(struct probes *p, size_t index, pid_t pid);

/**
 * probes__forget() - A process has ended: close its links or anchors. Inherited events stay open,
 * since closing one takes it away from the children, too.
 */
void probes__forget(struct probes *p, pid_t pid);

/**
 * probes__drop_blocks() - Drop followed blocks of a process allocated before @before_ns
 * (after exec: its heap is gone).
 */
void probes__drop_blocks(struct probes *p, pid_t pid, __u64 before_ns);

/** probes__ungate() - Hits count always from now on. */
void probes__ungate(struct probes *p);

/** probes__drop_all_blocks() - Of all processes. */
void probes__drop_all_blocks(struct probes *p);

/**
 * probes__start() - Count and emit from now on; before that, hits do nothing.
 * probes__stop() - Nothing more, but for calls that are under way.
 */
void probes__start(struct probes *p);
void probes__stop(struct probes *p);

/** probes__detach() - Remove all probes: no new events past this call. */
void probes__detach(struct probes *p);

/** probes__set_period() - Change the mean period of a sampled recording. */
int probes__set_period(struct probes *p, __u64 period);

/** probes__hook_period() - With PROBE_PRELOAD: the period in force where the library was last heard of. */
__u64 probes__hook_period(const struct probes *p);

/**
 * struct probe_site_stats - One probed instruction, for churn:probe.
 * @open_path: Opens the image's file, as long as the probes live.
 * @planted: See probes__plants().
 * @pid, @ip: A process it was hit in and its address there; 0 when it was not hit.
 */
struct probe_site_stats {
	const struct probe_image *image;
	const char *open_path;
	size_t site;
	bool planted;
	__u64 nr_hits;
	pid_t pid;
	__u64 ip;
};

/** probes__site_stats() - Hits of each site so far; malloc'ed array, the caller frees. */
int probes__site_stats(struct probes *p, struct probe_site_stats **ret, size_t *ret_nr);

/**
 * probes__next_totals() - Walk the processes that have counters.
 * @pid: In: the previous one, 0 to begin; out: this one.
 * @totals: Sums over all CPUs.
 *
 * Return: 0, or -ENOENT after the last.
 */
int probes__next_totals(struct probes *p, pid_t *pid, struct churn_totals *totals);

/** probes__read_totals() - Of one process. Return: 0, or -ENOENT: none yet. */
int probes__read_totals(struct probes *p, pid_t pid, struct churn_totals *totals);

/** churn_totals__add() - Add up. */
void churn_totals__add(struct churn_totals *sum, const struct churn_totals *one);

/** probes__drop_totals() - A process has ended and its last totals were read: make room. */
void probes__drop_totals(struct probes *p, pid_t pid);

/** probes__nr_unread() - Calls of the preload library's hook that could not be read. */
__u64 probes__nr_unread(const struct probes *p);

/** probes__nr_shadowed() - Programs with another's malloc before that of the preload library. */
__u64 probes__nr_shadowed(const struct probes *p);

/** probes__nr_uncounted() - Hits of processes for which the totals map had no room. */
__u64 probes__nr_uncounted(const struct probes *p);

#endif /* PERF_CHURN_TRACE_PROBES_H */
