/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * share.h - shares and ratios of weighted samples, with the standard error that sampling gives
 * them.
 *
 * Where every call was sampled the error is 0: it says how well the recording is known, not how the
 * program would do another time.
 */
#ifndef PERF_CHURN_CHURN_SHARE_H
#define PERF_CHURN_CHURN_SHARE_H

#include "calibrate.h"

/** struct share_sum - Zero it. Sums of w and w(w-1) of samples that are, and that are not. */
struct share_sum {
	double yes, no;
	double var_yes, var_no;
};

/** share_sum__add() - A sample that is by @part, 0 to 1. */
void share_sum__add(struct share_sum *s, __u64 weight, double part);

/**
 * share_sum__estimate() - The share, 0 to 1; NAN without samples.
 *
 * The error is that of a ratio, but not below that of a share drawn towards one half by two samples
 * each way (Agresti and Coull): three of three samples do not make a certainty.
 */
struct estimate share_sum__estimate(const struct share_sum *s);

/** struct ratio_sum - Zero it. Sums for the ratio of two figures of each sample. */
struct ratio_sum {
	double above, below;
	double var_above, var_below, cov;
};

void ratio_sum__add(struct ratio_sum *s, __u64 weight, double above, double below);

/** ratio_sum__estimate() - NAN when the lower sum is 0. */
struct estimate ratio_sum__estimate(const struct ratio_sum *s);

/** ratio_of_means() - Mean size of @above by that of @below, two independent sets of samples. */
struct estimate ratio_of_means(const struct tally *above, const struct tally *below);

/** estimate__unknown() - A figure that is not known. */
struct estimate estimate__unknown(void);

/** surely_above() - By two standard errors; never for what is not known. */
bool surely_above(const struct estimate *e, double threshold);
bool surely_below(const struct estimate *e, double threshold);

#endif /* PERF_CHURN_CHURN_SHARE_H */
