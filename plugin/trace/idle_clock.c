// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "idle_clock.h"

#include "bpf/control.h"
#include "churn.skel.h"
#include "probes.h"
#include "util/clock.h"
#include "util/msg.h"

struct idle_clock {
	struct churn_bpf *skel;
	struct bpf_link *link;
	struct churn_idle *per_cpu;
	int nr_possible;
	long nr_online;
	__u64 start_ns, idle_ns;
};

/* A CPU that sleeps since before the start would pass for busy: visit each. */
static void wake_cpus(long nr)
{
	cpu_set_t before, one;
	long cpu;

	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (cpu = 0; cpu < nr && cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

static __u64 idle_ns(const struct idle_clock *c, __u64 now)
{
	__u64 sum = 0;
	__u32 zero = 0;
	int cpu;

	if (bpf_map__lookup_elem(c->skel->maps.idle_times, &zero, sizeof(zero), c->per_cpu,
				 c->nr_possible * sizeof(*c->per_cpu), 0))
		return 0;
	for (cpu = 0; cpu < c->nr_possible; cpu++) {
		sum += c->per_cpu[cpu].idle_ns;
		if (c->per_cpu[cpu].since_ns && c->per_cpu[cpu].since_ns < now)
			sum += now - c->per_cpu[cpu].since_ns;
	}
	return sum;
}

int idle_clock__new(struct probes *probes, struct idle_clock **ret)
{
	struct idle_clock *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->skel = probes__bpf(probes);
	c->nr_possible = libbpf_num_possible_cpus();
	c->nr_online = sysconf(_SC_NPROCESSORS_ONLN);
	c->per_cpu = calloc(c->nr_possible, sizeof(*c->per_cpu));
	c->link = c->per_cpu ? bpf_program__attach(c->skel->progs.churn_idle) : NULL;
	if (!c->link) {
		err = c->per_cpu ? -errno : -ENOMEM;
		pr_err("Cannot count how long CPUs are idle: %s\n", strerror(-err));
		idle_clock__free(c);
		return err;
	}
	wake_cpus(sysconf(_SC_NPROCESSORS_CONF));
	c->start_ns = clock__now_ns();
	c->idle_ns = idle_ns(c, c->start_ns);
	*ret = c;
	return 0;
}

void idle_clock__free(struct idle_clock *c)
{
	if (!c)
		return;
	bpf_link__destroy(c->link);
	free(c->per_cpu);
	free(c);
}

__u64 idle_clock__busy_ns(const struct idle_clock *c)
{
	__u64 now = clock__now_ns();
	__u64 all = (now - c->start_ns) * c->nr_online, idle = idle_ns(c, now) - c->idle_ns;

	return all > idle ? all - idle : 0;
}
