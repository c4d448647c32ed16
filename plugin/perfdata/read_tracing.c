// SPDX-License-Identifier: GPL-2.0-only
/*
 * TRACING_DATA, taken apart by hand:
 *
 *	"\x17\x08\x44tracing"  version\0  u8 big endian  u8 size of long  u32 page size
 *	"header_page\0" u64 bytes, text   "header_event\0" u64 bytes, text
 *	u32 number of ftrace formats: u64 bytes, text
 *	u32 number of systems: name\0, u32 number of events: u64 bytes, text
 *	(kallsyms, printk formats, command lines: not wanted)
 *
 * libtraceevent parses the format texts. It was written for texts by the kernel, and these come
 * out of a file: so only the lines of fields are handed on, each one checked, written anew, and
 * only for events of this file. What perf prints them with ("print fmt") is left out.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "formats.h"
#include "read.h"
#include "read_blob.h"
#include "util/msg.h"

#define MAX_FORMATS		65536
#define MAX_FORMAT_BYTES	(1 << 20)
#define MAX_NAME_BYTES		256
#define MAX_RAW_BYTES		65535

/* One line of a format text, its leading and trailing space cut off. */
struct line {
	const char *text;
	int bytes;
};

static bool next_line(const char **pos, const char *end, struct line *ret)
{
	const char *start = *pos, *stop;

	if (start >= end)
		return false;
	stop = memchr(start, '\n', end - start) ?: end;
	*pos = stop + 1;
	while (start < stop && isspace((unsigned char)*start))
		start++;
	while (start < stop && isspace((unsigned char)stop[-1]))
		stop--;
	*ret = (struct line){ .text = start, .bytes = stop - start };
	return true;
}

static bool line_starts(const struct line *line, const char *prefix)
{
	int bytes = strlen(prefix);

	return line->bytes >= bytes && !memcmp(line->text, prefix, bytes);
}

/* "name: foo": letters, digits and underscores only. */
static bool is_identifier(const char *text, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++) {
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	}
	return bytes > 0 && bytes < MAX_NAME_BYTES && !isdigit((unsigned char)text[0]);
}

/* Words of a declaration, "const char *" or so. */
static bool is_words(const char *text, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("_ *", text[i]))
			return false;
	}
	return bytes > 0 && (isalpha((unsigned char)text[0]) || text[0] == '_');
}

/* The last word is the name; a type stands in front of it. */
static bool is_type_and_name(const char *text, int bytes)
{
	int start = bytes;

	while (start > 0 && text[start - 1] != ' ' && text[start - 1] != '*')
		start--;
	return is_words(text, start) && is_identifier(text + start, bytes - start);
}

/* A fixed size behind the name, a number or a name: take it off @bytes. */
static bool cut_array(const char *text, int *bytes)
{
	const char *bracket = memchr(text, '[', *bytes);
	const char *end = text + *bytes - 1;

	if (!bracket)
		return true;
	for (*bytes = bracket++ - text; bracket < end; bracket++) {
		if (!isalnum((unsigned char)*bracket) && *bracket != '_')
			return false;
	}
	return *end == ']' && end[-1] != '[';
}

/*
 * "const char * name", "u8 mac[6]", or of dynamic size "__data_loc char[] msg", where the
 * brackets belong to the type. Kernels write little else, and on other things libtraceevent
 * leaks or worse.
 */
static bool is_declaration(const char *text, int bytes)
{
	const char *dynamic = memmem(text, bytes, "[] ", 3);

	if (bytes <= 0 || bytes >= MAX_NAME_BYTES)
		return false;
	if (strncmp(text, "__data_loc ", 11) && strncmp(text, "__rel_loc ", 10))
		return cut_array(text, &bytes) && is_type_and_name(text, bytes);
	return dynamic && is_type_and_name(text, dynamic - text) &&
	       is_identifier(dynamic + 3, text + bytes - dynamic - 3);
}

/* Numbers behind a field's text: offset and size must lie in what a sample can hold. */
static bool take_number(const char **pos, const char *name, unsigned int max, unsigned int *ret)
{
	int used = 0;
	char found[16];

	if (sscanf(*pos, " %15[a-z]:%5u;%n", found, ret, &used) != 2 || !used)
		return false;
	*pos += used;
	return !strcmp(found, name) && *ret <= max;
}

/* Write one "field:" line anew. Lines that are not understood are left out: their field is, too. */
static bool copy_field(FILE *out, const struct line *line)
{
	unsigned int offset, bytes, is_signed;
	char text[MAX_NAME_BYTES * 2];
	int decl_bytes;
	const char *decl = text + strlen("field:"), *pos;

	if (line->bytes >= (int)sizeof(text))
		return false;
	memcpy(text, line->text, line->bytes);
	text[line->bytes] = '\0';
	pos = strchr(decl, ';');
	if (!pos || !is_declaration(decl, pos - decl))
		return false;
	decl_bytes = pos++ - decl;
	if (!take_number(&pos, "offset", MAX_RAW_BYTES, &offset) ||
	    !take_number(&pos, "size", MAX_RAW_BYTES, &bytes) ||
	    !take_number(&pos, "signed", 1, &is_signed))
		return false;
	fprintf(out, "\tfield:%.*s;\toffset:%u;\tsize:%u;\tsigned:%u;\n", decl_bytes, decl,
		offset, bytes, is_signed);
	return true;
}

/* The fields named common_* or the others: the two groups have an empty line between them. */
static int copy_fields(FILE *out, const char *text, const char *end, bool common)
{
	struct line line;
	int nr = 0;

	while (next_line(&text, end, &line)) {
		if (line_starts(&line, "print fmt:"))
			break;
		if (!line_starts(&line, "field:"))
			continue;
		if (!!memmem(line.text, line.bytes, " common_", 8) == common)
			nr += copy_field(out, &line);
	}
	return nr;
}

static bool find_line(const char *text, const char *end, const char *prefix, struct line *ret)
{
	while (next_line(&text, end, ret)) {
		if (!line_starts(ret, prefix))
			continue;
		ret->text += strlen(prefix);
		ret->bytes -= strlen(prefix);
		return true;
	}
	return false;
}

/* The whole text anew, or NULL where it does not look like one of the kernel's. */
static char *rewrite_format(const char *text, const char *end, __u32 id, size_t *ret_bytes)
{
	char *copy = NULL;
	struct line name;
	int nr_common;
	FILE *out;

	if (!find_line(text, end, "name: ", &name) || !is_identifier(name.text, name.bytes))
		return NULL;
	out = open_memstream(&copy, ret_bytes);
	if (!out)
		return NULL;
	fprintf(out, "name: %.*s\nID: %u\nformat:\n", name.bytes, name.text, id);
	nr_common = copy_fields(out, text, end, true);
	fputc('\n', out);
	copy_fields(out, text, end, false);
	fputs("\nprint fmt: \"\"\n", out);
	if (fclose(out) || !nr_common) {
		free(copy);
		return NULL;
	}
	return copy;
}

static bool parse_id(const char *text, const char *end, __u32 *ret)
{
	unsigned long long id = 0;
	struct line line;
	int i;

	if (!find_line(text, end, "ID: ", &line) || line.bytes < 1 || line.bytes > 10)
		return false;
	for (i = 0; i < line.bytes; i++) {
		if (!isdigit((unsigned char)line.text[i]))
			return false;
		id = id * 10 + (line.text[i] - '0');
	}
	*ret = id;
	return id <= 0x7fffffff;
}

static bool is_tracepoint(const struct event *event, __u32 id)
{
	return event->pub.attr.type == PERF_TYPE_TRACEPOINT && event->pub.attr.config == id;
}

/* Several events of a file may be the same tracepoint, each with another filter. */
static void set_format(struct pdreader *r, __u32 id, struct tep_event *format)
{
	size_t i;

	for (i = 0; i < r->nr_events; i++) {
		if (is_tracepoint(&r->events[i], id) && !r->events[i].pub.format)
			r->events[i].pub.format = format;
	}
}

static bool is_unset(const struct pdreader *r, __u32 id)
{
	size_t i;

	for (i = 0; i < r->nr_events; i++) {
		if (is_tracepoint(&r->events[i], id) && !r->events[i].pub.format)
			return true;
	}
	return false;
}

static void parse_format(struct pdreader *r, const char *system, const char *text, size_t bytes)
{
	struct tep_event *format = NULL;
	size_t copy_bytes;
	char *copy;
	__u32 id;

	if (bytes > MAX_FORMAT_BYTES || !parse_id(text, text + bytes, &id) || !is_unset(r, id))
		return;
	copy = rewrite_format(text, text + bytes, id, &copy_bytes);
	if (copy && !tep_parse_format(r->tep, &format, copy, copy_bytes, system) && format)
		set_format(r, id, format);
	else
		pr_warning("%s: format of tracepoint %s:%u is damaged, its fields are unknown\n",
			   r->path, system, id);
	free(copy);
}

static int open_tep(struct pdreader *r, unsigned int long_bytes)
{
	if (r->tep)
		return 0;
	tep_set_loglevel(TEP_LOG_NONE);
	r->tep = tep_alloc();
	if (!r->tep)
		return -ENOMEM;
	tep_set_file_bigendian(r->tep, TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(r->tep, TEP_LITTLE_ENDIAN);
	tep_set_long_size(r->tep, long_bytes);
	return 0;
}

static bool skip_named_text(struct blob *b, const char *name)
{
	const char *found = blob__cstring(b);

	if (!found || strcmp(found, name))
		return false;
	return blob__take(b, blob__u64(b));
}

static int parse_head(struct pdreader *r, struct blob *b)
{
	static const char magic[] = "\x17\x08\x44" "tracing";
	const char *found = blob__take(b, sizeof(magic) - 1);
	const unsigned char *sizes;

	if (!found || memcmp(found, magic, sizeof(magic) - 1) || !blob__cstring(b))
		return -EINVAL;
	sizes = (const unsigned char *)blob__take(b, 2);
	blob__u32(b);
	if (!sizes || sizes[0] || (sizes[1] != 4 && sizes[1] != 8))
		return -EINVAL;
	if (!skip_named_text(b, "header_page") || !skip_named_text(b, "header_event"))
		return -EINVAL;
	return open_tep(r, sizes[1]);
}

static void parse_system(struct pdreader *r, struct blob *b, __u32 *nr_left)
{
	const char *system = blob__cstring(b);
	__u32 i, nr_formats = blob__u32(b);

	if (nr_formats > *nr_left || (system && !is_identifier(system, strlen(system))))
		b->bad = true;
	*nr_left -= b->bad ? 0 : nr_formats;
	for (i = 0; i < nr_formats && !b->bad; i++) {
		__u64 bytes = blob__u64(b);
		const char *text = blob__take(b, bytes);

		if (text)
			parse_format(r, system, text, bytes);
	}
}

int pdreader__parse_tracing(struct pdreader *r, char *payload, size_t bytes)
{
	struct blob b = { .pos = payload, .left_bytes = bytes };
	__u32 i, nr, nr_left = MAX_FORMATS;
	int err = parse_head(r, &b);

	if (err)
		return err;
	nr = blob__u32(&b);
	for (i = 0; i < nr && !b.bad; i++)
		blob__take(&b, blob__u64(&b));
	nr = blob__u32(&b);
	for (i = 0; i < nr && !b.bad; i++)
		parse_system(r, &b, &nr_left);
	return b.bad ? -EINVAL : 0;
}

void pdreader__add_builtin_formats(struct pdreader *r)
{
	size_t i;

	for (i = 0; i < r->nr_events; i++) {
		const struct perf_event_attr *attr = &r->events[i].pub.attr;
		const char *text;

		if (attr->type != PERF_TYPE_TRACEPOINT || r->events[i].pub.format ||
		    attr->config > 0xffff)
			continue;
		text = churn_format__text(attr->config);
		if (text && !open_tep(r, sizeof(long)))
			parse_format(r, "churn", text, strlen(text));
	}
}
