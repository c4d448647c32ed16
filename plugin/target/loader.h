/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loader.h - which libraries a program's dynamic loader will map.
 */
#ifndef PERF_CHURN_TARGET_LOADER_H
#define PERF_CHURN_TARGET_LOADER_H

struct image_list;

/**
 * loader__add_images() - Add a program, its loader and the libraries mapped at its start.
 * @path: An ELF file.
 *
 * The loader itself is asked (--list, as ldd does), so that LD_PRELOAD, LD_LIBRARY_PATH, RUNPATH
 * and the cache count. It maps the libraries, runs resolvers of indirect functions, but no
 * constructor. Privileged programs (set-user-ID, file capabilities) are not run; nor are loaders
 * that do not answer within five seconds waited for: then, the libraries named in the file
 * itself are looked for in the usual places.
 *
 * Return: 0, -ENOEXEC when it is no x86-64 ELF file, -ENOMEM, or the errno of open(2).
 */
int loader__add_images(struct image_list *list, const char *path);

/**
 * loader__parse_line() - Take a line of the loader's list apart.
 * @line: Changed.
 *
 * Return: The path in it, inside @line; NULL when there is none.
 */
char *loader__parse_line(char *line);

#endif /* PERF_CHURN_TARGET_LOADER_H */
