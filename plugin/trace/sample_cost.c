// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sample_cost.h"

#include "util/clock.h"
#include "util/median.h"

#define PERIOD_NS	100000.0	/* ten thousand samples a second: their cost stands out */
#define RUN_NS		3e6
#define RUNS		7
#define CPU_SHARE	0.01

static double run(long rounds)
{
	__u64 start = clock__thread_ns();
	volatile long sum = 0;
	long i;

	for (i = 0; i < rounds; i++)
		sum += i;
	return clock__thread_ns() - start;
}

static int open_event(__u32 type, __u64 config, __u64 period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type, .config = config, .sample_period = period,
		.sample_type = PERF_SAMPLE_IP, .disabled = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Does the clock take the samples, by interrupts of its own? */
static bool is_clock(const struct perf_event_attr *attr)
{
	int fd;

	if (attr->type == PERF_TYPE_SOFTWARE)
		return attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK;
	if (attr->type != PERF_TYPE_HARDWARE || attr->config != PERF_COUNT_HW_CPU_CYCLES)
		return false;
	fd = open_event(attr->type, attr->config, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ENOENT;
}

/* Nobody reads the samples, but the interrupts come. */
static double sampled_run(int fd, long rounds, double *nr_samples)
{
	__u64 before = 0, after = 0;
	double ns;

	if (read(fd, &before, sizeof(before)) != sizeof(before) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return 0;
	ns = run(rounds);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &after, sizeof(after)) != sizeof(after))
		return 0;
	*nr_samples = (after - before) / PERIOD_NS;
	return ns;
}

double sample_cost__ns(const struct perf_event_attr *attr)
{
	double costs[RUNS], bare, sampled, nr = 0, once;
	long rounds = 100000;
	int fd, i;

	if (!is_clock(attr))
		return 0;
	fd = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERIOD_NS);
	if (fd < 0)
		return 0;
	once = run(rounds);
	rounds = once > 0 ? rounds * (RUN_NS / once) : rounds;
	for (i = 0; i < RUNS; i++) {
		bare = run(rounds);
		sampled = sampled_run(fd, rounds, &nr);
		costs[i] = nr >= 1 ? (sampled - bare) / nr : 0;
	}
	close(fd);
	once = median(costs, RUNS);
	return once > 0 ? once : 0;
}

__u64 sample_cost__freq(double ns, __u64 freq_hz)
{
	double hz = ns > 0 ? CPU_SHARE * 1e9 / ns : freq_hz;

	if (hz >= freq_hz)
		return freq_hz;
	return hz < SAMPLE_COST_MIN_HZ ? SAMPLE_COST_MIN_HZ : hz;
}
