// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "perfdata/reader.h"
#include "report.h"
#include "roles.h"
#include "stacks.h"

/* A word as a shell would need it: quoted only where it must be. */
static void print_word(FILE *out, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

static int join_command(const char *const *words, struct stacks *strings, const char **ret)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out;

	*ret = NULL;
	if (!words || !words[0])
		return 0;
	out = open_memstream(&text, &bytes);
	if (!out)
		return -ENOMEM;
	for (; *words; words++) {
		print_word(out, *words);
		if (words[1])
			fputc(' ', out);
	}
	if (!fclose(out))
		*ret = stacks__string(strings, text);
	free(text);
	return *ret ? 0 : -ENOMEM;
}

/* Events that take samples of their own, and are not the one CPU time is measured by. */
static bool is_left_out(const struct roles *roles, const struct pdevent *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (roles->by_idx[event->idx].kind != ROLE_NONE || !strncmp(event->name, "churn:", 6))
		return false;
	return attr->type != PERF_TYPE_SOFTWARE || (attr->config != PERF_COUNT_SW_DUMMY &&
						    attr->config != PERF_COUNT_SW_BPF_OUTPUT);
}

static int join_events(const struct pdreader *r, const struct roles *roles, struct stacks *strings,
		       const char **ret)
{
	char *text = NULL;
	size_t bytes = 0, i;
	FILE *out = open_memstream(&text, &bytes);

	*ret = NULL;
	if (!out)
		return -ENOMEM;
	for (i = 0; i < pdreader__nr_events(r); i++) {
		const struct pdevent *event = pdreader__event(r, i);

		if (is_left_out(roles, event))
			fprintf(out, "%s%s", ftell(out) > 0 ? ", " : "", event->name);
	}
	if (fclose(out) || (*text && !(*ret = stacks__string(strings, text)))) {
		free(text);
		return -ENOMEM;
	}
	free(text);
	return 0;
}

/* Attributes tell no more than that there are callchains, whoever walked them. */
static enum call_graph call_graph_of(const struct roles *roles, const struct pdevent *event)
{
	if (event->attr.sample_type & PERF_SAMPLE_STACK_USER)
		return CALL_GRAPH_DWARF;
	if (!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return CALL_GRAPH_NONE;
	return roles->has[ROLE_STACKS] ? CALL_GRAPH_CFI : CALL_GRAPH_FP;
}

int describe_recording(const struct pdreader *r, const struct roles *roles,
		       struct stacks *strings, struct report_recording *ret)
{
	const struct pdinfo *info = pdreader__info(r);

	*ret = (struct report_recording){
		.method = roles->has[ROLE_FOREIGN] ? "event" :
			  roles->has[ROLE_PROBE] ? "uprobe" : NULL,
		.hostname = info->hostname,
		.nr_cpus = info->nr_cpus_online,
		.has_weights = !roles->has[ROLE_FOREIGN],
		.has_frees = roles->has[ROLE_FREE],
		.truncated = info->truncated,
		.nr_late = info->nr_late,
		.unfinished = info->unfinished,
	};
	if (roles->alloc)
		ret->call_graph = call_graph_of(roles, roles->alloc);
	if (roles->cpu) {
		ret->cpu_call_graph = call_graph_of(roles, roles->cpu);
		ret->cpu_event = roles->cpu->name;
		ret->cpu_is_ns = roles->cpu->attr.type == PERF_TYPE_SOFTWARE;
		if (roles->cpu->attr.freq)
			ret->freq_hz = roles->cpu->attr.sample_freq;
	}
	return join_events(r, roles, strings, &ret->other_events) ?:
	       join_command(info->cmdline, strings, &ret->command);
}
