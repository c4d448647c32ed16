// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process's end. One that comes by exec, by a signal or by the bare system call loses what its
 * threads have counted since they last reported it: what a small part of a gap takes, or 0.1 s.
 */
#include <linux/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"
#include "report.h"
#include "thread.h"

#define EXPORT	__attribute__((visibility("default")))

__attribute__((destructor)) static void at_exit(void)
{
	report__all();
	thread__end();
}

/* Forked children end with it. May be called by a signal handler, and by a child of vfork. */
EXPORT void _exit(int status)
{
	report__all();
	if (next__find() && next.exit_now)
		next.exit_now(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status) __attribute__((alias("_exit"), noreturn));
