/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perfmap.h - names of generated code, from the /tmp/perf-PID.map that its program wrote.
 *
 * Lines of "START SIZE NAME", the numbers in hex. Any process may have written any text there.
 */
#ifndef PERF_CHURN_STACK_PERFMAP_H
#define PERF_CHURN_STACK_PERFMAP_H

#include <stdbool.h>
#include <linux/types.h>

struct symtab;

#define PERFMAP_PATH_BYTES	32

/** perfmap__covers() - Code in a mapping of that name is generated: anonymous memory and its kin. */
bool perfmap__covers(const char *mapped);

/**
 * perfmap__path() - The name of a process's map file, which is also its object's.
 * @symfs: See struct locate_env.
 * @path: Room for PERFMAP_PATH_BYTES.
 *
 * Return: Whether there is such a file, whosoever's; nothing is opened.
 */
bool perfmap__path(__u32 pid, const char *symfs, char *path);

/** perfmap__pid() - The process whose map file has this path; 0: it is another file's. */
__u32 perfmap__pid(const char *path);

/**
 * perfmap__load() - Read it.
 * @force: Whoever owns it; else it must be root or the current user, as in perf.
 * @tab: Filled and finished. Where code took the place of other code, the later line holds.
 *
 * The file of a living process is looked for in its own /tmp, by the pid it has there, first.
 *
 * Return: 0, -EPERM for the wrong owner, -ENOENT, -E2BIG when some lines were left out, -ENOMEM,
 * -EIO. Prints nothing.
 */
int perfmap__load(__u32 pid, const char *symfs, bool force, struct symtab *tab);

#endif /* PERF_CHURN_STACK_PERFMAP_H */
