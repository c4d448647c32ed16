/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * regex_cost.h - regular expressions that would keep regcomp(3) or regexec(3) busy for ever.
 */
#ifndef PERF_CHURN_CHURN_REGEX_COST_H
#define PERF_CHURN_CHURN_REGEX_COST_H

#define REGEX_MAX_BYTES		1000
#define REGEX_MAX_DEPTH		50
#define REGEX_MAX_ATOMS		1000

/**
 * regex_cost__refuse() - Why an extended regular expression is not given to the C library.
 *
 * Return: One of a few texts, or NULL when it is cheap enough. What is no regular expression at all
 * may pass: regcomp() tells.
 */
const char *regex_cost__refuse(const char *regex);

#endif /* PERF_CHURN_CHURN_REGEX_COST_H */
