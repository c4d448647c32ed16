/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CHURN_RANGES_H
#define PERF_CHURN_CHURN_RANGES_H

#include <stdbool.h>
#include <linux/types.h>

struct machine;
struct pdreader;
struct roles;

/**
 * ranges__read() - Tell the machine where allocators have their code.
 * @nr_bad: Counts samples that could not be decoded.
 * @all_glibc: Whether all of them are glibc's, our own aside; false without any.
 *
 * They stand at the end of the file, but addresses are resolved from its beginning: this is a pass
 * of its own over the file, if it has such an event.
 *
 * Return: 0 or a negative errno; the error is printed, but for -ENOMEM.
 */
int ranges__read(struct pdreader *r, const struct roles *roles, struct machine *machine,
		 __u64 *nr_bad, bool *all_glibc);

#endif /* PERF_CHURN_CHURN_RANGES_H */
