// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record_threads.h"

#include "record_opts.h"
#include "target/process.h"

static int add_threads(struct record_threads *list, const pid_t *tids, size_t nr)
{
	pid_t *grown = realloc(list->tids, (list->nr + nr) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	memcpy(grown + list->nr, tids, nr * sizeof(*grown));
	list->tids = grown;
	list->nr += nr;
	return 0;
}

int record_threads__list(const struct record_opts *opts, pid_t command, struct record_threads *ret)
{
	pid_t *tids;
	size_t nr;
	int i, err;

	if (opts->system_wide)
		return 0;
	if (command)
		return add_threads(ret, &command, 1);
	for (i = 0; i < opts->nr_pids; i++) {
		if (process__threads(opts->pids[i], &tids, &nr))
			continue;	/* ended meanwhile */
		err = add_threads(ret, tids, nr);
		free(tids);
		if (err)
			return err;
	}
	return ret->nr ? 0 : -ESRCH;
}

static bool is_named(const struct record_opts *opts, pid_t tid)
{
	int i;

	for (i = 0; i < opts->nr_tids; i++) {
		if (opts->tids[i] == tid)
			return true;
	}
	return !opts->nr_tids;
}

int record_threads__choose(const struct record_opts *opts, const struct record_threads *all,
			   struct record_threads *ret)
{
	size_t i;
	int err;

	for (i = 0; i < all->nr; i++) {
		err = is_named(opts, all->tids[i]) ? add_threads(ret, &all->tids[i], 1) : 0;
		if (err)
			return err;
	}
	return ret->nr || opts->system_wide ? 0 : -ESRCH;
}
