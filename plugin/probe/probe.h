/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe.h - where to hook: which allocator entry points an object has, and at which instruction
 * of each a uprobe costs least.
 */
#ifndef PERF_CHURN_PROBE_PROBE_H
#define PERF_CHURN_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define PROBE_MAX_INTERNAL	8

struct elf_file;
struct slow_function;

/**
 * struct probe_site - One entry point and the instruction to probe.
 * @fn: enum churn_fn.
 * @symbol: Name as found in the object. A string constant, not to be freed.
 * @offset: File offset of the probed instruction (what a uprobe takes).
 * @vaddr: Its address in the object (st_value + @delta).
 * @delta: Bytes from the entry. At every chosen site the arguments are still in their registers
 *	and the stack pointer still points at the return address.
 * @size_arg, @size_is_int: Of a slow function, see families.h; else 0.
 * @emulated: The kernel emulates the instruction; else it is single-stepped, ten times the cost.
 * @insn: Text of the instruction, for messages.
 */
struct probe_site {
	__u32 fn;
	const char *symbol;
	__u64 offset;
	__u64 vaddr;
	__u32 delta;
	unsigned int size_arg;
	bool size_is_int;
	bool emulated;
	char insn[32];
};

/** struct probe_function - A function to probe. */
struct probe_function {
	const struct slow_function *slow;
	__u64 vaddr, size_bytes;
};

/**
 * struct probe_image - One object file that holds an allocator.
 * @family: Row of the family table, e.g. "glibc"; "generic" for any other malloc and free.
 * @path: The path it was opened by.
 * @may_forward: Its functions may call another image's: of such nested calls the outermost counts.
 * @path: As the target sees it.
 * @sites: Deduplicated by offset, and without functions that do nothing but jump to another one
 *	here: no call is counted twice for an alias.
 * @entries: Addresses of the entry points, whether they are probed or not.
 * @internal_free: Return addresses, relative to the probed free instruction (ra - site vaddr), of
 *	the direct calls by which the allocator frees for itself, past interposition (glibc's
 *	thread cache at thread exit), realloc's own among them. A call from there is no free by
 *	the program. Only filled for shared objects of glibc, where the program's own calls come
 *	through the PLT.
 * @counter_offset: Of our preload library, whose sites are its two hooks: file offset of the
 *	counter that tells it of listeners. 0: an allocator.
 */
struct probe_image {
	const char *family;
	bool may_forward;
	char *path;
	struct probe_site *sites;
	size_t nr_sites;
	__u64 *entries;
	size_t nr_entries;
	__s64 internal_free[PROBE_MAX_INTERNAL];
	size_t nr_internal_free;
	__u64 counter_offset;
};

/**
 * probe_image__new() - Scan an ELF file for an allocator's entry points.
 * @path: A path that opens here (for other mount namespaces /proc/PID/root/... or map_files).
 * @name: Path as the target sees it, for messages.
 * @ret: Set on success only; free with probe_image__free().
 *
 * An executable that only *imports* malloc (undefined symbol) has none. Symbols of .dynsym and
 * .symtab count. Any byte of the file may be hostile.
 *
 * Return: 0, -ENOENT when it defines no known allocator, -ENOEXEC when it is no x86-64 ELF file,
 * or the errno of open(2)/mmap(2). Prints nothing but debug lines.
 */
int probe_image__new(const char *path, const char *name, struct probe_image **ret);
void probe_image__free(struct probe_image *img);

/**
 * probe_image__probe_slow() - Probe slow functions in place of the entry points.
 * @fns: Each address once.
 *
 * Return: 0, -ENOMEM, or another negative errno when one has no code in the file.
 */
int probe_image__probe_slow(struct probe_image *img, const struct elf_file *file,
			    const struct probe_function *fns, size_t nr);

/** probe_families__describe() - "glibc (malloc, calloc, ...)": what was searched, for messages. */
const char *probe_families__describe(void);

#endif /* PERF_CHURN_PROBE_PROBE_H */
