// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ways that C programs have to seccomp come by here: prctl(), and syscall() for want of a function
 * of its own. A filter that was there before the program is not seen: that one has let the loader in.
 */
#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "confined.h"
#include "next.h"
#include "period.h"
#include "process.h"

#define EXPORT	__attribute__((visibility("default")))

/* libc's have three dots; what is not given is passed on as what the registers hold. */
EXPORT int prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4,
		 unsigned long arg5);
EXPORT long syscall(long nr, long arg1, long arg2, long arg3, long arg4, long arg5, long arg6);

/* Also when nobody listens yet: later it would be too late. */
static void prepare(void)
{
	int saved_errno = errno;
	struct process *p = process__get();

	confined__begin();
	/* Time is measured by another clock from now on. */
	if (p)
		period__begin(p);
	errno = saved_errno;
}

/*
 * Before the next definitions are known: an allocator that is being set up may be who calls, with its
 * lock held, and looking for them allocates.
 */
static long call_kernel(long nr, long arg1, long arg2, long arg3, long arg4, long arg5, long arg6)
{
	long ret = -ENOSYS;
#ifdef __x86_64__
	register long r10 __asm__("r10") = arg4, r8 __asm__("r8") = arg5, r9 __asm__("r9") = arg6;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(nr), "D"(arg1), "S"(arg2), "d"(arg3), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
#endif
	if (ret < 0 && ret > -4096) {
		errno = -ret;
		return -1;
	}
	return ret;
}

int prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5)
{
	if (option == PR_SET_SECCOMP && next__find())
		prepare();
	if (!next__is_known() || !next.prctl)
		return call_kernel(SYS_prctl, option, arg2, arg3, arg4, arg5, 0);
	return next.prctl(option, arg2, arg3, arg4, arg5);
}

long syscall(long nr, long arg1, long arg2, long arg3, long arg4, long arg5, long arg6)
{
	if (nr == SYS_seccomp && next__find() &&
	    (arg1 == SECCOMP_SET_MODE_STRICT || arg1 == SECCOMP_SET_MODE_FILTER))
		prepare();
	if (!next__is_known() || !next.syscall)
		return call_kernel(nr, arg1, arg2, arg3, arg4, arg5, arg6);
	return next.syscall(nr, arg1, arg2, arg3, arg4, arg5, arg6);
}
