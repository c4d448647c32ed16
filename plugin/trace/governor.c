// SPDX-License-Identifier: GPL-2.0-only
#include "governor.h"

#define MAX_PERIOD	(1ULL << 20)

__u64 governor__period(__u64 nr_calls, __u64 slice_ns, __u64 samples_per_s, __u64 last_period)
{
	double calls_per_s, wanted;
	__u64 period;

	if (!slice_ns || !samples_per_s)
		return last_period;
	calls_per_s = nr_calls * 1e9 / slice_ns;
	wanted = calls_per_s / samples_per_s;
	period = wanted < 1 ? 1 : wanted > MAX_PERIOD ? MAX_PERIOD : (__u64)(wanted + 0.5);
	if (period < last_period / 2)
		period = last_period / 2;
	return period ? period : 1;
}
