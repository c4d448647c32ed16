/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_CHURN_DESCRIBE_H
#define PERF_CHURN_CHURN_DESCRIBE_H

struct pdreader;
struct report_recording;
struct roles;
struct stacks;

/**
 * describe_recording() - What a file says about how it was made.
 * @strings: Owns the strings handed out.
 *
 * Return: 0 or -ENOMEM.
 */
int describe_recording(const struct pdreader *r, const struct roles *roles,
		       struct stacks *strings, struct report_recording *ret);

#endif /* PERF_CHURN_CHURN_DESCRIBE_H */
