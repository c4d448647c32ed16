// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values of tracepoint fields. Offset and size of a field were limited to what a sample can hold
 * when its format was read (read_tracing.c); here they are compared with the sample at hand.
 */
#include <errno.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "reader.h"

const struct tep_format_field *pdevent__field(const struct pdevent *event, const char *name)
{
	return event->format ? tep_find_any_field(event->format, name) : NULL;
}

int pdfield__u64(const struct tep_format_field *field, const struct pdsample *s, __u64 *ret)
{
	bool is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	union {
		__u8 u8;
		__u16 u16;
		__u32 u32;
		__u64 u64;
	} v;
	const char *data;

	if (!s->raw || (unsigned int)field->offset + field->size > s->raw_bytes)
		return -EINVAL;
	data = (const char *)s->raw + field->offset;
	switch (field->size) {
	case 1:
		v.u8 = *data;
		*ret = is_signed ? (__u64)(__s8)v.u8 : v.u8;
		return 0;
	case 2:
		memcpy(&v, data, 2);
		*ret = is_signed ? (__u64)(__s16)v.u16 : v.u16;
		return 0;
	case 4:
		memcpy(&v, data, 4);
		*ret = is_signed ? (__u64)(__s32)v.u32 : v.u32;
		return 0;
	case 8:
		memcpy(ret, data, 8);
		return 0;
	}
	return -EINVAL;
}

/* __data_loc and __rel_loc: a word that holds offset (from its own end for the latter) and size. */
static int locate_dynamic(const struct tep_format_field *field, const struct pdsample *s,
			  unsigned int *offset, unsigned int *bytes)
{
	__u64 loc;
	int err = pdfield__u64(field, s, &loc);

	if (err || field->size != 4)
		return -EINVAL;
	*offset = loc & 0xffff;
	*bytes = loc >> 16 & 0xffff;
	if (field->flags & TEP_FIELD_IS_RELATIVE)
		*offset += field->offset + field->size;
	return 0;
}

int pdfield__str(const struct tep_format_field *field, const struct pdsample *s, char *buf,
		 size_t bytes)
{
	unsigned int offset = field->offset, field_bytes = field->size;

	if (!bytes)
		return -EINVAL;
	if ((field->flags & TEP_FIELD_IS_DYNAMIC) &&
	    locate_dynamic(field, s, &offset, &field_bytes))
		return -EINVAL;
	if (!s->raw || offset + field_bytes > s->raw_bytes)
		return -EINVAL;
	field_bytes = strnlen((const char *)s->raw + offset, field_bytes);
	if (field_bytes > bytes - 1)
		field_bytes = bytes - 1;
	memcpy(buf, (const char *)s->raw + offset, field_bytes);
	buf[field_bytes] = '\0';
	return 0;
}

int pdfield__bytes(const struct tep_format_field *field, const struct pdsample *s, void *buf,
		   size_t bytes)
{
	if (field->size < 0 || (size_t)field->size != bytes || !s->raw ||
	    field->offset + bytes > s->raw_bytes)
		return -EINVAL;
	memcpy(buf, (const char *)s->raw + field->offset, bytes);
	return 0;
}
