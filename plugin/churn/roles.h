/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * roles.h - what each event of a file is to the report, and where its fields are.
 */
#ifndef PERF_CHURN_CHURN_ROLES_H
#define PERF_CHURN_CHURN_ROLES_H

#include <stdbool.h>
#include <linux/types.h>
#include "bpf/churn.h"

struct pdevent;
struct pdreader;
struct pdsample;
struct tep_format_field;

enum role_kind {
	ROLE_NONE,
	ROLE_CPU,
	ROLE_ALLOC,
	ROLE_FREE,
	ROLE_WINDOW,
	ROLE_PROBE,
	ROLE_RANGE,
	ROLE_STACKS,
	ROLE_FOREIGN,		/* an allocation seen by a probe that is not ours */
};

#define ROLE_MAX_FIELDS		30

struct role {
	enum role_kind kind;
	const struct tep_format_field *fields[ROLE_MAX_FIELDS];
};

/**
 * struct roles - One role per event, by pdevent.idx.
 * @cpu, @alloc: An event of role ROLE_CPU, and of ROLE_ALLOC or ROLE_FOREIGN; NULL without one.
 * @has: By role_kind: some event has it.
 */
struct roles {
	struct role *by_idx;
	const struct pdevent *cpu, *alloc;
	bool has[ROLE_FOREIGN + 1];
};

/**
 * roles__init() - Look at all events of a file.
 *
 * Probes of others count only where the file has no churn:alloc of ours: they may well be on the
 * same functions.
 *
 * Return: 0 or -ENOMEM.
 */
int roles__init(struct roles *roles, const struct pdreader *r);
void roles__exit(struct roles *roles);

/* Decode a sample of an event with that role. Return: 0, or -EINVAL for a payload cut short. */
int role__alloc(const struct role *role, const struct pdsample *s, struct churn_alloc *ret);
int role__free(const struct role *role, const struct pdsample *s, struct churn_free *ret);
int role__window(const struct role *role, const struct pdsample *s, struct churn_window *ret);
int role__probe(const struct role *role, const struct pdsample *s, struct churn_probe *ret);
int role__range(const struct role *role, const struct pdsample *s, struct churn_range *ret);
int role__stacks(const struct role *role, const struct pdsample *s, struct churn_stacks *ret);
int role__foreign(const struct role *role, const struct pdsample *s, __u64 *size_bytes);

#endif /* PERF_CHURN_CHURN_ROLES_H */
