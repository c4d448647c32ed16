/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_PERFDATA_FORMATS_H
#define PERF_CHURN_PERFDATA_FORMATS_H

#include <linux/types.h>

/**
 * churn_format__text() - The tracefs format text of one of our events.
 * @id: enum churn_event_id.
 *
 * Return: A string that lives as long as the program, or NULL for an unknown id.
 * It says exactly what bpf/churn.h lays out; formats_test compares the two.
 */
const char *churn_format__text(__u32 id);

/** churn_format__name() - "alloc" for CHURN_ALLOC_ID and so on; NULL for an unknown id. */
const char *churn_format__name(__u32 id);

/* A word of the VERSION feature until the recording is finished; see churn-events.txt. */
#define VERSION_UNFINISHED	"(unfinished)"

#endif /* PERF_CHURN_PERFDATA_FORMATS_H */
