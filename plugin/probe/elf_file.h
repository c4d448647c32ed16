/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elf_file.h - what probes need of an x86-64 ELF file. Any byte of it may be hostile.
 */
#ifndef PERF_CHURN_PROBE_ELF_FILE_H
#define PERF_CHURN_PROBE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct elf_file;

/**
 * struct elf_function - A function the file defines.
 * @name: Points into the file's string table; lives as long as the elf_file.
 * @size_bytes: st_size; 0 when unknown.
 * @is_local: Its name says nothing outside the file it was compiled from. Also what was hidden
 *	from other objects, such as malloc in a static PIE.
 * @is_exported: It stands in .dynsym: other objects may call it.
 * @unit: Number of the source file that .symtab puts it under, from 1; 0: it does not tell. It
 *	does for functions that were static in their file.
 */
struct elf_function {
	const char *name;
	__u64 vaddr;
	__u64 size_bytes;
	bool is_local;
	bool is_exported;
	unsigned int unit;
};

/**
 * struct elf_section - Contents of a section, as linked at @vaddr; they live as long as the file.
 */
struct elf_section {
	const __u8 *bytes;
	size_t nr_bytes;
	__u64 vaddr;
};

/**
 * elf_file__open() - Open an x86-64 executable or shared object.
 * @ret: Set on success only; close with elf_file__close().
 *
 * Nothing is mapped: a file that another process cuts short while we read it is no danger.
 *
 * Return: 0, -ENOEXEC when it is something else, -ENOMEM, or the errno of open(2).
 */
int elf_file__open(const char *path, struct elf_file **ret);
void elf_file__close(struct elf_file *file);

/**
 * elf_file__each_function() - Visit the defined functions.
 * @visit: Called for each of .dynsym, then of .symtab; a non-zero return ends the walk.
 *
 * Return: 0, or what @visit returned.
 */
int elf_file__each_function(const struct elf_file *file,
			    int (*visit)(void *ctx, const struct elf_function *fn), void *ctx);

/** elf_file__soname() - DT_SONAME, or NULL. Lives as long as @file. */
const char *elf_file__soname(const struct elf_file *file);

/** elf_file__needed() - The @idx-th DT_NEEDED; NULL when there are fewer. Lives as long as @file. */
const char *elf_file__needed(const struct elf_file *file, size_t idx);

/**
 * elf_file__loader() - The dynamic loader that the program asks the kernel for (PT_INTERP).
 * @buf: Set to its path, NUL-terminated.
 *
 * Return: false when there is none (the program is statically linked), or it does not fit.
 */
bool elf_file__loader(const struct elf_file *file, char *buf, size_t buf_bytes);

/**
 * elf_file__section() - Find a section of the program by name.
 * @ret: Set on success only.
 *
 * Return: false when there is none, or it has no contents here.
 */
bool elf_file__section(const struct elf_file *file, const char *name, struct elf_section *ret);

/** elf_file__is_shared() - A shared object, not a (position-independent) executable? */
bool elf_file__is_shared(const struct elf_file *file);

/**
 * elf_file__offset() - Where the code at an address stands in the file.
 * @ret: Set on success only.
 *
 * Return: 0, or -EINVAL when no executable segment holds @vaddr.
 */
int elf_file__offset(const struct elf_file *file, __u64 vaddr, __u64 *ret);

/**
 * elf_file__variable() - Where an exported variable stands in the file.
 * @ret: Set on success only.
 *
 * Return: 0, or -ENOENT when there is none of that name, or it is not in the file (.bss).
 */
int elf_file__variable(const struct elf_file *file, const char *name, __u64 *ret);

/**
 * elf_file__read() - Read code.
 * @nr_bytes: At most this many; fewer when the segment or the file ends before.
 *
 * Return: Bytes read (0 when no executable segment holds @vaddr), or the errno of pread(2).
 */
long elf_file__read(const struct elf_file *file, __u64 vaddr, void *buf, size_t nr_bytes);

/**
 * elf_file__segment() - The @idx-th executable segment.
 *
 * Return: true and its range, or false when there are fewer.
 */
bool elf_file__segment(const struct elf_file *file, size_t idx, __u64 *vaddr, __u64 *nr_bytes);

/**
 * elf_file__slot_name() - Which symbol's address the loader writes into a GOT slot.
 *
 * Return: Its name, which lives as long as @file; NULL when there is none.
 */
const char *elf_file__slot_name(const struct elf_file *file, __u64 slot_vaddr);

#endif /* PERF_CHURN_PROBE_ELF_FILE_H */
