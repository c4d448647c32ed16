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
		.unfinished = info->unfinished,
	};
	if (roles->cpu) {
		ret->cpu_event = roles->cpu->name;
		if (roles->cpu->attr.freq)
			ret->freq_hz = roles->cpu->attr.sample_freq;
	}
	return join_command(info->cmdline, strings, &ret->command);
}
