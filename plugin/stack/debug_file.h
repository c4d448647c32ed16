/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debug_file.h - the separate debug file of an object, for its symbols.
 */
#ifndef PERF_CHURN_STACK_DEBUG_FILE_H
#define PERF_CHURN_STACK_DEBUG_FILE_H

#include "locate.h"

struct elf_file;

/** debug_file__build_id() - Of the object that @path opens; 0 bytes: none, or it does not open. */
struct build_id debug_file__build_id(const char *path);

/**
 * debug_file__open() - Open the debug file, from this machine.
 * @path: Opens the object.
 * @build_id: Of the object.
 * @ret: Set on success only; close with elf_file__close().
 *
 * Return: 0, -ENODATA when there is none that can be read, or -ENOMEM.
 */
int debug_file__open(const char *path, const struct build_id *build_id, struct elf_file **ret);

#endif /* PERF_CHURN_STACK_DEBUG_FILE_H */
