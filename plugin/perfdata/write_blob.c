// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "write_blob.h"

#define NAME_ALIGN	64	/* perf's */

void blob__put(struct blob *b, const void *data, size_t bytes)
{
	size_t room = b->room ?: 256;
	char *grown;

	if (b->failed)
		return;
	while (room - b->bytes < bytes)
		room *= 2;
	if (room != b->room) {
		grown = realloc(b->data, room);
		if (!grown) {
			b->failed = true;
			return;
		}
		b->data = grown;
		b->room = room;
	}
	memcpy(b->data + b->bytes, data, bytes);
	b->bytes += bytes;
}

void blob__put_u32(struct blob *b, __u32 value)
{
	blob__put(b, &value, sizeof(value));
}

void blob__put_u64(struct blob *b, __u64 value)
{
	blob__put(b, &value, sizeof(value));
}

void blob__put_cstring(struct blob *b, const char *text)
{
	blob__put(b, text, strlen(text) + 1);
}

void blob__put_string(struct blob *b, const char *text)
{
	static const char zeros[NAME_ALIGN];
	size_t bytes = strlen(text) + 1;
	size_t padded = (bytes + NAME_ALIGN - 1) / NAME_ALIGN * NAME_ALIGN;

	blob__put_u32(b, padded);
	blob__put(b, text, bytes);
	blob__put(b, zeros, padded - bytes);
}

void blob__exit(struct blob *b)
{
	free(b->data);
	*b = (struct blob){};
}
