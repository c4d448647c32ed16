// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

#define MAX_CPUS	65536

static void word_list__exit(struct word_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free(list->words[i]);
	free(list->words);
	memset(list, 0, sizeof(*list));
}

void filter__exit(struct filter *f)
{
	free(f->pids.ids);
	free(f->tids.ids);
	free(f->cpus.ids);
	word_list__exit(&f->comms);
	word_list__exit(&f->dsos);
	word_list__exit(&f->symbols);
	memset(f, 0, sizeof(*f));
}

static int add_word(struct word_list *list, const char *word, size_t bytes)
{
	char **bigger;

	if (!bytes)
		return -EINVAL;
	bigger = reallocarray(list->words, list->nr + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	list->words = bigger;
	list->words[list->nr] = strndup(word, bytes);
	if (!list->words[list->nr])
		return -ENOMEM;
	list->nr++;
	return 0;
}

int word_list__parse(struct word_list *list, const char *text)
{
	for (;;) {
		size_t bytes = strcspn(text, ",");
		int err = add_word(list, text, bytes);

		if (err || !text[bytes])
			return err;
		text += bytes + 1;
	}
}

/* "sec", "sec.frac"; up to nine digits of a fraction, so no rounding. *end stands behind it. */
static int parse_seconds(const char *text, const char **end, __u64 *ret)
{
	__u64 sec = 0, ns = 0, unit = 100000000;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++) {
		sec = sec * 10 + (*text - '0');
		if (sec > 10000000000ull)
			return -EINVAL;
	}
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++, unit /= 10)
			ns += (*text - '0') * unit;
	}
	*end = text;
	*ret = sec * 1000000000 + ns;
	return 0;
}

static int parse_span(struct filter *f, const char *text)
{
	const char *comma = strchr(text, ',');

	if (!comma || (comma == text && !comma[1]))
		return -EINVAL;
	if (comma != text && (parse_seconds(text, &text, &f->start_ns) || text != comma))
		return -EINVAL;
	if (comma[1] && (parse_seconds(comma + 1, &text, &f->end_ns) || *text))
		return -EINVAL;
	return f->end_ns && f->start_ns > f->end_ns ? -EINVAL : 0;
}

static int parse_percent(const char *text, const char **end, double *ret)
{
	char *stop;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	*ret = strtod(text, &stop) / 100;
	if (*stop != '%' || !(*ret >= 0 && *ret <= 1))
		return -EINVAL;
	*end = stop + 1;
	return 0;
}

static int parse_percent_span(const char *text, double *from, double *to)
{
	double part;
	char *stop;
	long nth;

	if (parse_percent(text, &text, from))
		return -EINVAL;
	if (*text == '/' && isdigit((unsigned char)text[1])) {
		part = *from;
		nth = strtol(text + 1, &stop, 10);
		*from = part * (nth - 1);
		*to = fmin(part * nth, 1);
		return *stop || nth < 1 || *from >= 1 ? -EINVAL : 0;
	}
	if (*text != '-' || parse_percent(text + 1, &text, to))
		return -EINVAL;
	return *text || *from > *to ? -EINVAL : 0;
}

int filter__parse_time(struct filter *f, const char *text, __u64 first_ns, __u64 last_ns)
{
	double from, to, span_ns = last_ns - first_ns;

	if (!strchr(text, '%'))
		return parse_span(f, text);
	if (parse_percent_span(text, &from, &to))
		return -EINVAL;
	if (!last_ns || last_ns < first_ns)
		return -ENODATA;
	f->start_ns = first_ns + (__u64)(span_ns * from);
	f->end_ns = first_ns + (__u64)(span_ns * to);
	return 0;
}

static int parse_cpu(const char *text, const char **end, int *ret)
{
	int cpu = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++) {
		cpu = cpu * 10 + (*text - '0');
		if (cpu >= MAX_CPUS)
			return -EINVAL;
	}
	*end = text;
	*ret = cpu;
	return 0;
}

static int add_cpus(struct id_list *list, int first, int last)
{
	int *bigger = reallocarray(list->ids, list->nr + last - first + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	list->ids = bigger;
	while (first <= last)
		list->ids[list->nr++] = first++;
	return 0;
}

int filter__parse_cpus(struct filter *f, const char *text)
{
	int first, last, err;

	for (;;) {
		err = parse_cpu(text, &text, &first);
		last = first;
		if (!err && *text == '-')
			err = parse_cpu(text + 1, &text, &last);
		if (err || last < first || (*text && *text != ','))
			return -EINVAL;
		err = add_cpus(&f->cpus, first, last);
		if (err || !*text)
			return err;
		text++;
	}
}

bool filter__has_site(const struct filter *f)
{
	return f->dsos.nr || f->symbols.nr;
}

bool filter__only_pids(const struct filter *f)
{
	return !f->tids.nr && !f->cpus.nr && !f->comms.nr && !filter__has_site(f) &&
	       !f->start_ns && !f->end_ns;
}

bool filter__is_set(const struct filter *f)
{
	return f->pids.nr || !filter__only_pids(f);
}

static bool in_ids(const struct id_list *list, __u32 id)
{
	int i;

	for (i = 0; i < list->nr; i++) {
		if ((__u32)list->ids[i] == id)
			return true;
	}
	return !list->nr;
}

static bool in_words(const struct word_list *list, const char *word)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		if (word && !strcmp(list->words[i], word))
			return true;
	}
	return !list->nr;
}

bool filter__cpu(const struct filter *f, __u32 cpu)
{
	return in_ids(&f->cpus, cpu);
}

bool filter__pid(const struct filter *f, __u32 pid)
{
	return in_ids(&f->pids, pid);
}

bool filter__time(const struct filter *f, __u64 time_ns)
{
	return time_ns >= f->start_ns && (!f->end_ns || time_ns <= f->end_ns);
}

bool filter__thread(const struct filter *f, __u32 pid, __u32 tid, const char *comm)
{
	return in_ids(&f->pids, pid) && in_ids(&f->tids, tid) && in_words(&f->comms, comm);
}

bool filter__site(const struct filter *f, const char *sym, const char *dso)
{
	const char *slash = dso ? strrchr(dso, '/') : NULL;

	if (!in_words(&f->symbols, sym))
		return false;
	return in_words(&f->dsos, dso) || (slash && in_words(&f->dsos, slash + 1));
}
