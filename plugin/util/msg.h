/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_UTIL_MSG_H
#define PERF_CHURN_UTIL_MSG_H

/**
 * msg__set_verbose() - Set how much is said on stderr.
 * @level: -1: errors only (-q), 0: errors, warnings and notices, 1 and up: debug lines too (-v).
 *
 * The only state this program shares between rooms, as in perf itself.
 */
void msg__set_verbose(int level);
int msg__verbose(void);

/* One line each, to stderr; the newline belongs to the format, as in perf. */
void pr_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void pr_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void pr_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void pr_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* PERF_CHURN_UTIL_MSG_H */
