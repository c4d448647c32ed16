// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read_stream.h"

void chunk_pool__exit(struct chunk_pool *pool)
{
	struct chunk *chunk;

	while ((chunk = pool->free)) {
		pool->free = chunk->next;
		free(chunk);
	}
}

static struct chunk *chunk_pool__get(struct chunk_pool *pool)
{
	struct chunk *chunk = pool->free;

	if (chunk)
		pool->free = chunk->next;
	else
		chunk = aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);
	if (!chunk)
		return NULL;
	chunk->nr_refs = 1;
	pool->nr_used++;
	return chunk;
}

void stream__exit(struct stream *s)
{
	if (s->chunk)
		chunk__put(s->chunk, s->pool);
	s->chunk = NULL;
}

int stream__make_room(struct stream *s)
{
	size_t left_bytes = stream__left_bytes(s);
	struct chunk *chunk;

	if (s->chunk && s->tail < CHUNK_BYTES)
		return 0;
	if (left_bytes > CHUNK_BYTES / 2)
		return -EINVAL;
	chunk = chunk_pool__get(s->pool);
	if (!chunk)
		return -ENOMEM;
	if (s->chunk) {
		memcpy((char *)chunk + CHUNK_HEAD_BYTES, stream__head(s), left_bytes);
		chunk__put(s->chunk, s->pool);
	}
	s->chunk = chunk;
	s->head = CHUNK_HEAD_BYTES;
	s->tail = CHUNK_HEAD_BYTES + left_bytes;
	return 0;
}

ssize_t stream__read(struct stream *s, int fd, __u64 offset, __u64 max_bytes)
{
	size_t want_bytes = stream__room_bytes(s);
	ssize_t got_bytes;

	if (want_bytes > max_bytes)
		want_bytes = max_bytes;
	do {
		got_bytes = pread(fd, stream__tail(s), want_bytes, offset);
	} while (got_bytes < 0 && errno == EINTR);
	if (got_bytes < 0)
		return -errno;
	s->tail += got_bytes;
	return got_bytes;
}
