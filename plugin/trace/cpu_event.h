/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu_event.h - names of the events that profile the CPU, as perf's -e takes them.
 */
#ifndef PERF_CHURN_TRACE_CPU_EVENT_H
#define PERF_CHURN_TRACE_CPU_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#define CPU_EVENT_MAX	8

/**
 * struct cpu_event - A generic hardware or software event.
 * @name: As it shall stand in the file, with its modifiers ("cycles:u").
 * @attr: type, config and exclude_* are set, nothing else.
 */
struct cpu_event {
	char name[64];
	struct perf_event_attr attr;
};

/**
 * cpu_events__parse() - Parse a comma-separated list like "cycles:u,page-faults".
 * @events: Room for CPU_EVENT_MAX.
 * @nr: Set to the number of events on success.
 *
 * Return: 0, or -EINVAL for an unknown event or modifier or too many; printed.
 */
int cpu_events__parse(const char *list, struct cpu_event *events, size_t *nr);

/** cpu_event__restrict() - Count in user space (--all-user), or in the kernel, only; in the name, too. */
void cpu_event__restrict(struct cpu_event *event, bool user);

/**
 * cpu_event__fall_back() - Turn "cycles" into "cpu-clock", modifiers kept.
 *
 * Return: 0, or -ENOENT when the event is no cycles event (there is no stand-in for it).
 */
int cpu_event__fall_back(struct cpu_event *event);

#endif /* PERF_CHURN_TRACE_CPU_EVENT_H */
