/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CMD_CMDS_H
#define PERF_CHURN_CMD_CMDS_H

/*
 * The subcommands, as main() calls them: @argv[0] is the subcommand's name.
 *
 * Return: the exit status: 0 done, 1 failed, 129 bad usage; record returns the
 * workload's otherwise, and run becomes its command. A negative errno counts as
 * failed and is printed already.
 */
int cmd_record(int argc, const char **argv);
int cmd_report(int argc, const char **argv);
int cmd_list(int argc, const char **argv);
int cmd_run(int argc, const char **argv);

#endif /* PERF_CHURN_CMD_CMDS_H */
