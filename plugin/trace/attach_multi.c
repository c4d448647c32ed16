// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "attach.h"
#include "bpf/churn.h"
#include "bpf/control.h"

#ifndef BPF_F_UPROBE_MULTI_RETURN
#define BPF_F_UPROBE_MULTI_RETURN	1
#endif

/* Only with a return probe does a free end that may call another free. */
bool attach_has_return(__u64 cookie)
{
	__u32 fn = CHURN_COOKIE_FN(cookie);

	return cookie & CHURN_COOKIE_WRAPS ||
	       (fn != CHURN_FN_FREE && fn != CHURN_FN_OS_ALLOC && fn != CHURN_FN_OS_FREE);
}

/*
 * By hand: libbpf 1.5 knows no sessions, and it takes one path for the check and the attach,
 * while ours may be /proc/PID/root or map_files of a process that is about to end.
 */
int attach_multi(int prog_fd, int attach_type, const struct attach_sites *sites, pid_t pid,
		 bool on_return)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = prog_fd;
	attr.link_create.attach_type = attach_type;
	attr.link_create.uprobe_multi.path = (__u64)(unsigned long)sites->path;
	attr.link_create.uprobe_multi.offsets = (__u64)(unsigned long)sites->offsets;
	attr.link_create.uprobe_multi.cookies = (__u64)(unsigned long)sites->cookies;
	attr.link_create.uprobe_multi.ref_ctr_offsets = (__u64)(unsigned long)sites->counters;
	attr.link_create.uprobe_multi.cnt = sites->nr;
	attr.link_create.uprobe_multi.pid = pid;
	attr.link_create.uprobe_multi.flags = on_return ? BPF_F_UPROBE_MULTI_RETURN : 0;

	fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}
