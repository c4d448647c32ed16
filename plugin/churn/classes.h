/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * classes.h - a histogram over powers of two that remembers how sure each class is.
 */
#ifndef PERF_CHURN_CHURN_CLASSES_H
#define PERF_CHURN_CHURN_CLASSES_H

#include "calibrate.h"

/** struct classes - Zero it. Only the classes between the smallest and the largest take memory. */
struct classes {
	struct tally *tallies;
	unsigned int first, nr;
};

void classes__exit(struct classes *c);

/** classes__add() - A sample of this value, see log2_class(). Return: 0 or -ENOMEM. */
int classes__add(struct classes *c, __u64 value, __u64 weight);

/**
 * classes__finish() - As figures.
 * @ret: malloc'ed, @ret_nr of them; the caller frees it. NULL when there are none.
 *
 * Return: 0 or -ENOMEM.
 */
int classes__finish(const struct classes *c, const struct calibration *calibration,
		    struct report_class **ret, size_t *ret_nr);

#endif /* PERF_CHURN_CHURN_CLASSES_H */
