// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf-churn - the subcommand table, nothing else.
 *
 * perf runs us as "perf churn ...": perf-churn on PATH, argv[0] being "perf-churn".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <subcmd/exec-cmd.h>
#include <subcmd/pager.h>

#include "cmd/cmds.h"

#define EXIT_USAGE	129

struct command {
	const char *name;
	int (*run)(int argc, const char **argv);
	const char *help;
};

static const struct command commands[] = {
	{ "record", cmd_record, "Run a command and record its CPU samples and heap events" },
	{ "report", cmd_report, "Read perf.data and show which call sites churn the heap" },
	{ "list", cmd_list, "List the probes that a target would get and what each would cost" },
	{ "run", cmd_run, "Run a command with the preload library, to be recorded later" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
	size_t i;

	fprintf(out, "\n usage: perf churn [-v] [-h] COMMAND [ARGS]\n\n");
	fprintf(out, " The commands are:\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "   %-10s%s\n", commands[i].name, commands[i].help);
	fprintf(out, "\n See 'perf churn COMMAND -h' for a command's options.\n\n");
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

/* A report cut short by a full disk must not look like a good one. */
static int finish_stdout(int status)
{
	struct stat st;

	if (fstat(fileno(stdout), &st))
		return status;
	/* Whoever closed a pipe or socket early has seen enough. */
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return status;
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "perf churn: cannot write standard output: %s\n",
			errno ? strerror(errno) : "write error");
		return status ?: 1;
	}
	return status;
}

static int run_command(const struct command *cmd, int argc, const char **argv)
{
	int status = cmd->run(argc, argv);

	return finish_stdout(status < 0 ? 1 : status);
}

/* exec_cmd_init() sets PREFIX for scripts of perf; a recorded command must not see that. */
static void init_subcmd(void)
{
	char *prefix = getenv("PREFIX");

	prefix = prefix ? strdup(prefix) : NULL;
	exec_cmd_init("perf churn", "", "", "PERF_EXEC_PATH");
	if (prefix)
		setenv("PREFIX", prefix, 1);
	else
		unsetenv("PREFIX");
	free(prefix);
}

/*
 * A standard stream that was closed would be given to the next file opened, and messages be written
 * into that. In its place stands one that cannot be written; commands do not inherit it.
 */
static void fill_closed_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, const char **argv)
{
	const struct command *cmd;

	fill_closed_streams();
	init_subcmd();
	pager_init("PERF_PAGER");

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v")) {
		printf("perf-churn version %s\n", PERF_CHURN_VERSION);
		return finish_stdout(0);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_usage(stdout);
		return finish_stdout(0);
	}
	if (argv[1][0] == '-') {
		fprintf(stderr, "perf churn: unknown option '%s'\n", argv[1]);
		print_usage(stderr);
		return EXIT_USAGE;
	}
	cmd = find_command(argv[1]);
	if (!cmd) {
		fprintf(stderr, "perf churn: '%s' is not a perf churn command. See 'perf churn -h'.\n",
			argv[1]);
		return EXIT_USAGE;
	}
	return run_command(cmd, argc - 1, argv + 1);
}
