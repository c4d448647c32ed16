/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * settings.h - what the environment asks for (bpf/preload.h).
 */
#ifndef PERF_CHURN_PRELOAD_SETTINGS_H
#define PERF_CHURN_PRELOAD_SETTINGS_H

#include <linux/types.h>
#include <stdbool.h>

/**
 * struct settings - The environment as it was when the program started.
 * @session: 0: none.
 * @period: Mean gap between samples in calls, or in bytes; 0: adapt.
 * @by_bytes: @period is in bytes.
 * @rate: Samples per second of CPU time to adapt to.
 */
struct settings {
	__u64 session;
	__u64 period;
	bool by_bytes;
	__u64 rate;
};

/**
 * settings__get() - Read the environment, at the first time.
 *
 * Return: The settings, or NULL while libc has no environment yet.
 */
const struct settings *settings__get(void);

#endif /* PERF_CHURN_PRELOAD_SETTINGS_H */
