/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine.h - addresses to frames: whose address space, which object, which function and line.
 *
 * Fed with a file's MMAP, COMM, FORK and EXIT records in time order, it answers what an address
 * was at that moment. Names and paths come from a file or from hostile objects: control
 * characters are never handed out.
 */
#ifndef PERF_CHURN_STACK_MACHINE_H
#define PERF_CHURN_STACK_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* What an address is shown as that lies in an allocator's code and in no function with a name. */
#define MACHINE_INTERNALS	"[malloc internals]"

struct machine;
struct pdmap;
struct pdsample;

/**
 * struct machine_opts - How to name things.
 * @demangle: C++ and Rust names in readable form.
 * @inlines: Expand inlined frames from DWARF.
 * @force: Take the names of generated code from a file of any owner.
 * @symfs: Folder that files are looked for in, in place of "/"; NULL: "/".
 * @kallsyms, @vmlinux: Files with the kernel's symbols, as named by the user; NULL: look for them.
 * @debuginfod: Servers to ask for files, as in DEBUGINFOD_URLS; NULL: nobody.
 */
struct machine_opts {
	bool demangle;
	bool inlines;
	bool force;
	const char *symfs, *kallsyms, *vmlinux, *debuginfod;
};

/**
 * struct frame - One frame of a resolved stack; the strings live as long as the machine.
 * @ip: Address as recorded (a return address, except in frame 0).
 * @sym: Function, or NULL when unknown.
 * @sym_start: Address of the function's start in the object (its st_value); with @dso it is
 *	the function's identity. 0 when unknown. Of MACHINE_INTERNALS the start of their range. Of an inlined function a number made from its
 *	name, with the top bit set.
 * @rel_ip: Address inside the object, comparable with @sym_start; like @ip a return address,
 *	except in frame 0, so that it may be the first byte after the function.
 * @dso: Path of the object, "[kernel.kallsyms]", "[vdso]" ...; NULL when unmapped. Two builds
 *	of one path have equal texts at different addresses.
 * @kernel: Kernel or module address.
 * @allocator: In a range of machine__add_range().
 * @inlined: An inlined function, named by DWARF, at the same address as the next frame.
 */
struct frame {
	__u64 ip;
	const char *sym;
	__u64 sym_start;
	__u64 rel_ip;
	const char *dso;
	bool kernel;
	bool allocator;
	bool inlined;
};

/**
 * machine__new() - A machine without processes.
 * @opts: Copied.
 * @ret: Set on success only; the caller frees it with machine__free().
 *
 * Return: 0 or -ENOMEM.
 */
int machine__new(const struct machine_opts *opts, struct machine **ret);

/** machine__free() - Free it and all strings it handed out; NULL is fine. */
void machine__free(struct machine *m);

/**
 * machine__mmap() - A mapping of a process, of the kernel or of a module.
 *
 * It takes the place of what was mapped there. No file is opened before an address in it is
 * resolved. A record that makes no sense is left out (a debug line says so).
 *
 * Return: 0 or -ENOMEM.
 */
int machine__mmap(struct machine *m, const struct pdmap *map);

/**
 * struct machine_range - Allocator code in an object.
 * @path: Of the object; where it was too long only its end.
 * @build_id: @build_id_bytes of it; 0: none.
 * @start, @end: As linked; @offset: of @start in the file.
 */
struct machine_range {
	const char *path;
	__u8 build_id[20];
	size_t build_id_bytes;
	__u64 start, end, offset;
};

/**
 * machine__add_range() - What is there is an allocator's; without a name it is MACHINE_INTERNALS.
 *
 * Before the first address of that object is resolved. One that makes no sense is left out.
 *
 * Return: 0 or -ENOMEM.
 */
int machine__add_range(struct machine *m, const struct machine_range *range);

/**
 * machine__comm() - A thread's name.
 * @exec: It executed another program: its mappings are gone.
 *
 * Return: 0 or -ENOMEM.
 */
int machine__comm(struct machine *m, __u32 pid, __u32 tid, const char *comm, bool exec);

/**
 * machine__fork() - A new thread (@pid is @ppid) or process, which has its parent's mappings.
 *
 * Return: 0 or -ENOMEM.
 */
int machine__fork(struct machine *m, __u32 pid, __u32 ppid, __u32 tid, __u32 ptid);

/**
 * machine__exit() - The end of a thread; with @tid equal to @pid, of the process.
 *
 * What is known of it stays for late samples, and goes some thousand exits later.
 *
 * Return: 0.
 */
int machine__exit(struct machine *m, __u32 pid, __u32 tid);

/** machine__thread_comm() - Name of a thread as last said, else of its process; "" when unknown. */
const char *machine__thread_comm(const struct machine *m, __u32 pid, __u32 tid);

/**
 * machine__resolve() - Name the frames of a sample, innermost first.
 * @frames: Room for @max; with opts.inlines one address may take several.
 *
 * From the callchain where there is one, else from the user stack copy by DWARF call frame
 * information, else the ip alone. PERF_CONTEXT_* markers are consumed. For frames above the
 * innermost, function and line are those of the call (return address - 1).
 *
 * Return: Number of frames, at least 1 (0 only if @max is).
 */
size_t machine__resolve(struct machine *m, const struct pdsample *s, struct frame *frames,
			size_t max);

/**
 * machine__srcline() - Source line of a frame, "file.c:123", or NULL without debug info.
 * @f: From machine__resolve() of this machine.
 * @call: The frame's ip is a return address: take the call before it.
 *
 * With opts.inlines, the line in the frame's own function; else the line of the instruction,
 * which may be one of an inlined function. Reads DWARF, and remembers the answer.
 */
const char *machine__srcline(struct machine *m, const struct frame *f, bool call);

/**
 * struct machine_stats - For the self-check line. Inlined frames do not count.
 */
struct machine_stats {
	__u64 nr_frames;
	__u64 nr_unmapped;		/* frames in no mapping */
	__u64 nr_unnamed;		/* in a mapping, no symbol */
	__u64 nr_unwound;		/* stacks made from a copy by CFI */
	__u64 nr_unwind_cut;		/* those that ended before the thread's start */
};
const struct machine_stats *machine__stats(const struct machine *m);

#endif /* PERF_CHURN_STACK_MACHINE_H */
