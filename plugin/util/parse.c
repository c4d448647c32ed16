// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "parse.h"

/*
 * Reads the decimal digits at @text. strtoull() alone takes blanks, signs and 0x; we take a digit
 * first or nothing. A number too big for 64 bits is -ERANGE wherever it ends.
 */
static int read_digits(const char *text, const char **end, __u64 *ret)
{
	unsigned long long value;
	char *stop;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &stop, 10);
	*end = stop;
	*ret = value;
	return errno ? -ERANGE : 0;
}

int parse_u64(const char *text, __u64 min, __u64 max, __u64 *ret)
{
	const char *end = NULL;
	__u64 value;
	int err = read_digits(text, &end, &value);

	if (end && *end)
		return -EINVAL;
	if (err)
		return err;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* Bits that a size suffix shifts by, or -EINVAL. */
static int suffix_shift(const char *suffix)
{
	if (suffix[0] && suffix[1])
		return -EINVAL;
	switch (toupper((unsigned char)suffix[0])) {
	case '\0':
	case 'B':
		return 0;
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return -EINVAL;
	}
}

int parse_size(const char *text, __u64 min, __u64 max, __u64 *ret)
{
	const char *end = NULL;
	__u64 value;
	int err = read_digits(text, &end, &value);
	int shift = end ? suffix_shift(end) : -EINVAL;

	if (shift < 0)
		return shift;
	if (err)
		return err;
	if (value > ULLONG_MAX >> shift)
		return -ERANGE;
	value <<= shift;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

static bool has_pid(const int *pids, int nr, int pid)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

/* One more than the commas in @text: as many ids as it can hold. */
static int count_fields(const char *text)
{
	int nr = 1;

	for (; *text; text++)
		nr += *text == ',';
	return nr;
}

static int read_pids(const char *text, int *pids, int *ret_nr)
{
	const char *end;
	int err, nr = 0;
	__u64 pid;

	for (;;) {
		err = read_digits(text, &end, &pid);
		if (err)
			return err;
		if (*end && *end != ',')
			return -EINVAL;
		if (pid < 1 || pid > INT_MAX)
			return -ERANGE;
		if (!has_pid(pids, nr, pid))
			pids[nr++] = pid;
		if (!*end)
			break;
		text = end + 1;
	}
	*ret_nr = nr;
	return 0;
}

int parse_pids(const char *text, int **ret, int *ret_nr)
{
	int *pids = calloc(count_fields(text), sizeof(*pids));
	int err;

	if (!pids)
		return -ENOMEM;
	err = read_pids(text, pids, ret_nr);
	if (err) {
		free(pids);
		return err;
	}
	*ret = pids;
	return 0;
}

/* One CPU or a range of them; *text moves behind it. */
static int read_cpus(const char **text, bool *listed, int nr_max)
{
	__u64 first, last;
	int err;

	err = read_digits(*text, text, &first);
	last = first;
	if (!err && **text == '-')
		err = read_digits(*text + 1, text, &last);
	if (err)
		return err;
	if (first > last)
		return -EINVAL;
	if (last >= (__u64)nr_max)
		return -ERANGE;
	for (; first <= last; first++) {
		if (listed[first])
			return -EINVAL;
		listed[first] = true;
	}
	return 0;
}

static int read_cpu_list(const char *text, bool *listed, int nr_max)
{
	int err;

	while (!(err = read_cpus(&text, listed, nr_max)) && *text == ',')
		text++;
	return err ?: *text ? -EINVAL : 0;
}

int parse_cpus(const char *text, int nr_max, int **ret, int *ret_nr)
{
	bool *listed = calloc(nr_max, sizeof(*listed));
	int *cpus = calloc(nr_max, sizeof(*cpus));
	int err = listed && cpus ? read_cpu_list(text, listed, nr_max) : -ENOMEM;
	int i, nr = 0;

	for (i = 0; !err && i < nr_max; i++) {
		if (listed[i])
			cpus[nr++] = i;
	}
	free(listed);
	if (err) {
		free(cpus);
		return err;
	}
	*ret = cpus;
	*ret_nr = nr;
	return 0;
}
