/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * names.h - what a function is to us, told by its name and object: allocator, wrapper, kernel's
 * probe handling, the start of a thread, or the program itself. All tables are in names.c.
 */
#ifndef PERF_CHURN_CHURN_NAMES_H
#define PERF_CHURN_CHURN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum frame_kind {
	FRAME_PROGRAM,		/* anything else: a site may be here */
	FRAME_ALLOCATOR,	/* malloc, free and what they are made of */
	FRAME_WRAPPER,		/* hands memory on: operator new, xmalloc, std::vector */
	FRAME_START,		/* outermost frames of a thread: _start, clone, the loader */
	FRAME_KERNEL,
	FRAME_PROBE,		/* the kernel handling our probes */
};

struct names;

/**
 * names__new() - Build the tables, with the user's additions.
 * @wrappers: POSIX extended regular expressions of further wrappers, matched anywhere in the
 *	function's name as shown; @nr of them, not kept.
 *
 * Return: 0, -ENOMEM, or -EINVAL after one line that names the bad expression.
 */
int names__new(const char *const *wrappers, size_t nr, struct names **ret);
void names__free(struct names *n);

/**
 * names__classify() - What a frame is, as far as names tell; see also frame.allocator.
 * @sym: Function, demangled or not; NULL when unknown.
 * @dso: Path of its object; NULL when unknown.
 * @kernel: A kernel address.
 */
enum frame_kind names__classify(const struct names *n, const char *sym, const char *dso,
				bool kernel);

/** names__is_allocator_dso() - A C library or allocator library, by its file name. */
bool names__is_allocator_dso(const char *dso);

/** names__is_own_library() - The recorder's preload library, by its file name. */
bool names__is_own_library(const char *dso);

#endif /* PERF_CHURN_CHURN_NAMES_H */
