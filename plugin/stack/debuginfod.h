/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debuginfod.h - debug files and programs by build-id from debuginfod servers.
 *
 * Through libdebuginfod, loaded when first needed; it keeps what it fetched in its own cache.
 */
#ifndef PERF_CHURN_STACK_DEBUGINFOD_H
#define PERF_CHURN_STACK_DEBUGINFOD_H

#include "locate.h"

enum debuginfod_kind {
	DEBUGINFOD_EXECUTABLE,
	DEBUGINFOD_DEBUGINFO,
};

/**
 * debuginfod__new() - Make the servers known; nothing is asked yet.
 * @urls: As in DEBUGINFOD_URLS, which is set to it.
 *
 * Return: 0 or -ENOMEM.
 */
int debuginfod__new(const char *urls, struct debuginfod **ret);
void debuginfod__free(struct debuginfod *d);

/**
 * debuginfod__fetch() - Ask the servers.
 * @name: For messages.
 *
 * Says in a line what is being fetched. A server that fails, or sends nothing for 10 s, or one
 * file in 5 minutes, is said once and ends the asking for this run.
 *
 * Return: malloc'ed path in the cache, or NULL. Its contents are not checked.
 */
char *debuginfod__fetch(struct debuginfod *d, const struct build_id *id, enum debuginfod_kind kind,
			const char *name);

#endif /* PERF_CHURN_STACK_DEBUGINFOD_H */
