/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * feed.h - from a file's records to the model: filters, decodes, resolves stacks.
 *
 * Each distinct raw callchain of an address space is resolved once; after that a sample costs a
 * few look-ups.
 */
#ifndef PERF_CHURN_CHURN_FEED_H
#define PERF_CHURN_CHURN_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct feed;
struct filter;
struct machine;
struct names;
struct pdreader;
struct report;

/**
 * struct feed_opts - All must outlive the feed. Stacks are always looked at whole.
 * @site_depth: Frames that tell sites apart, from the call outwards; PLACE_ALL_FRAMES: all.
 * @progress: Called now and then while reading; NULL: not.
 */
struct feed_opts {
	const struct filter *filter;
	const struct names *names;
	size_t site_depth;
	void (*progress)(void *ctx, __u64 done_bytes, __u64 total_bytes);
	void *progress_ctx;
};

/**
 * feed__new() - Look at a file's events.
 *
 * Return: 0, -ENOMSG when the file has no allocation events (not printed), or -ENOMEM.
 */
int feed__new(const struct feed_opts *opts, struct pdreader *r, struct machine *machine,
	      struct feed **ret);
void feed__free(struct feed *f);

/** feed__read() - Read the whole file. Return: 0 or a negative errno, printed but for -ENOMEM. */
int feed__read(struct feed *f);

/** feed__report() - Work out the report; it lives as long as the feed. */
int feed__report(struct feed *f, const struct report **ret);

#endif /* PERF_CHURN_CHURN_FEED_H */
