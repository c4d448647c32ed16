// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_attach.h"

#include "callchains.h"
#include "probe/probe.h"
#include "record_opts.h"
#include "target/command.h"
#include "target/process.h"
#include "target/workload.h"
#include "trace/follow.h"
#include "util/files.h"
#include "util/msg.h"

/* Of what was refused, it is said why already. */
static int no_allocator(const struct follow *follow, const char *what,
			const struct process_image *images, size_t nr)
{
	size_t i;

	if (follow__nr_refused(follow))
		return -ENOENT;
	pr_err("%s has no allocator that is known. Searched for %s in:", what,
	       probe_families__describe());
	for (i = 0; i < nr; i++)
		pr_err(" %s", images[i].path);
	pr_err("\n");
	return -ENOENT;
}

int record_attach__workload(const struct record_opts *opts, struct follow *follow,
			    struct callchains *chains, struct workload *workload)
{
	struct process_image *images;
	size_t nr;
	int ret;

	ret = workload__images(opts->command, &images, &nr);
	if (ret == -EMFILE)
		files__say_too_many();
	else if (ret)
		command__explain(opts->command[0], ret);
	if (ret)
		return ret;
	if (chains)
		callchains__add_images(chains, images, nr);
	ret = follow__add_images(follow, workload__pid(workload), images, nr);
	if (!ret)
		ret = no_allocator(follow, opts->command[0], images, nr);
	process_images__free(images, nr);
	return ret < 0 ? ret : 0;
}

int record_attach__pid(struct follow *follow, pid_t pid)
{
	struct process_image *images;
	char what[32];
	size_t nr;
	int ret;

	ret = follow__add_process(follow, pid);
	if (ret == -ESRCH)
		pr_err("Process %d ended while probes were attached.\n", pid);
	if (ret)
		return ret < 0 ? ret : 0;
	snprintf(what, sizeof(what), "Process %d", pid);
	ret = process__images(pid, &images, &nr);
	if (ret)
		return ret;
	ret = no_allocator(follow, what, images, nr);
	process_images__free(images, nr);
	return ret;
}

static int attach_all(struct follow *follow)
{
	pid_t *all;
	size_t nr, i;
	int err;

	err = process__all(getpid(), &all, &nr);
	if (err)
		return err;
	for (i = 0; i < nr; i++)
		follow__add_process(follow, all[i]);
	free(all);
	if (follow__nr_images(follow))
		return 0;
	if (!follow__nr_refused(follow))
		pr_err("No process has an allocator that is known. Searched for %s.\n",
		       probe_families__describe());
	return -ENOENT;
}

int record_attach__targets(const struct record_opts *opts, struct follow *follow)
{
	int i, err = -ESRCH, one;

	if (opts->system_wide)
		return attach_all(follow);
	for (i = 0; i < opts->nr_pids; i++) {
		one = record_attach__pid(follow, opts->pids[i]);
		if (!one || err)
			err = one;
	}
	return err;
}
