// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "record_preload.h"

#include "bpf/preload.h"
#include "probe/hook.h"
#include "probe/preload_fit.h"
#include "record_opts.h"
#include "target/preload.h"
#include "target/process.h"
#include "util/msg.h"

/* What the library cannot do, in words that fit behind "--method=preload". */
static const char *unfit_options(const struct record_opts *opts)
{
	if (opts->callgraph == CALLGRAPH_DWARF)
		return "cannot copy stacks (--call-graph dwarf)";
	if (opts->cpu_list)
		return "counts on all CPUs (-C)";
	if (opts->no_inherit)
		return "counts in all threads and children (-t, -i)";
	if (opts->system_wide || opts->uid != (uid_t)-1)
		return "is for commands, or processes that have loaded the library (-p)";
	return NULL;
}

static int set_number(const char *name, const char *format, __u64 value)
{
	char text[24];

	snprintf(text, sizeof(text), format, value);
	return setenv(name, text, 1) ? -ENOMEM : 0;
}

static int set_environment(const struct record_opts *opts, const char *library, __u64 session)
{
	int err = preload__setenv(library) ?:
		  set_number(PRELOAD_ENV_SESSION, "%llx", session);

	unsetenv(PRELOAD_ENV_COUNT);
	unsetenv(PRELOAD_ENV_BYTES);
	if (opts->period)
		err = err ?: set_number(PRELOAD_ENV_COUNT, "%llu", opts->period);
	if (opts->sample_bytes)
		err = err ?: set_number(PRELOAD_ENV_BYTES, "%llu", opts->sample_bytes);
	return err;
}

static __u64 new_session(void)
{
	__u64 session = 0;

	while (!session && getrandom(&session, sizeof(session), 0) == sizeof(session))
		;
	return session;
}

static int prepare_command(const struct record_opts *opts, __u64 *session)
{
	char *library;
	int err = preload__library(&library);

	if (err)
		return err;
	*session = new_session();
	err = set_environment(opts, library, *session);
	free(library);
	return err;
}

/* A reason why not is an error for who asked for it; else uprobes do it. */
static int give_up(const struct record_opts *opts, const char *reason, struct record_preload *ret)
{
	ret->reason = reason;
	if (opts->method != PROBE_PRELOAD)
		return 0;
	pr_err("%s: %s\n", opts->command[0], reason);
	return -EINVAL;
}

static int choose_for_command(const struct record_opts *opts, struct record_preload *ret)
{
	enum preload_fit fit;
	int err = preload__judge(opts->command, &fit);

	/* What cannot be read or run is for others to explain. */
	if (err)
		return err == -ENOMEM || opts->method == PROBE_PRELOAD ? err : 0;
	if (fit != PRELOAD_FITS)
		return give_up(opts, preload_fit__text(fit), ret);
	err = prepare_command(opts, &ret->session);
	if (err == -ENOENT || err == -EINVAL)
		return give_up(opts, err == -ENOENT ? PRELOAD_LIBRARY " is not where it was installed" :
				     "LD_PRELOAD cannot name the path of " PRELOAD_LIBRARY, ret);
	if (err)
		return err;
	ret->wanted = true;
	return 0;
}

bool record_preload__loaded(pid_t pid)
{
	struct process_image *images;
	const char *name;
	bool found = false;
	size_t nr, i;

	if (process__images(pid, &images, &nr))
		return false;
	for (i = 0; i < nr && !found; i++) {
		name = strrchr(images[i].path, '/');
		found = name && !strcmp(name + 1, PRELOAD_LIBRARY) &&
			!hook__is_shadowed(pid, &images[i]);
	}
	process_images__free(images, nr);
	return found;
}

/* The library samples as it was started to: a period asked for now is for uprobes. */
static int choose_for_pids(const struct record_opts *opts, struct record_preload *ret)
{
	int i;

	for (i = 0; i < opts->nr_pids && record_preload__loaded(opts->pids[i]); i++)
		;
	ret->wanted = i == opts->nr_pids && !opts->period;
	if (ret->wanted || opts->method != PROBE_PRELOAD)
		return 0;
	if (i < opts->nr_pids)
		pr_err("Process %d has not loaded " PRELOAD_LIBRARY ", or another malloc before it: start it with 'perf churn run', or use --method=uprobe\n",
		       opts->pids[i]);
	else
		pr_err("-c: a running process samples as it was started to; --method=uprobe can change that\n");
	return -EINVAL;
}

int record_preload__choose(const struct record_opts *opts, bool launches,
			   struct record_preload *ret)
{
	bool must = opts->method == PROBE_PRELOAD;
	const char *unfit = unfit_options(opts);

	*ret = (struct record_preload){};
	if (!must && (!opts->may_preload || opts->period == 1 || unfit))
		return 0;
	if (unfit) {
		pr_err("--method=preload %s: use --method=uprobe\n", unfit);
		return -EINVAL;
	}
	return launches ? choose_for_command(opts, ret) : choose_for_pids(opts, ret);
}
