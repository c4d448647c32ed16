/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ranges.h - where in an object the code of its allocator is, named or not.
 *
 * glibc (libc.so.6, and static copies): the source file malloc.c, which is one piece of code. By
 * symbols, of the object or of its debug file: what stands under malloc.c there. Stripped: what
 * the entry points lead to, between the nearest exported functions that are not of malloc.c. Not
 * covered then: cold parts that the compiler has moved elsewhere (Debian's has none). Of
 * executables, only those with a symbol table are known to hold glibc's malloc at all.
 *
 * Libraries that are an allocator and nothing else (libjemalloc.so ...): all their code.
 *
 * Any other object that defines malloc and free: its entry points, functions whose names carry an
 * allocator's prefix (je_, _rjem_, tc_, mi_ ...), and those that only these lead to. Not covered:
 * functions reached through pointers, shared with the rest of the program, or exported. Taken in
 * though they may be called from elsewhere: functions to which only data, or a short jump from
 * another function, refers besides.
 */
#ifndef PERF_CHURN_STACK_RANGES_H
#define PERF_CHURN_STACK_RANGES_H

#include <stddef.h>
#include <linux/types.h>

#include "bpf/churn.h"
#include "locate.h"

struct probe_image;

/** struct alloc_range - [@start, @end), as linked; @offset: where @start is in the file. */
struct alloc_range {
	__u64 start, end, offset;
};

/**
 * struct alloc_ranges - All of an object, sorted, without overlaps.
 * @how: By what they were found.
 * @build_id: Of the object.
 */
struct alloc_ranges {
	struct alloc_range *ranges;
	size_t nr;
	enum churn_range_how how;
	struct build_id build_id;
};

/**
 * alloc_ranges__new() - Find them.
 * @path: Opens the object.
 * @img: What probe_image__new() found in it.
 * @ret: Set on success only; free with alloc_ranges__free().
 *
 * Any byte of the object and its debug file may be hostile. Reads the whole code of an object that
 * is neither glibc nor an allocator's own library. Prints nothing but debug lines.
 *
 * Return: 0; -ENODATA when nothing tells; -E2BIG when the object is larger than what is searched;
 * -ENOEXEC, -ENOMEM, or the errno of open(2) or pread(2).
 */
int alloc_ranges__new(const char *path, const struct probe_image *img, struct alloc_ranges **ret);
void alloc_ranges__free(struct alloc_ranges *r);

#endif /* PERF_CHURN_STACK_RANGES_H */
