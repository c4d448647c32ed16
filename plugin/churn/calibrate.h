/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calibrate.h - estimates for parts (a site, a path, a class) that agree with a counted whole.
 *
 * Samples alone may give a site more than the whole program did. What the whole is off by is shared
 * out to the parts by their variances: that is the regression estimator, with the best slope for
 * independent draws, cov(part, whole) / var(whole) = var(part) / var(whole). Parts that make up the
 * whole then sum up to it, and none of them gets a larger error: var(part) x (1 - slope) is left.
 * With equal weights it is the ratio estimator for counts. For bytes it is better: a few large blocks
 * that the samples missed, or have by chance, do not scale sites of small ones.
 *
 * Samples out of windows are no independent draws: what a part has in a window goes up and down with
 * what the program does then. So the window is the draw, and the scatter over windows tells the error of
 * a part's share. The whole is an estimate, too, with an error of its own.
 */
#ifndef PERF_CHURN_CHURN_CALIBRATE_H
#define PERF_CHURN_CHURN_CALIBRATE_H

#include "report.h"

/* Sums of weights w over samples of size s: the estimate, and what its variance is made of. */
struct tally {
	double count, bytes;		/* w, w*s */
	double var, cov, var_bytes;	/* w(w-1), w(w-1)*s, w(w-1)*s*s; not of those in windows */
	__u64 nr;			/* samples */
	/* Over windows: y, b count and bytes in a window, Y and B those of the whole. */
	double yy, yY, bb, bB, yb;
	double in_window, bytes_in_window;
	__u32 window;			/* these are in it; 0: in none */
};

/** struct window_sum - What the whole has in a window. */
struct window_sum {
	double count, bytes;
};

void tally__add(struct tally *t, __u64 weight, __u64 size_bytes);
void tally__merge(struct tally *t, const struct tally *from);

/**
 * tally__add_in() - A sample of a window; those of a window come one after the other.
 * @window: Its number, from 1 on.
 * @sums: Of all windows by number; complete up to that one.
 */
void tally__add_in(struct tally *t, __u64 weight, __u64 size_bytes, __u32 window,
		   const struct window_sum *sums);

/** tally__end() - The last window is complete, too. */
void tally__end(struct tally *t, const struct window_sum *sums);

/** struct calibration - Zeroed: nothing was counted, estimates are those of the samples. */
struct calibration {
	struct tally whole;
	double counted_allocs, counted_bytes;
	struct estimate allocs, bytes;	/* in place of counts, out of */
	__u64 nr_windows;
};

/** calibration__init() - All samples are @whole, where these totals were counted. */
void calibration__init(struct calibration *c, const struct tally *whole, double allocs,
		       double bytes);

/** calibration__init_windows() - The whole is estimated by @nr_windows windows. */
void calibration__init_windows(struct calibration *c, const struct tally *whole, __u64 nr_windows,
			       const struct estimate *allocs, const struct estimate *bytes);

struct estimate calibration__count(const struct calibration *c, const struct tally *part);
struct estimate calibration__bytes(const struct calibration *c, const struct tally *part);

/**
 * calibration__mean() - Bytes of an allocation, by linearisation: the ratio of the two above or
 * that of the samples alone, whichever is surer.
 */
struct estimate calibration__mean(const struct calibration *c, const struct tally *part);

#endif /* PERF_CHURN_CHURN_CALIBRATE_H */
