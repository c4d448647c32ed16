/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook_site.h - is a probe on the preload library's fast hook worth it on this kernel?
 */
#ifndef PERF_CHURN_TRACE_HOOK_SITE_H
#define PERF_CHURN_TRACE_HOOK_SITE_H

#include <stdbool.h>

struct attach_sites;

/**
 * hook_site__fast_is_faster() - Try both hooks in a process of our own that does nothing else.
 * @prog_fd: The program for uprobe_multi links; it may do nothing.
 * @sites: Two: the hook that is always probed, and the fast one.
 * @link_fd: The link that was used, bound to a process that has ended: to be closed when time does not
 *	matter, since that takes the kernel some 30 ms. -1: there is none.
 *
 * Linux 6.18 makes a call of a probed 5-byte nop; older kernels single-step it, at twice the price of the
 * other hook, or do not fire at all.
 *
 * Return: false also when it could not be tried.
 */
bool hook_site__fast_is_faster(int prog_fd, const struct attach_sites *sites, int *link_fd);

#endif /* PERF_CHURN_TRACE_HOOK_SITE_H */
