/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shape.h - what kind of blocks a site makes: how long they live, how large they are, who frees
 * them and in which order, and whether they are steps of something that grows.
 *
 * An accumulator for each site takes its samples one by one and is of bounded size. All figures
 * but the batches (order.h) are such that a sample of one in N tells them without bias.
 */
#ifndef PERF_CHURN_CHURN_SHAPE_H
#define PERF_CHURN_CHURN_SHAPE_H

#include "classes.h"
#include "frames.h"
#include "order.h"
#include "share.h"

struct stacks;

/** SHAPE_PLACES - Freeing places that are told apart; the lightest are forgotten. */
#define SHAPE_PLACES	4

/** struct shape_place - A call of free(), in the allocating thread, that ends blocks of a site. */
struct shape_place {
	__u32 stack;		/* of the free, cut at its site */
	enum frame_left left;
	struct tally sum;
};

/** struct shape - Zero it. */
struct shape {
	struct classes sizes, lives;
	__u64 min_bytes, max_bytes, first_bytes, nr_samples;
	struct share_sum same_size;		/* as the first one */
	struct ratio_sum chunks;		/* not asked for, of what glibc takes */
	struct share_sum cross_thread, own_frame, caller_frame;
	struct share_sum by_calloc, by_realloc, moved;
	struct share_sum goes_on;		/* of ended blocks: by realloc */
	struct tally all, grown, outgrown;	/* sizes: all, realloc's new, its old */
	double lived, var_lived;		/* ns, of all blocks together */
	__u64 thread_bits;			/* one of a thread, or by chance of two */
	struct shape_place places[SHAPE_PLACES];
	struct order order;
};

void shape__exit(struct shape *s);

/**
 * struct shape_alloc - A sampled allocation of the site.
 * @old: realloc() was given a block.
 * @moved: And handed out another one.
 */
struct shape_alloc {
	__u64 size_bytes, weight;
	__u32 tid, fn;
	bool old, moved;
};

int shape__add_alloc(struct shape *s, const struct shape_alloc *a);

/**
 * struct shape_free - The end of a sampled block of the site.
 * @site: Stack of its allocation, cut at the site.
 * @stack: Of the free; STACK_NONE: not known.
 * @tid, @alloc_tid: Of the threads that freed and allocated.
 * @by_realloc: realloc() gave it back.
 */
struct shape_free {
	__u64 start_ns, end_ns, lifetime_ns, size_bytes, weight;
	__u32 site, stack, tid, alloc_tid;
	bool by_realloc, cross_thread;
};

/** shape__add_free() - Return: 0 or -ENOMEM. */
int shape__add_free(struct shape *s, const struct stacks *stacks, const struct shape_free *f);

/** shape__add_outgrown() - A block, of whatever site, that realloc() gave back when called here. */
void shape__add_outgrown(struct shape *s, __u64 size_bytes, __u64 weight);

/** shape__add_live() - A block that was still there at the end, @age_ns old. */
void shape__add_live(struct shape *s, __u64 age_ns, __u64 weight);

/**
 * struct report_growth - Steps of something that grows.
 * @realloc: Share of allocations that are a realloc of a block; @moved: of these that had to move.
 * @factor: Mean size after a realloc by that before; the very first of a site may be missed.
 * @steps: Blocks in a row until one is not given to realloc; NAN when all seen were.
 * @copied: Share of allocations whose block is freed, by free(), in the function that
 *	allocates, at a call that frees smaller blocks than are allocated: allocate larger, copy,
 *	free smaller.
 * @copy_factor: Mean size of all blocks by that of those.
 */
struct report_growth {
	struct estimate realloc, moved, factor, steps, copied, copy_factor;
};

/**
 * struct report_shape - Of a site. Shares are from 0 to 1, NAN when not known.
 * @p50_ns, @p90_ns, @p99_ns: Lifetimes by Kaplan and Meier; error NAN: too few samples to tell.
 * @sizes, @lives: Histograms, of allocations and of freed blocks; the shape's own.
 * @min_bytes, @max_bytes: Of the samples.
 * @same_size: Share of the size that came first; 1: all were of one size.
 * @slack: Part of the memory taken by the blocks that was not asked for; NAN when their allocator's
 *	size classes are not known.
 * @live: Blocks that were there at a time, on average over the recording.
 * @cross_thread: Share of frees by another thread.
 * @own_frame: Share of frees, by free(), while the frame of the site's function was there
 *	(frames.h).
 * @caller_frame: While that of its caller was; @own_frame is part of it.
 * @lifo: Share of pairs that lived at a time of which the younger goes first.
 * @batch: Share of frees, by the thread that allocated, that follow one without allocation between.
 * @batch_blocks: Frees in a row; NAN when it is not the order.
 * @calloc: Share of allocations that are by calloc.
 * @nr_threads: Threads that were seen to allocate; there may be more.
 * @freed_at: Where most are freed, in the report's stacks, from the same thread; STACK_NONE:
 *	not known.
 */
struct report_shape {
	struct report_class *sizes, *lives;
	size_t nr_sizes, nr_lives;
	__u64 min_bytes, max_bytes, nr_samples;
	struct estimate p50_ns, p90_ns, p99_ns;
	struct estimate same_size, slack, live, cross_thread, own_frame, caller_frame;
	struct estimate lifo, batch, calloc;
	enum free_order order;
	double batch_blocks;
	unsigned int nr_threads;
	__u32 freed_at;
	struct report_growth growth;
};

/**
 * struct shape_context - What a site's figures need beside its samples.
 * @lives: Its lifetimes.
 * @duration_s: Of the recording.
 * @has_frees: Frees were recorded.
 * @glibc: All blocks are from glibc's malloc.
 */
struct shape_context {
	const struct calibration *calibration;
	const struct lives *lives;
	double duration_s;
	bool has_frees, glibc;
};

/** shape__finish() - @ret is for report_shape__exit(). Return: 0 or -ENOMEM. */
int shape__finish(const struct shape *s, const struct shape_context *ctx, struct report_shape *ret);
void report_shape__exit(struct report_shape *s);

/** report_shape__mark() - Samples are missing: none of it is sure. */
void report_shape__mark(struct report_shape *s);

#endif /* PERF_CHURN_CHURN_SHAPE_H */
