/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hist.h - weighted histograms over powers of two.
 */
#ifndef PERF_CHURN_CHURN_HIST_H
#define PERF_CHURN_CHURN_HIST_H

#include <linux/types.h>

/** LOG2_CLASSES - Classes of log2_class(): upper bounds 1, 2, 4 ... 2^63, and above. */
#define LOG2_CLASSES	65

/** log2_class() - Number of the class (2^(k-1), 2^k] that holds @value; 0 for 0 and 1. */
unsigned int log2_class(__u64 value);

/** log2_class_bound() - Upper bound of a class, as size_class and life_class have it. */
__u64 log2_class_bound(unsigned int class);

/**
 * struct lives - Lifetimes of a site's blocks, four buckets to a power of two.
 *
 * Zero it to begin with. Holds weights of blocks freed (@freed) and of blocks last seen alive
 * (@censored) by age; only the buckets in use take memory.
 */
struct lives {
	double *freed;
	double *censored;
	unsigned int first;
	unsigned int nr;
};

void lives__exit(struct lives *l);

/** lives__add_freed() - A block that was freed after @life_ns. Return: 0 or -ENOMEM. */
int lives__add_freed(struct lives *l, __u64 life_ns, double weight);

/** lives__add_censored() - A block that was still there after @age_ns. Return: 0 or -ENOMEM. */
int lives__add_censored(struct lives *l, __u64 age_ns, double weight);

/**
 * lives__median() - Kaplan-Meier estimate of the median lifetime, in ns.
 *
 * Exact to the bucket, a quarter of a power of two. Blocks censored inside a bucket count as
 * at risk for half of it.
 *
 * Return: NAN when less than half of the blocks are known to have died.
 */
double lives__median(const struct lives *l);

/** lives__quantile() - The same of another part of the blocks, 0 to 1. */
double lives__quantile(const struct lives *l, double part);

/**
 * lives__quantile_error() - Its standard error: half the way between where survival is one error
 * (by Greenwood's formula) below and above that part.
 * @design: Mean of w - 1 over the blocks, by weight; 0: there are all of them, and no error.
 *
 * Return: NAN when it is not known: survival does not fall so far, or fewer than 3 samples lie
 * beyond.
 */
double lives__quantile_error(const struct lives *l, double part, double design);

#endif /* PERF_CHURN_CHURN_HIST_H */
