/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bounds.h - which figures of a recording with holes are still what, and which are only bounds.
 *
 *	Counts of calls	too low where samples are missing: lower bounds. Counted totals know of lost
 *			samples, but not of time without probes or of a file that ends early.
 *	Live blocks	a lost free leaves its block live; an allocation that was lost, or made before
 *			the probes were there, may live unseen. With counted totals the lost ones can
 *			be added, which gives an upper bound for the whole; for a site there is none.
 *	Sizes, lives	losses come in bursts, and what was going on then is underrated: not known.
 */
#ifndef PERF_CHURN_CHURN_BOUNDS_H
#define PERF_CHURN_CHURN_BOUNDS_H

struct model;

/** mark_bounds() - Set the bounds of all figures in a finished report. */
void mark_bounds(struct model *m);

#endif /* PERF_CHURN_CHURN_BOUNDS_H */
