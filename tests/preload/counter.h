/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * counter.h - the file that counter.so keeps per process, shared with counter_dump.
 *
 * counter.so maps $COUNTER_OUT.PID with MAP_SHARED and adds to it in place, so the numbers are
 * complete whatever ends the process: exit, _exit, exec (the next program image goes on in the same
 * file), a signal, or SIGKILL.
 */
#ifndef PERF_CHURN_TESTS_COUNTER_H
#define PERF_CHURN_TESTS_COUNTER_H

#include <stdint.h>

#define COUNTER_MAGIC		0x31726e7468637063ULL
#define COUNTER_NR_SLOTS	256

enum counter_fn_id {
	COUNTER_MALLOC,
	COUNTER_CALLOC,
	COUNTER_REALLOC,
	COUNTER_REALLOCARRAY,
	COUNTER_MEMALIGN,
	COUNTER_ALIGNED_ALLOC,
	COUNTER_POSIX_MEMALIGN,
	COUNTER_VALLOC,
	COUNTER_PVALLOC,
	COUNTER_FREE,
	COUNTER_CFREE,
	COUNTER_NR_FNS,
};

/**
 * struct counter_fn - Calls of one function by one thread.
 * @calls: Calls made.
 * @ok: Of these, allocations that succeeded (0 for free and cfree).
 * @bytes: Bytes asked for by the successful ones; for calloc the product.
 * @failed: Of these, allocations that failed.
 *
 * reallocarray() of glibc calls realloc() through its PLT, which lands in this counter again, so
 * its row has calls, and failures only for products that overflow (realloc is not called then).
 */
struct counter_fn {
	uint64_t calls, ok, bytes, failed;
};

/**
 * struct counter_slot - One thread.
 * @tid: Its id; 0: not in use. The last slot takes what finds no other and keeps tid 0.
 * @allocs: Successful allocations. A realloc that resizes a block is one allocation and one free.
 * @bytes: Bytes asked for by these.
 * @frees: free(non-NULL), realloc that resized a block, realloc(block, 0).
 * @failed: Failed allocations, but those of reallocarray's own overflow check.
 * @free_null: free(NULL).
 * @reallocs: Reallocs that resized a block.
 * @fn: By function.
 */
struct counter_slot {
	uint32_t tid, pad;
	uint64_t allocs, bytes, frees, failed, free_null, reallocs;
	struct counter_fn fn[COUNTER_NR_FNS];
};

/**
 * struct counter_file - The whole file.
 * @images: Program images that ran with the counter under this pid (2 after one exec).
 * @own_allocs, @own_frees: Calls that the dynamic loader made while the counter looked up the next
 *	definitions; served from a static buffer, so that libc never saw them. Not counted above.
 */
struct counter_file {
	uint64_t magic;
	uint32_t pid, images;
	uint64_t own_allocs, own_bytes, own_frees;
	struct counter_slot slots[COUNTER_NR_SLOTS];
};

#endif /* PERF_CHURN_TESTS_COUNTER_H */
