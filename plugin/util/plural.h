/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_UTIL_PLURAL_H
#define PERF_CHURN_UTIL_PLURAL_H

#include <linux/types.h>

/** plural() - @one for a single thing, else @many. */
static inline const char *plural(__u64 nr, const char *one, const char *many)
{
	return nr == 1 ? one : many;
}

#endif /* PERF_CHURN_UTIL_PLURAL_H */
