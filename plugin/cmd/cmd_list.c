// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <subcmd/parse-options.h>

#include "cmds.h"

#include "list_objects.h"
#include "list_print.h"
#include "target/preload.h"
#include "trace/probe_cost.h"
#include "util/files.h"
#include "util/msg.h"
#include "util/parse.h"

static const char *const list_usage[] = {
	"perf churn list [<options>] [--] <command> [<args>]",
	"perf churn list [<options>] -p <pid>[,<pid>...]",
	"perf churn list --env",
	NULL
};

struct list_opts {
	const char *pids_text;
	int *pids;
	int nr_pids;
	char **command;
	bool json, env, slow_path;
	int verbose;
};

static bool judge(struct list_opts *opts)
{
	if (!opts->pids_text + !opts->command + !opts->env < 2) {
		pr_err("-p, a command and --env exclude each other\n");
		return false;
	}
	if (!opts->pids_text && !opts->command && !opts->env) {
		pr_err("Nothing to list: give a command or -p <pid>\n");
		return false;
	}
	if (opts->env && opts->slow_path) {
		pr_err("--env and --slow-path exclude each other\n");
		return false;
	}
	if (opts->env && opts->json) {
		pr_err("--env is for shells, not as --json\n");
		return false;
	}
	if (opts->pids_text && parse_pids(opts->pids_text, &opts->pids, &opts->nr_pids)) {
		pr_err("-p %s: not a list of process ids\n", opts->pids_text);
		return false;
	}
	return true;
}

static void parse(struct list_opts *opts, int argc, const char **argv)
{
	const struct option options[] = {
		OPT_STRING('p', "pid", &opts->pids_text, "pid",
			   "List for these running processes, comma separated"),
		OPT_BOOLEAN(0, "slow-path", &opts->slow_path,
			    "List what perf churn record --slow-path probes"),
		OPT_BOOLEAN(0, "json", &opts->json, "Print JSON"),
		OPT_BOOLEAN(0, "env", &opts->env,
			    "Print the environment that makes a program load the preload library"),
		OPT_INCR('v', "verbose", &opts->verbose, "Print more (BPF messages)"),
		OPT_END()
	};

	argc = parse_options(argc, argv, options, list_usage, PARSE_OPT_STOP_AT_NON_OPTION);
	if (argc)
		opts->command = (char **)argv;
	msg__set_verbose(opts->verbose);
	if (!judge(opts))
		exit(129);
}

/* In single quotes where a shell would take it apart. */
static void print_quoted(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_";

	if (!text[strspn(text, plain)]) {
		fputs(text, stdout);
		return;
	}
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
	putchar('\'');
}

static int list_env(void)
{
	int err = preload__enable();

	if (err)
		return err;
	fputs("LD_PRELOAD=", stdout);
	print_quoted(getenv("LD_PRELOAD"));
	putchar('\n');
	return 0;
}

static int list_probes(struct list_opts *opts)
{
	struct list_objects list = {};
	struct probe_costs costs;
	bool measured;
	int err;

	err = files__raise_limit();
	if (err)
		return err;
	if (opts->command)
		err = list_objects__of_command(opts->command, opts->slow_path, &list);
	else
		err = list_objects__of_pids(opts->pids, opts->nr_pids, opts->slow_path,
					    &list);
	if (err)
		return err;
	/* Without privileges the table has something to tell, too. */
	measured = !probe_cost__measure(PROBE_AUTO, &costs);
	if (opts->json)
		list_print__json(stdout, &list, measured ? &costs : NULL);
	else
		list_print__text(stdout, &list, measured ? &costs : NULL);
	list_objects__exit(&list);
	return 0;
}

int cmd_list(int argc, const char **argv)
{
	struct list_opts opts = {};
	int err;

	parse(&opts, argc, argv);
	err = opts.env ? list_env() : list_probes(&opts);
	free(opts.pids);
	return err ? 1 : 0;
}
