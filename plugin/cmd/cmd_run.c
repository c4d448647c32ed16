// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <subcmd/parse-options.h>
#include <unistd.h>

#include "cmds.h"

#include "probe/preload_fit.h"
#include "target/command.h"
#include "target/preload.h"
#include "util/msg.h"

/* As shells report a command that they could not run. */
#define EXIT_NOT_FOUND	127
#define EXIT_NOT_RUN	126

static const char *const run_usage[] = {
	"perf churn run [--] <command> [<args>]",
	NULL
};

static int cannot_run(const char *name, int err)
{
	command__explain(name, err);
	return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/*
 * A service is not to stay down because it cannot be recorded cheaply: it runs without the library.
 * So does not, on trust, what we may execute but not read.
 */
static int prepare(char **argv)
{
	enum preload_fit fit = PRELOAD_FITS;
	int err = preload__judge(argv, &fit);
	const char *why_not = preload_fit__text(fit);

	if (err == -ENOMEM) {
		pr_err("Not enough memory\n");
		return err;
	}
	if (!why_not)
		return preload__enable();
	pr_warning("%s: %s. It runs without.\n", argv[0], why_not);
	return 0;
}

int cmd_run(int argc, const char **argv)
{
	const struct option options[] = { OPT_END() };
	char **command, *path;
	int err;

	argc = parse_options(argc, argv, options, run_usage, PARSE_OPT_STOP_AT_NON_OPTION);
	if (!argc) {
		pr_err("Nothing to run: give a command\n");
		return 129;
	}
	command = (char **)argv;
	err = command__program(command[0], &path);
	if (err)
		return cannot_run(command[0], err);
	free(path);
	if (prepare(command))
		return EXIT_NOT_RUN;
	execvp(command[0], command);
	return cannot_run(command[0], -errno);
}
