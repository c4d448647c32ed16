/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * orders.h - what tracking records give to do, from the drain to the thread that does it: a process was
 * forked, it mapped a file executable, it exec'ed, it ended.
 */
#ifndef PERF_CHURN_TRACE_ORDERS_H
#define PERF_CHURN_TRACE_ORDERS_H

#include <sys/types.h>
#include <linux/types.h>

struct orders;
struct perf_event_header;

enum order_kind { ORDER_FORK, ORDER_MMAP, ORDER_EXEC, ORDER_EXIT };

/** struct order - @path: Of the file; "" with any other kind. */
struct order {
	struct order *next;
	enum order_kind kind;
	pid_t pid, ppid;
	__u64 time_ns;
	char path[];
};

int orders__new(struct orders **ret);
void orders__free(struct orders *all);

/** orders__record() - Stage what a record gives to do, if anything. Called by the drain. */
void orders__record(struct orders *all, const struct perf_event_header *record);

/** orders__flush() - A pass over the rings of all CPUs is over: queue what it brought, by time. */
void orders__flush(struct orders *all);

/** orders__next() - Wait for one. Return: The caller's, to free(); NULL: stopped, and none is left. */
struct order *orders__next(struct orders *all);

/** orders__stop() - No more will come. */
void orders__stop(struct orders *all);

#endif /* PERF_CHURN_TRACE_ORDERS_H */
