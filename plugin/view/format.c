// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>
#include <linux/types.h>
#include "bpf/churn.h"

#include "format.h"

static const char *no_value(char *buf)
{
	return strcpy(buf, "-");
}

const char *format_count(char *buf, double value)
{
	char digits[FORMAT_BYTES];
	size_t nr, i, out = 0;

	if (isnan(value))
		return no_value(buf);
	if (value < 10 && value != floor(value)) {
		snprintf(buf, FORMAT_BYTES, "%.1f", value);
		return buf;
	}
	nr = snprintf(digits, 24, "%.0f", fmin(value, 9e18));
	for (i = 0; i < nr; i++) {
		buf[out++] = digits[i];
		if ((nr - 1 - i) % 3 == 0 && i + 1 < nr)
			buf[out++] = ',';
	}
	buf[out] = '\0';
	return buf;
}

/* Three significant digits; the unit changes before rounding would give four. */
static const char *scale(char *buf, double value, double step, const char *const *units)
{
	if (isnan(value))
		return no_value(buf);
	while (value >= 999.5 && units[1]) {
		value /= step;
		units++;
	}
	snprintf(buf, FORMAT_BYTES, "%.*f%s%s", value == floor(value) ? 0 : value < 9.995 ? 2 :
		 value < 99.95 ? 1 : 0, value, **units ? " " : "", *units);
	return buf;
}

const char *format_si(char *buf, double value)
{
	static const char *const units[] = { "", "K", "M", "G", "T", NULL };

	return scale(buf, value, 1000, units);
}

const char *format_bytes(char *buf, double value)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB", NULL };

	return scale(buf, value, 1024, units);
}

const char *format_ns(char *buf, double value)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };

	return scale(buf, value, 1000, units);
}

const char *bound_mark(enum bound bound)
{
	static const char *const marks[] = {
		[BOUND_NONE] = "", [BOUND_LOWER] = ">=", [BOUND_UPPER] = "<=", [BOUND_UNKNOWN] = "~",
	};

	return marks[bound];
}

const char *format_error(char *buf, const struct estimate *e)
{
	if (!(e->error > 0) || !(e->value > 0))
		return strcpy(buf, "");
	snprintf(buf, FORMAT_BYTES, "+- %.*f %%", e->error / e->value < 0.0995 ? 1 : 0,
		 100 * e->error / e->value);
	return buf;
}

long utf8_next(const char **text)
{
	static const long smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)*text;
	int bytes = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
	long code = bytes == 1 ? *p : *p & (0x7f >> bytes);
	int i;

	++*text;
	if (!bytes)
		return -1;
	for (i = 1; i < bytes; i++) {
		if (p[i] >> 6 != 2)
			return -1;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < smallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return -1;
	*text += bytes - 1;
	return code;
}

void print_text(FILE *out, const char *text)
{
	while (*text) {
		const char *start = text;
		long code = utf8_next(&text);

		/* C0, DEL and C1; and the marks that turn the writing direction around. */
		if (code < 0x20 || (code >= 0x7f && code < 0xa0) ||
		    (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
			fputc('?', out);
		else
			fwrite(start, 1, text - start, out);
	}
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *entry_point_name(__u32 fn)
{
	static const char *const names[CHURN_FN_NR] = {
		[CHURN_FN_MALLOC] = "malloc", [CHURN_FN_CALLOC] = "calloc",
		[CHURN_FN_REALLOC] = "realloc", [CHURN_FN_MEMALIGN] = "memalign",
		[CHURN_FN_ALIGNED_ALLOC] = "aligned_alloc",
		[CHURN_FN_POSIX_MEMALIGN] = "posix_memalign", [CHURN_FN_VALLOC] = "valloc",
		[CHURN_FN_PVALLOC] = "pvalloc", [CHURN_FN_FREE] = "free",
		[CHURN_FN_REFILL] = "refill", [CHURN_FN_OS_ALLOC] = "os_alloc",
		[CHURN_FN_OS_FREE] = "os_free",
	};

	return fn < CHURN_FN_NR ? names[fn] : NULL;
}
