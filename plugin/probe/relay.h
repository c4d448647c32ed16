/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * relay.h - how an allocator's entry points call each other.
 */
#ifndef PERF_CHURN_PROBE_RELAY_H
#define PERF_CHURN_PROBE_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct elf_file;
struct elf_function;

/**
 * relay__reaches() - Does a function call, or jump to, another one by its public name?
 * @via: The other one, by name where it goes through the PLT or GOT.
 * @via_vaddr: ... and by address where it does not.
 */
bool relay__reaches(const struct elf_file *file, const struct elf_function *fn, const char *via,
		    __u64 via_vaddr);

/**
 * relay__tail_jump() - Where a function goes on that does nothing but jump there.
 * @vaddr: Target's address; meaningless when it goes through the PLT or GOT.
 * @symbol: Target's name when it goes through the PLT or GOT, else NULL. Lives as long as @file.
 *
 * Return: Is it such a function?
 */
bool relay__tail_jump(const struct elf_file *file, const struct elf_function *fn, __u64 *vaddr,
		      const char **symbol);

/**
 * relay__direct_calls() - Where a shared object calls a function past the PLT.
 * @entry_vaddr: The function.
 * @ret: Return addresses of the `call rel32`s.
 * @max: Room in @ret.
 *
 * Return: Number of calls, which may be greater than @max; or a negative errno.
 */
long relay__direct_calls(const struct elf_file *file, __u64 entry_vaddr, __u64 *ret, size_t max);

#endif /* PERF_CHURN_PROBE_RELAY_H */
