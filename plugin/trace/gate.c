// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>

#include "gate.h"

#include "bpf/control.h"
#include "churn.skel.h"
#include "probes.h"

static __u32 key_of(const struct churn_bpf *skel, pid_t pid)
{
	return skel->rodata->one_gate ? 0 : pid;
}

static void read_gate(struct churn_bpf *skel, pid_t pid, struct churn_gate *ret)
{
	__u32 key = key_of(skel, pid);

	*ret = (struct churn_gate){0};
	bpf_map__lookup_elem(skel->maps.gates, &key, sizeof(key), ret, sizeof(*ret), 0);
}

static int write_gate(struct churn_bpf *skel, pid_t pid, const struct churn_gate *gate)
{
	__u32 key = key_of(skel, pid);

	return bpf_map__update_elem(skel->maps.gates, &key, sizeof(key), gate, sizeof(*gate), BPF_ANY);
}

int gate__open(struct probes *p, pid_t pid, enum churn_calibration calibration,
	       __u64 *first_stray_ns)
{
	struct churn_bpf *skel = probes__bpf(p);
	struct churn_gate gate;

	read_gate(skel, pid, &gate);
	if (first_stray_ns)
		*first_stray_ns = gate.first_stray_ns;
	gate = (struct churn_gate){
		.number = gate.number + 1, .open = 1, .calibration = calibration,
	};
	return write_gate(skel, pid, &gate);
}

int gate__shut(struct probes *p, pid_t pid)
{
	struct churn_bpf *skel = probes__bpf(p);
	struct churn_gate gate;

	read_gate(skel, pid, &gate);
	gate.open = 0;
	gate.first_stray_ns = gate.last_stray_ns = 0;
	return write_gate(skel, pid, &gate);
}

__u64 gate__take_strays(struct probes *p, pid_t pid)
{
	struct churn_bpf *skel = probes__bpf(p);
	struct churn_gate gate;
	__u64 last_ns;

	read_gate(skel, pid, &gate);
	last_ns = gate.last_stray_ns;
	gate.first_stray_ns = gate.last_stray_ns = 0;
	write_gate(skel, pid, &gate);
	return last_ns;
}

void gate__drop(struct probes *p, pid_t pid)
{
	struct churn_bpf *skel = probes__bpf(p);
	__u32 key = key_of(skel, pid);

	/* The one gate of -a goes on counting its windows. */
	if (!skel->rodata->one_gate)
		bpf_map__delete_elem(skel->maps.gates, &key, sizeof(key), 0);
}
