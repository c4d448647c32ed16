// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "record_synth.h"

#include "callchains.h"
#include "perfdata/synth.h"
#include "record_opts.h"
#include "recording.h"
#include "target/process.h"
#include "util/msg.h"

/* One that ended, or that shows its mappings to nobody, is no reason to record nothing. */
static int synthesise_process(const struct record_opts *opts, struct recording *r, pid_t pid)
{
	struct callchains *chains = recording__callchains(r);
	int err = synth__process(recording__writer(r), pid,
				 opts->callgraph == CALLGRAPH_DWARF || opts->verify_stacks);

	if (!err && chains)
		callchains__add_process(chains, pid);
	if (err == -EACCES || err == -EPERM) {
		pr_debug("Process %d: cannot read its mappings: it will have no symbols\n", pid);
		return 0;
	}
	return err == -ESRCH ? 0 : err;
}

int record_synth__all(const struct record_opts *opts, struct recording *r)
{
	struct pdwriter *out = recording__writer(r);
	pid_t *all;
	size_t nr, i;
	int err;

	err = synth__kernel(out);
	for (i = 0; !err && i < (size_t)opts->nr_pids; i++)
		err = synthesise_process(opts, r, opts->pids[i]);
	if (err || !opts->system_wide)
		return err;
	err = process__all(0, &all, &nr);
	if (err)
		return err;
	for (i = 0; i < nr && !err; i++)
		err = synthesise_process(opts, r, all[i]);
	free(all);
	return err;
}
