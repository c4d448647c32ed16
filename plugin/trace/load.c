// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "bpf/control.h"
#include "churn.skel.h"
#include "load.h"
#include "util/files.h"
#include "util/msg.h"

#define MAX_CHOSEN_THREADS	65536

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_DEBUG || msg__verbose() < 1)
		return 0;
	return vfprintf(stderr, fmt, args);
}

static void choose_programs(struct churn_bpf *skel, enum probe_method method, bool walking,
			    bool counts_idle)
{
	bool session = method == PROBE_SESSION, multi = method == PROBE_MULTI;
	bool event = method == PROBE_EVENT;

	bpf_program__set_autoload(skel->progs.churn_hook, method == PROBE_PRELOAD);

	bpf_program__set_autoload(skel->progs.churn_session, session);
	bpf_program__set_autoload(skel->progs.churn_multi, multi);
	bpf_program__set_autoload(skel->progs.churn_multi_ret, multi);
	bpf_program__set_autoload(skel->progs.churn_event, event);
	bpf_program__set_autoload(skel->progs.churn_event_ret, event);
	bpf_program__set_autoload(skel->progs.churn_idle, counts_idle);
	bpf_program__set_autoload(skel->progs.churn_cpu, walking);
	bpf_program__set_autoload(skel->progs.walk_fork, walking);
	bpf_program__set_autoload(skel->progs.walk_rename, walking);
	bpf_program__set_autoload(skel->progs.walk_exec_end, walking);
	bpf_program__set_autoload(skel->progs.walk_exit, walking);
	if (session)
		bpf_program__set_expected_attach_type(skel->progs.churn_session,
						      TRACE_UPROBE_SESSION);
}

static int configure(struct churn_bpf *skel, const struct probes_opts *opts, int nr_cpus)
{
	skel->rodata->exact = opts->period == 1;
	skel->rodata->own_tgid = getpid();
	skel->rodata->only_uid = opts->uid;
	skel->rodata->cpu_filtered = opts->cpus != NULL;
	skel->rodata->walking = opts->walking;
	skel->rodata->max_stack = opts->max_stack;
	skel->rodata->copy_room[0] = opts->copy_room[0];
	skel->rodata->copy_room[1] = opts->copy_room[1];
	skel->rodata->verify_every = opts->verify_every;
	skel->rodata->tid_filtered = opts->choose_threads;
	skel->rodata->only_session = opts->session;
	skel->bss->gated = opts->gated;
	skel->rodata->one_gate = opts->one_gate;
	return bpf_map__set_max_entries(skel->maps.live, opts->max_live) ?:
	       bpf_map__set_max_entries(skel->maps.tid_selected,
					opts->choose_threads ? MAX_CHOSEN_THREADS : 1) ?:
	       bpf_map__set_max_entries(skel->maps.cpu_selected, nr_cpus) ?:
	       bpf_map__set_max_entries(skel->maps.alloc_events, nr_cpus) ?:
	       bpf_map__set_max_entries(skel->maps.free_events, nr_cpus) ?:
	       bpf_map__set_max_entries(skel->maps.cpu_stacks, nr_cpus) ?:
	       bpf_map__set_max_entries(skel->maps.cpu_copies, nr_cpus) ?:
	       bpf_map__set_max_entries(skel->maps.walk_copies, nr_cpus * WALKER_COPIES);
}

static int select_cpus(struct churn_bpf *skel, const struct probes_opts *opts)
{
	__u8 yes = 1;
	int i, err = 0;

	for (i = 0; i < opts->nr_cpus && !err; i++)
		err = bpf_map__update_elem(skel->maps.cpu_selected, &opts->cpus[i], sizeof(int),
					   &yes, sizeof(yes), BPF_ANY);
	return err;
}

int load_period(struct churn_bpf *skel, __u64 period, __u32 first_exact)
{
	struct {
		__u64 weight, threshold;
		__s64 exact_left;
	} value = { period, (1ULL << 32) / period, first_exact };
	__u32 zero = 0;

	return bpf_map__update_elem(skel->maps.period, &zero, sizeof(zero), &value,
				    sizeof(value), BPF_ANY);
}

static int load(const struct probes_opts *opts, int nr_cpus, enum probe_method method,
		struct churn_bpf **ret)
{
	struct churn_bpf *skel = churn_bpf__open();
	int err;

	if (!skel)
		return -errno;
	choose_programs(skel, method, opts->walking, opts->gated && opts->one_gate);
	err = configure(skel, opts, nr_cpus) ?: churn_bpf__load(skel);
	err = err ?: select_cpus(skel, opts) ?:
	      load_period(skel, opts->period, opts->first_exact);
	if (err)
		churn_bpf__destroy(skel);
	else
		*ret = skel;
	return err;
}

/*
 * A program of an attach type that the kernel does not know may load all the same: only a link
 * tells. Tried on a file that can have no probe at that offset: a kernel with the feature fails
 * for another reason than EINVAL or EOPNOTSUPP.
 */
static bool link_is_known(const struct churn_bpf *skel, enum probe_method method)
{
	unsigned long offset = 0;
	__u64 cookie = 0;
	struct attach_sites sites = {
		.path = "/proc/self/no-such-file", .offsets = &offset, .cookies = &cookie, .nr = 1,
	};
	bool session = method == PROBE_SESSION;
	int prog_fd, fd;

	prog_fd = bpf_program__fd(session ? skel->progs.churn_session :
				  method == PROBE_PRELOAD ? skel->progs.churn_hook :
							    skel->progs.churn_multi);
	fd = attach_multi(prog_fd, session ? TRACE_UPROBE_SESSION : TRACE_UPROBE_MULTI, &sites,
			  0, false);
	if (fd >= 0)
		close(fd);
	return fd == -ENOENT;
}

static int try_method(const struct probes_opts *opts, int nr_cpus, enum probe_method method,
		      struct loaded *ret)
{
	struct churn_bpf *skel;
	int err = load(opts, nr_cpus, method, &skel);

	if (err)
		return err;
	if (method != PROBE_EVENT && !link_is_known(skel, method)) {
		churn_bpf__destroy(skel);
		return -EOPNOTSUPP;
	}
	*ret = (struct loaded){ .skel = skel, .method = method, .walks = opts->walking };
	return 0;
}

static int load_methods(const struct probes_opts *opts, int nr_cpus, struct loaded *ret)
{
	static const enum probe_method order[] = {
		PROBE_PRELOAD, PROBE_SESSION, PROBE_MULTI, PROBE_EVENT,
	};
	size_t i;
	int err;

	if (opts->method != PROBE_AUTO)
		return try_method(opts, nr_cpus, opts->method, ret);
	for (i = opts->preload ? 0 : 1; i < sizeof(order) / sizeof(order[0]); i++) {
		err = try_method(opts, nr_cpus, order[i], ret);
		if (!err || err == -EPERM || err == -ENOMEM)
			return err;
	}
	return err;
}

static void explain_load_error(int err)
{
	/* The verifier's refusal is an EACCES, too. */
	if (err == -EPERM || (err == -EACCES && geteuid()))
		pr_err("No permission to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON.\n");
	else if (err == -EMFILE)
		files__say_too_many();
	else
		pr_err("Cannot load the BPF programs: %s (-v shows the kernel's reasons)\n",
		       strerror(-err));
}

int load_programs(const struct probes_opts *opts, int nr_cpus, struct loaded *ret)
{
	struct probes_opts plain = *opts;
	int err;

	libbpf_set_print(print_libbpf);
	err = load_methods(opts, nr_cpus, ret);
	if (err && opts->walking && err != -EPERM && err != -ENOMEM) {
		plain.walking = false;
		err = load_methods(&plain, nr_cpus, ret);
	}
	if (err)
		explain_load_error(err);
	return err;
}
