// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/types.h>

#include "bpf/preload.h"
#include "preload.h"
#include "util/msg.h"

#define ENV_LIBRARY	"PERF_CHURN_PRELOAD"
#define ENV_LOADER	"LD_PRELOAD"
/* What separates names in LD_PRELOAD, and what begins a name to expand. */
#define SEPARATORS	" :"
#define UNFIT_CHARS	SEPARATORS "$"

static int take_readable(const char *path, char **ret)
{
	if (access(path, R_OK) < 0)
		return -ENOENT;
	*ret = realpath(path, NULL);
	if (!*ret)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	if (!strpbrk(*ret, UNFIT_CHARS))
		return 0;
	free(*ret);
	return -EINVAL;
}

/* Of our own executable, without a slash at its end. */
static bool own_folder(char *folder, size_t nr_bytes)
{
	ssize_t nr_chars = readlink("/proc/self/exe", folder, nr_bytes - 1);

	if (nr_chars < 0)
		return false;
	folder[nr_chars] = '\0';
	*strrchr(folder, '/') = '\0';
	return true;
}

static int find_from_own_folder(char **ret)
{
	static const char *const places[] = {
		"%s/" PRELOAD_LIBRARY, "%s/../lib/perf-churn/" PRELOAD_LIBRARY,
	};
	char folder[PATH_MAX], path[2 * PATH_MAX];
	int err = -ENOENT;

	if (!own_folder(folder, sizeof(folder)))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && err == -ENOENT; i++) {
		snprintf(path, sizeof(path), places[i], folder);
		err = take_readable(path, ret);
	}
	return err;
}

int preload__library(char **ret)
{
	const char *given = getenv(ENV_LIBRARY);

	return given ? take_readable(given, ret) : find_from_own_folder(ret);
}

static int find_or_say(char **ret)
{
	const char *given = getenv(ENV_LIBRARY);
	int err = preload__library(ret);

	if (err == -ENOENT && given)
		pr_err("%s: not found (" ENV_LIBRARY ")\n", given);
	else if (err == -EINVAL)
		pr_err(PRELOAD_LIBRARY ": " ENV_LOADER " cannot name it where it is: there are blanks, colons or '$' in its path\n");
	else if (err == -ENOENT)
		pr_err(PRELOAD_LIBRARY ": not found, neither beside perf-churn nor in ../lib/perf-churn from there\n");
	else if (err)
		pr_err(PRELOAD_LIBRARY ": %s\n", strerror(-err));
	return err;
}

static bool is_in(const char *list, const char *name)
{
	size_t nr_chars = strlen(name);

	while (*list) {
		size_t nr_here = strcspn(list, SEPARATORS);

		if (nr_here == nr_chars && !strncmp(list, name, nr_chars))
			return true;
		list += nr_here + (list[nr_here] != '\0');
	}
	return false;
}

int preload__value(const char *library, const char *old, char **ret)
{
	if (strpbrk(library, UNFIT_CHARS))
		return -EINVAL;
	if (!old || !*old)
		*ret = strdup(library);
	else if (is_in(old, library))
		*ret = strdup(old);
	else if (asprintf(ret, "%s:%s", library, old) < 0)
		*ret = NULL;
	return *ret ? 0 : -ENOMEM;
}

int preload__setenv(const char *library)
{
	char *value;
	int err = preload__value(library, getenv(ENV_LOADER), &value);

	if (err)
		return err;
	err = setenv(ENV_LOADER, value, 1) ? -ENOMEM : 0;
	free(value);
	return err;
}

int preload__enable(void)
{
	char *library;
	int err = find_or_say(&library);

	if (err)
		return err;
	err = preload__setenv(library);
	free(library);
	return err;
}
