/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_STACK_DEMANGLE_H
#define PERF_CHURN_STACK_DEMANGLE_H

/**
 * demangle__name() - C++ (Itanium ABI) and Rust (v0 and legacy) names as perf report shows them.
 *
 * Without parameters, return types and Rust's hashes, as perf 6.1 without -v. Work and output
 * are bounded: a name built to explode is left as it is.
 *
 * Return: malloc'ed text, or NULL when @mangled is no mangled name or too much.
 */
char *demangle__name(const char *mangled);

#endif /* PERF_CHURN_STACK_DEMANGLE_H */
