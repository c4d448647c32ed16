/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel.h - kernel and module addresses.
 *
 * Names come from /proc/kallsyms, and only if the recording was made on the running kernel: the
 * build-id of its map says so, or, without one, the address of the symbol the map is named
 * after. For another kernel they come from the copy that perf record left in ~/.debug. The user
 * may name other files: a copy of kallsyms, and a vmlinux, which then names the kernel proper.
 */
#ifndef PERF_CHURN_STACK_KERNEL_H
#define PERF_CHURN_STACK_KERNEL_H

#include <linux/types.h>

struct dso_env;
struct frame;
struct kernel;
struct machine_opts;
struct pdmap;
struct space_pool;
struct strpool;

/** kernel__new() - No maps yet; the arguments must outlive it. Return: 0 or -ENOMEM. */
int kernel__new(const struct machine_opts *opts, struct dso_env *env, struct strpool *strings,
		struct space_pool *pool, struct kernel **ret);
void kernel__free(struct kernel *k);

/** kernel__map() - A record of the kernel's text or of a module. Return: 0 or as space__map(). */
int kernel__map(struct kernel *k, const struct pdmap *map);

/**
 * kernel__name() - Fill in dso, sym, sym_start, rel_ip and kernel of a frame.
 * @addr: Address to look up; rel_ip becomes frame->ip.
 *
 * What keeps kernel addresses from having names, and what to do, is said once.
 */
void kernel__name(struct kernel *k, __u64 addr, struct frame *frame);

#endif /* PERF_CHURN_STACK_KERNEL_H */
