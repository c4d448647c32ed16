/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * read_stream.h - file contents in chunks that live as long as a queued record lies in them.
 *
 * Records are never copied one by one: the file (or the decompressor) fills a chunk, the queue
 * points into it, and the chunk goes back to the pool with its last record. A record that would
 * cross a chunk's end moves to the start of the next one.
 */
#ifndef PERF_CHURN_PERFDATA_READ_STREAM_H
#define PERF_CHURN_PERFDATA_READ_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

/* Also the alignment of a chunk, so that any pointer into it leads to its head. */
#define CHUNK_BYTES		((size_t)512 * 1024)
#define CHUNK_HEAD_BYTES	((size_t)64)

/**
 * struct chunk - Head of a chunk; the data begins CHUNK_HEAD_BYTES behind it.
 * @next: In the pool's list of free chunks.
 * @nr_refs: Queued records in it, plus one while a stream fills it.
 */
struct chunk {
	struct chunk *next;
	size_t nr_refs;
};

/**
 * struct chunk_pool - Free chunks for reuse, and how many are out.
 */
struct chunk_pool {
	struct chunk *free;
	size_t nr_used;
};

/** chunk_pool__exit() - Give the free chunks back; used ones must have been put before. */
void chunk_pool__exit(struct chunk_pool *pool);

/** chunk__of() - The chunk that a record lies in. */
static inline struct chunk *chunk__of(const void *record)
{
	return (struct chunk *)((uintptr_t)record & ~(uintptr_t)(CHUNK_BYTES - 1));
}

/** chunk__put() - Drop one reference; the last one hands the chunk back to the pool. */
static inline void chunk__put(struct chunk *chunk, struct chunk_pool *pool)
{
	if (--chunk->nr_refs)
		return;
	chunk->next = pool->free;
	pool->free = chunk;
	pool->nr_used--;
}

/**
 * struct stream - The chunk being filled; positions count from the chunk's head.
 * @head: First byte that no record was taken from yet.
 * @tail: End of what is filled.
 */
struct stream {
	struct chunk_pool *pool;
	struct chunk *chunk;
	size_t head;
	size_t tail;
};

void stream__exit(struct stream *s);

/**
 * stream__make_room() - Make sure that something can be filled in.
 *
 * A full chunk is left to its records, and the part of a record at its end (less than 64 KB: all
 * whole ones must have been taken) is copied to a new one.
 *
 * Return: 0, -ENOMEM, or -EINVAL when more than half a chunk is left over.
 */
int stream__make_room(struct stream *s);

/** stream__head() - Where the next record begins. */
static inline void *stream__head(const struct stream *s)
{
	return (char *)s->chunk + s->head;
}

/** stream__tail() - Where the next byte is filled in; room for stream__room_bytes(). */
static inline void *stream__tail(const struct stream *s)
{
	return (char *)s->chunk + s->tail;
}

static inline size_t stream__left_bytes(const struct stream *s)
{
	return s->tail - s->head;
}

static inline size_t stream__room_bytes(const struct stream *s)
{
	return CHUNK_BYTES - s->tail;
}

/**
 * stream__read() - Fill from a file at an offset, as far as the chunk has room.
 * @max_bytes: At most so many.
 *
 * Return: Bytes read, 0 at the end of file, or a negative errno (not printed).
 */
ssize_t stream__read(struct stream *s, int fd, __u64 offset, __u64 max_bytes);

#endif /* PERF_CHURN_PERFDATA_READ_STREAM_H */
