// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "sample_rate.h"

#include "util/msg.h"

#define SYSCTL_FILE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define DEFAULT_MAX_HZ	100000		/* the kernel's own, should the file be hidden */

static __u64 read_max(void)
{
	FILE *file = fopen(SYSCTL_FILE, "re");
	unsigned long long hz;

	if (!file || fscanf(file, "%llu", &hz) != 1 || !hz)
		hz = DEFAULT_MAX_HZ;
	if (file)
		fclose(file);
	return hz;
}

int sample_rate__fit(__u64 *freq_hz, bool wanted, bool strict)
{
	__u64 max_hz = read_max();

	if (*freq_hz <= max_hz)
		return 0;
	if (*freq_hz == SAMPLE_RATE_MAX) {
		pr_info("-F max: %llu Hz, as kernel.perf_event_max_sample_rate allows.\n", max_hz);
	} else if (wanted && strict) {
		pr_err("-F %llu: more than kernel.perf_event_max_sample_rate allows (%llu Hz): raise that, or leave --strict-freq out.\n",
		       *freq_hz, max_hz);
		return -EINVAL;
	} else if (wanted) {
		pr_warning("-F %llu: throttled to %llu Hz, as kernel.perf_event_max_sample_rate allows (--strict-freq refuses instead).\n",
			   *freq_hz, max_hz);
	}
	*freq_hz = max_hz;
	return 0;
}
