// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>

#include "msg.h"

static int verbose;

void msg__set_verbose(int level)
{
	verbose = level;
}

int msg__verbose(void)
{
	return verbose;
}

#define DEFINE_PR(name, min_level)				\
void name(const char *fmt, ...)					\
{								\
	va_list args;						\
								\
	if (verbose < (min_level))				\
		return;						\
	va_start(args, fmt);					\
	vfprintf(stderr, fmt, args);				\
	va_end(args);						\
}

DEFINE_PR(pr_err, -1)
DEFINE_PR(pr_warning, 0)
DEFINE_PR(pr_info, 0)
DEFINE_PR(pr_debug, 1)
