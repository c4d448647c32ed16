// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "read.h"

#define NR_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const hardware_names[] = {
	[PERF_COUNT_HW_CPU_CYCLES]		= "cycles",
	[PERF_COUNT_HW_INSTRUCTIONS]		= "instructions",
	[PERF_COUNT_HW_CACHE_REFERENCES]	= "cache-references",
	[PERF_COUNT_HW_CACHE_MISSES]		= "cache-misses",
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS]	= "branches",
	[PERF_COUNT_HW_BRANCH_MISSES]		= "branch-misses",
	[PERF_COUNT_HW_BUS_CYCLES]		= "bus-cycles",
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND]	= "stalled-cycles-frontend",
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND]	= "stalled-cycles-backend",
	[PERF_COUNT_HW_REF_CPU_CYCLES]		= "ref-cycles",
};

static const char *const software_names[] = {
	[PERF_COUNT_SW_CPU_CLOCK]		= "cpu-clock",
	[PERF_COUNT_SW_TASK_CLOCK]		= "task-clock",
	[PERF_COUNT_SW_PAGE_FAULTS]		= "page-faults",
	[PERF_COUNT_SW_CONTEXT_SWITCHES]	= "context-switches",
	[PERF_COUNT_SW_CPU_MIGRATIONS]		= "cpu-migrations",
	[PERF_COUNT_SW_PAGE_FAULTS_MIN]		= "minor-faults",
	[PERF_COUNT_SW_PAGE_FAULTS_MAJ]		= "major-faults",
	[PERF_COUNT_SW_ALIGNMENT_FAULTS]	= "alignment-faults",
	[PERF_COUNT_SW_EMULATION_FAULTS]	= "emulation-faults",
	[PERF_COUNT_SW_DUMMY]			= "dummy",
	[PERF_COUNT_SW_BPF_OUTPUT]		= "bpf-output",
	[PERF_COUNT_SW_CGROUP_SWITCHES]		= "cgroup-switches",
};

/* The upper half of a hardware config tells the kind of core, on machines with several. */
static const char *generic_name(const struct perf_event_attr *attr)
{
	__u64 config = attr->config & 0xffffffff;

	if (attr->type == PERF_TYPE_HARDWARE && config < NR_OF(hardware_names))
		return hardware_names[config];
	if (attr->type == PERF_TYPE_SOFTWARE && config < NR_OF(software_names))
		return software_names[config];
	return NULL;
}

/* perf's modifiers: which of user and kernel is counted, where it is not both. */
static const char *modifier(const struct perf_event_attr *attr)
{
	if (attr->exclude_kernel && !attr->exclude_user)
		return ":u";
	if (attr->exclude_user && !attr->exclude_kernel)
		return ":k";
	return "";
}

char *event_name__make(const struct pdevent *event)
{
	const struct perf_event_attr *attr = &event->attr;
	const struct tep_event *format = event->format;
	unsigned long long config = attr->config;
	const char *generic = generic_name(attr);
	char *name;
	int ret;

	if (generic)
		ret = asprintf(&name, "%s%s", generic, modifier(attr));
	else if (format)
		ret = asprintf(&name, "%s:%s", format->system, format->name);
	else if (attr->type == PERF_TYPE_TRACEPOINT)
		ret = asprintf(&name, "tracepoint:%llu", config);
	else if (attr->type == PERF_TYPE_RAW)
		ret = asprintf(&name, "r%llx%s", config, modifier(attr));
	else
		ret = asprintf(&name, "event:%u:%llx%s", attr->type, config, modifier(attr));
	return ret < 0 ? NULL : name;
}
