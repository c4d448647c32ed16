// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "files.h"

#include "msg.h"

#define MIN_FILES	64	/* maps, programs, and what the libraries open besides */

void files__say_too_many(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	struct rlimit limit = {};

	if (atomic_flag_test_and_set(&said))
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	pr_err("Out of open files (%llu): raise the hard limit (ulimit -Hn), or record fewer processes or CPUs.\n",
	       (unsigned long long)limit.rlim_cur);
}

int files__raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			pr_debug("Cannot raise the limit of open files\n");
	}
	if (limit.rlim_cur >= MIN_FILES)
		return 0;
	files__say_too_many();
	return -EMFILE;
}
