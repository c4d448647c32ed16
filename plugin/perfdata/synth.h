/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_PERFDATA_SYNTH_H
#define PERF_CHURN_PERFDATA_SYNTH_H

#include <stdbool.h>
#include <sys/types.h>

struct pdwriter;

/**
 * synth__kernel() - Write MMAP2 records for the kernel's text and its modules.
 *
 * Names as perf writes them ("[kernel.kallsyms]_text", module paths), from /proc/kallsyms and
 * /proc/modules; nothing where kptr_restrict hides the addresses (one notice).
 */
int synth__kernel(struct pdwriter *w);

/**
 * synth__process() - Write COMM, FORK (for each thread) and MMAP2 records of a running process.
 * @data: Mappings of files that are not executable, too: unwinders find .eh_frame there.
 * @pid: Process id (tgid). Mappings carry the file's build-id where it has one, as perf's
 *	--buildid-mmap does. Every record ends in a sample_id trailer for sample_type
 *	IDENTIFIER|TID|TIME|CPU (sample_id_all), zeroed but for pid and tid.
 *
 * Return: 0, -ESRCH when the process is gone, or another negative errno.
 */
int synth__process(struct pdwriter *w, pid_t pid, bool data);

#endif /* PERF_CHURN_PERFDATA_SYNTH_H */
