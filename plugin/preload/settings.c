// SPDX-License-Identifier: GPL-2.0-only
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/preload.h"
#include "gaps.h"
#include "settings.h"

#define MAX_RATE	1000000

static struct settings settings;
static bool is_read;

static int digit_of(char c, int base)
{
	int digit;

	if (c >= '0' && c <= '9')
		digit = c - '0';
	else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		digit = (c | 0x20) - 'a' + 10;
	else
		return -1;
	return digit < base ? digit : -1;
}

/* Not strtoull(), which takes signs and blanks. 0 where there is no number from 1 to @max. */
static __u64 read_number(const char *name, int base, __u64 max)
{
	const char *p = getenv(name);
	__u64 n = 0;
	int digit;

	if (!p || !*p)
		return 0;
	for (; *p; p++) {
		digit = digit_of(*p, base);
		if (digit < 0 || n > (max - digit) / base)
			return 0;
		n = n * base + digit;
	}
	return n;
}

/* Who reads it twice at the same time reads the same. */
const struct settings *settings__get(void)
{
	struct settings s;

	if (__atomic_load_n(&is_read, __ATOMIC_ACQUIRE))
		return &settings;
	if (!environ)
		return NULL;
	s.session = read_number(PRELOAD_ENV_SESSION, 16, ~0ULL);
	s.period = read_number(PRELOAD_ENV_BYTES, 10, GAPS_MAX_PERIOD);
	s.by_bytes = s.period != 0;
	if (!s.by_bytes)
		s.period = read_number(PRELOAD_ENV_COUNT, 10, GAPS_MAX_PERIOD);
	s.rate = read_number(PRELOAD_ENV_RATE, 10, MAX_RATE) ?: PRELOAD_DEFAULT_RATE;
	settings = s;
	__atomic_store_n(&is_read, true, __ATOMIC_RELEASE);
	return &settings;
}

/* Before the program changes its environment. */
__attribute__((constructor)) static void read_settings(void)
{
	settings__get();
}
