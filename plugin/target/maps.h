/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maps.h - lines of /proc/PID/maps.
 */
#ifndef PERF_CHURN_TARGET_MAPS_H
#define PERF_CHURN_TARGET_MAPS_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * struct maps_entry - One mapping.
 * @pgoff: File offset of @start.
 * @path: Points into the parsed line; "" for anonymous memory. Newlines are back in it.
 */
struct maps_entry {
	__u64 start, end, pgoff;
	bool is_executable, is_writable;
	__u64 dev, ino;
	const char *path;
};

/**
 * maps_entry__parse() - Take a line apart.
 * @line: Changed: its newline and the escapes in the path go.
 *
 * Return: Is it a line of a maps file?
 */
bool maps_entry__parse(char *line, struct maps_entry *ret);

#endif /* PERF_CHURN_TARGET_MAPS_H */
