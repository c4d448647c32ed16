// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/hashtab.h>
#include <linux/types.h>

#include "strpool.h"

struct strpool {
	htab_t table;
};

static hashval_t hash_text(const void *text)
{
	return htab_hash_string(text);
}

static int equal_text(const void *a, const void *b)
{
	return !strcmp(a, b);
}

int strpool__new(struct strpool **ret)
{
	struct strpool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->table = htab_create_alloc(1021, hash_text, equal_text, free, calloc, free);
	if (!pool->table) {
		free(pool);
		return -ENOMEM;
	}
	*ret = pool;
	return 0;
}

void strpool__free(struct strpool *pool)
{
	if (!pool)
		return;
	htab_delete(pool->table);
	free(pool);
}

/* Length of the UTF-8 sequence at @s and its character; 0: not UTF-8 (or overlong). */
static size_t decode_utf8(const unsigned char *s, __u32 *ret)
{
	static const __u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	__u32 c = bytes == 1 ? s[0] : s[0] & (0x7f >> bytes);

	if ((s[0] >= 0x80 && s[0] < 0xc0) || s[0] >= 0xf8)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((s[i] & 0xc0) != 0x80)	/* stops at the NUL, too */
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return bytes;
}

static bool is_printable(__u32 c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return false;
	if (c >= 0x200b && c <= 0x200f)		/* zero width, direction marks */
		return false;
	if (c >= 0x2028 && c <= 0x202e)		/* separators, direction overrides */
		return false;
	return c != 0xfeff && !(c >= 0x2060 && c <= 0x206f);
}

static void clean_in_place(char *text)
{
	unsigned char *from = (unsigned char *)text, *to = from;

	while (*from) {
		__u32 c = 0;
		size_t bytes = decode_utf8(from, &c);

		if (bytes && is_printable(c)) {
			memmove(to, from, bytes);
			to += bytes;
		} else {
			*to++ = '?';
		}
		from += bytes ?: 1;
	}
	*to = '\0';
}

const char *strpool__clean(struct strpool *pool, const char *text)
{
	char *copy = strdup(text);
	void **slot;

	if (!copy)
		return NULL;
	clean_in_place(copy);
	slot = htab_find_slot(pool->table, copy, INSERT);
	if (slot && !*slot) {
		*slot = copy;
		return copy;
	}
	free(copy);
	return slot ? *slot : NULL;
}
