/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow_calls.h - the slow functions of a stripped glibc, by what calls what.
 *
 * Functions begin and end where .eh_frame says so; those of malloc.c are one piece of code. There
 *
 * - _int_malloc is the function that malloc and calloc cannot get round to reach sbrk; that leads
 *   to mmap, too; that realloc and memalign lead to; that is called from three functions or more,
 *   and by two at least right after two arguments were set;
 * - sysmalloc is the one it calls that it cannot get round to reach sbrk, and that leads to mmap;
 * - systrim is the one that malloc_trim calls, that free leads to and that calls what calls sbrk.
 */
#ifndef PERF_CHURN_STACK_SLOW_CALLS_H
#define PERF_CHURN_STACK_SLOW_CALLS_H

#include <stddef.h>

struct elf_file;
struct probe_function;
struct probe_image;

#define SLOW_CALLS_MAX	3

/**
 * slow_calls__find() - Find them.
 * @img: The entry points of @file, which is libc.so.6.
 * @ret: Room for SLOW_CALLS_MAX: _int_malloc first; the others only if they can be told.
 *
 * Return: 0; -ENODATA when no function is like _int_malloc, -ENOTUNIQ when several are, -E2BIG
 * when the piece has more functions than any malloc.c, or -ENOMEM.
 */
int slow_calls__find(const struct elf_file *file, const struct probe_image *img,
		     struct probe_function *ret, size_t *ret_nr);

#endif /* PERF_CHURN_STACK_SLOW_CALLS_H */
