/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filter.h - which samples the report is about.
 */
#ifndef PERF_CHURN_CHURN_FILTER_H
#define PERF_CHURN_CHURN_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/** struct word_list - Names out of a comma-separated option; none: everything passes. */
struct word_list {
	char **words;
	size_t nr;
};

/** struct id_list - Process or thread ids; none: everything passes. */
struct id_list {
	int *ids;
	int nr;
};

/**
 * struct filter - Zeroed: everything passes. Lists are the filter's.
 * @dsos, @symbols: Of the site; an object also by its file name alone.
 * @start_ns, @end_ns: Time span, both ends included; @end_ns 0: no end.
 */
struct filter {
	struct id_list pids, tids, cpus;
	struct word_list comms, dsos, symbols;
	__u64 start_ns, end_ns;
};

void filter__exit(struct filter *f);

/** word_list__parse() - Split at commas. Return: 0, -EINVAL for an empty word, -ENOMEM. */
int word_list__parse(struct word_list *list, const char *text);

/**
 * filter__parse_time() - perf's --time: "start,stop" in seconds of the recording's clock, either
 * may be empty; "10%-20%" of the time between @first_ns and @last_ns; "10%/2", the second tenth.
 *
 * Return: 0, -EINVAL for other text, -ENODATA for per cent of an unknown time.
 */
int filter__parse_time(struct filter *f, const char *text, __u64 first_ns, __u64 last_ns);

/** filter__is_set() - Something is left out. */
bool filter__is_set(const struct filter *f);

/** filter__only_pids() - Nothing but processes is left out: per-process totals stay true. */
bool filter__only_pids(const struct filter *f);

/** filter__has_site() - Sites are left out. */
bool filter__has_site(const struct filter *f);

/** filter__parse_cpus() - "0-3,5". Return: 0, -EINVAL, or -ENOMEM. */
int filter__parse_cpus(struct filter *f, const char *text);

bool filter__cpu(const struct filter *f, __u32 cpu);
bool filter__pid(const struct filter *f, __u32 pid);
bool filter__time(const struct filter *f, __u64 time_ns);
bool filter__thread(const struct filter *f, __u32 pid, __u32 tid, const char *comm);
bool filter__site(const struct filter *f, const char *sym, const char *dso);

#endif /* PERF_CHURN_CHURN_FILTER_H */
