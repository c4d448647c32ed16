/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * event_ids.h - which event a sample belongs to.
 */
#ifndef PERF_CHURN_TRACE_EVENT_IDS_H
#define PERF_CHURN_TRACE_EVENT_IDS_H

#include <stddef.h>
#include <linux/perf_event.h>

struct event_ids;
struct ring_event;

/**
 * event_ids__new() - Index the sample ids of events.
 * @events: From rings__events(), @nr of them; not needed any more afterwards.
 */
int event_ids__new(const struct ring_event *events, size_t nr, struct event_ids **ret);
void event_ids__free(struct event_ids *ids);

/**
 * event_ids__find() - Number of a sample's event.
 * @sample: With PERF_SAMPLE_IDENTIFIER, as all ours.
 *
 * Return: From 0 on, or -ENOENT.
 */
int event_ids__find(const struct event_ids *ids, const struct perf_event_header *sample);

#endif /* PERF_CHURN_TRACE_EVENT_IDS_H */
