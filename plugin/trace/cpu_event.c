// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cpu_event.h"
#include "util/msg.h"

static const struct event_name {
	const char *name;
	__u32 type;
	__u64 config;
} event_names[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

static const struct event_name *find_name(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(event_names) / sizeof(event_names[0]); i++) {
		if (!strcmp(event_names[i].name, name))
			return &event_names[i];
	}
	return NULL;
}

/* ":u", ":k" and both; any modifier excludes what is not named, as in perf. */
static int parse_modifiers(const char *text, struct perf_event_attr *attr)
{
	bool user = false, kernel = false;

	for (; *text; text++) {
		if (*text == 'u')
			user = true;
		else if (*text == 'k')
			kernel = true;
		else
			return -EINVAL;
	}
	if (!user && !kernel)
		return -EINVAL;
	attr->exclude_user = !user;
	attr->exclude_kernel = !kernel;
	attr->exclude_hv = 1;
	return 0;
}

static int parse_one(const char *text, struct cpu_event *event)
{
	const struct event_name *found;
	char name[sizeof(event->name) - 2];	/* room for :u */
	char *modifiers;

	memset(event, 0, sizeof(*event));
	if (strlen(text) >= sizeof(name))
		return -EINVAL;
	strcpy(name, text);
	strcpy(event->name, text);

	modifiers = strchr(name, ':');
	if (modifiers) {
		*modifiers++ = '\0';
		if (parse_modifiers(modifiers, &event->attr))
			return -EINVAL;
	}
	found = find_name(name);
	if (!found)
		return -EINVAL;
	event->attr.type = found->type;
	event->attr.config = found->config;
	return 0;
}

int cpu_events__parse(const char *list, struct cpu_event *events, size_t *nr)
{
	size_t n = 0, bytes;
	char name[128];

	for (;;) {
		bytes = strcspn(list, ",");
		if (n == CPU_EVENT_MAX) {
			pr_err("-e: at most %d events\n", CPU_EVENT_MAX);
			return -EINVAL;
		}
		snprintf(name, sizeof(name), "%.*s", (int)bytes, list);
		if (parse_one(name, &events[n])) {
			pr_err("event syntax error: '%s': not a generic hardware or software event (cycles, cpu-clock, task-clock, instructions, page-faults, ...) with modifiers :u or :k\n",
			       name);
			return -EINVAL;
		}
		n++;
		if (!list[bytes])
			break;
		list += bytes + 1;
	}
	*nr = n;
	return 0;
}

void cpu_event__restrict(struct cpu_event *event, bool user)
{
	size_t bytes = strcspn(event->name, ":");

	snprintf(event->name + bytes, sizeof(event->name) - bytes, user ? ":u" : ":k");
	parse_modifiers(event->name + bytes + 1, &event->attr);
}

int cpu_event__fall_back(struct cpu_event *event)
{
	const char *modifiers = strchr(event->name, ':');
	char name[sizeof(event->name)];

	if (event->attr.type != PERF_TYPE_HARDWARE ||
	    event->attr.config != PERF_COUNT_HW_CPU_CYCLES)
		return -ENOENT;
	snprintf(name, sizeof(name), "cpu-clock%s", modifiers ?: "");
	strcpy(event->name, name);
	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	return 0;
}
