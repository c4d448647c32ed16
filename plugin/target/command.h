/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * command.h - which program a command line runs.
 */
#ifndef PERF_CHURN_TARGET_COMMAND_H
#define PERF_CHURN_TARGET_COMMAND_H

#include <stddef.h>

/**
 * command__find() - The file that execvp() takes for a command.
 * @ret: Its path, malloc'ed.
 *
 * Return: 0, -ENOENT, -EACCES (found, but no executable file), -ENOMEM.
 */
int command__find(const char *name, char **ret);

/**
 * command__program() - The program that runs in the end: scripts are followed to their interpreter.
 * @ret: Its path, malloc'ed.
 *
 * Return: As command__find(); -ELOOP for scripts run by scripts, deeper than the kernel goes.
 */
int command__program(const char *name, char **ret);

/**
 * command__explain() - Print one line why a command cannot be run.
 * @err: What command__program(), workload__images() or execvp() said.
 */
void command__explain(const char *name, int err);

/**
 * script__interpreter() - Read a "#!" line.
 * @text: First bytes of a file.
 * @ret: The interpreter, without its argument. malloc'ed.
 *
 * Return: 0, -ENOEXEC when there is no such line, -ENOMEM.
 */
int script__interpreter(const char *text, size_t nr_bytes, char **ret);

#endif /* PERF_CHURN_TARGET_COMMAND_H */
