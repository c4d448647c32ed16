// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "format.h"
#include "json_out.h"

static void print_string(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		const char *start = text;
		long code = utf8_next(&text);

		if (code < 0)
			fputs("\\ufffd", out);
		else if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (char)code);
		else if (code < 0x20 || code == 0x7f)
			fprintf(out, "\\u%04lx", code);
		else
			fwrite(start, 1, text - start, out);
	}
	fputc('"', out);
}

static void begin(struct json_out *j, const char *key)
{
	if (j->has_member)
		fputc(',', j->out);
	if (j->depth)
		fprintf(j->out, "\n%*s", 2 * j->depth, "");
	if (key)
		fprintf(j->out, "\"%s\": ", key);
	j->has_member = true;
}

void json__open(struct json_out *j, const char *key, char bracket)
{
	begin(j, key);
	fputc(bracket, j->out);
	j->depth++;
	j->has_member = false;
}

void json__close(struct json_out *j, char bracket)
{
	j->depth--;
	if (j->has_member)
		fprintf(j->out, "\n%*s", 2 * j->depth, "");
	fputc(bracket, j->out);
	if (!j->depth)
		fputc('\n', j->out);
	j->has_member = true;
}

void json__string(struct json_out *j, const char *key, const char *text)
{
	begin(j, key);
	if (text)
		print_string(j->out, text);
	else
		fputs("null", j->out);
}

void json__number(struct json_out *j, const char *key, double value)
{
	begin(j, key);
	if (!isfinite(value))
		fputs("null", j->out);
	else if (value == floor(value) && fabs(value) < 1e15)
		fprintf(j->out, "%.0f", value);
	else
		fprintf(j->out, "%.9g", value);
}

void json__u64(struct json_out *j, const char *key, __u64 value)
{
	begin(j, key);
	fprintf(j->out, "%llu", value);
}

void json__bool(struct json_out *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json__bound(struct json_out *j, const char *key, enum bound bound)
{
	static const char *const names[] = {
		[BOUND_LOWER] = "lower", [BOUND_UPPER] = "upper", [BOUND_UNKNOWN] = "unknown",
	};

	json__string(j, key, names[bound]);
}

void json__estimate(struct json_out *j, const char *key, const struct estimate *e)
{
	char sibling[64];

	snprintf(sibling, sizeof(sibling), "%s_error", key);
	json__number(j, key, e->value);
	/* 0 says "counted", which a bound is not. */
	json__number(j, sibling, isnan(e->value) || (e->bound && e->error <= 0) ? NAN : e->error);
	snprintf(sibling, sizeof(sibling), "%s_bound", key);
	json__bound(j, sibling, isnan(e->value) ? BOUND_NONE : e->bound);
}
