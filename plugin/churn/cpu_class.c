// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "cpu_class.h"
#include "stack/machine.h"

/* Kernel functions, without the suffixes that compilers add (".isra.0"). */
static const char *const fault_entries[] = {
	"asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "handle_mm_fault",
	"do_page_fault", "do_translation_fault", "do_mem_abort", NULL
};

static const char *const fresh_memory[] = {
	"do_anonymous_page", "alloc_anon_folio", "vma_alloc_anon_folio_pmd",
	"do_huge_pmd_anonymous_page", "__do_huge_pmd_anonymous_page", "clear_page_erms",
	"clear_page_rep", "clear_page_orig", "clear_page", "clear_huge_page", "folio_zero_user", NULL
};

static const char *const other_memory[] = {
	"do_fault", "do_read_fault", "do_cow_fault", "do_shared_fault", "do_fault_around",
	"filemap_fault", "filemap_map_pages", "shmem_fault", "finish_fault", "do_wp_page",
	"wp_page_copy", "do_huge_pmd_wp_page", "do_swap_page", "do_numa_page", "hugetlb_fault", NULL
};

static const char *const heap_calls[] = {
	"brk", "mmap", "mmap_pgoff", "munmap", "madvise", "mremap", NULL
};

static const char *const call_entries[] = {
	"entry_SYSCALL_64_after_hwframe", "entry_SYSCALL_64", "do_syscall_64", "el0_svc",
	"invoke_syscall", NULL
};

/* Of an allocator's functions; the first that fits. */
static const char *const realloc_names[] = { "*realloc*", "mremap_chunk*", NULL };
static const char *const free_names[] = {
	"*free*", "operator delete*", "_Zdl*", "_Zda*", "*dalloc*", "munmap_chunk*", "*trim*",
	"*consolidate*", NULL
};
static const char *const malloc_names[] = {
	"*alloc*", "*memalign*", "operator new*", "_Znw*", "_Zna*", "*morecore*", "*arena*", NULL
};

/* Operators new and delete are wrappers to sites, but the allocator to the CPU. */
static const char *const operators[] = {
	"operator new*", "operator delete*", "_Znw*", "_Zna*", "_Zdl*", "_Zda*", NULL
};

/* A jump to the allocator, made by the linker in the program. */
static const char *const stubs[] = {
	"malloc@plt", "free@plt", "calloc@plt", "realloc@plt", "_Znwm@plt", "_Zdl*@plt",
	"operator new*@plt", "operator delete*@plt", NULL
};

static const char *const memsets[] = { "memset", "__memset_*", "*_memset_*", NULL };

static bool is_in(const char *const *table, const char *name)
{
	size_t bytes = strcspn(name, ".");

	for (; *table; table++) {
		if (!strncmp(*table, name, bytes) && !(*table)[bytes])
			return true;
	}
	return false;
}

static bool fits(const char *const *patterns, const char *name)
{
	for (; *patterns; patterns++) {
		if (!fnmatch(*patterns, name, 0))
			return true;
	}
	return false;
}

/* "brk" of "__x64_sys_brk", NULL when it is none. */
static const char *call_name(const char *sym)
{
	const char *sys = strstr(sym, "sys_");

	return sys && (!strncmp(sym, "__", 2) || sys == sym + 1) ? sys + strlen("sys_") : NULL;
}

/* The kernel's part of a stack. */
struct kernel_part {
	bool any, nameless, fault, fresh, other, call, heap_call, other_call;
};

static void look_at_kernel(struct kernel_part *k, const char *sym)
{
	const char *call;

	k->any = true;
	if (!sym) {
		k->nameless = true;
		return;
	}
	k->fault |= is_in(fault_entries, sym);
	k->fresh |= is_in(fresh_memory, sym);
	k->other |= is_in(other_memory, sym);
	k->call |= is_in(call_entries, sym);
	call = call_name(sym);
	if (call && is_in(heap_calls, call))
		k->heap_call = true;
	else if (call)
		k->other_call = true;
}

static bool is_allocators(const struct frame *f, enum frame_kind kind, bool innermost)
{
	if (kind == FRAME_ALLOCATOR)
		return true;
	if (!f->sym)
		return false;
	return fits(operators, f->sym) || (innermost && fits(stubs, f->sym));
}

static enum cpu_class side_of_name(const char *sym)
{
	if (!sym || !strcmp(sym, MACHINE_INTERNALS))
		return CLASS_COMPUTE;
	if (fits(realloc_names, sym))
		return CLASS_REALLOC;
	if (fits(free_names, sym))
		return CLASS_FREE;
	return fits(malloc_names, sym) ? CLASS_MALLOC : CLASS_COMPUTE;
}

/* By the outermost function of the allocator that has a telling name. */
static enum cpu_class side_of(const struct frame *frames, const enum frame_kind *kinds, size_t nr,
			      size_t first_user, __u32 *flags)
{
	size_t i;

	for (i = nr; i-- > first_user;) {
		enum cpu_class side = CLASS_COMPUTE;

		if (is_allocators(&frames[i], kinds[i], i == first_user))
			side = side_of_name(frames[i].sym);
		if (side != CLASS_COMPUTE)
			return side;
	}
	*flags |= CPU_SIDE_UNKNOWN;
	return CLASS_MALLOC;
}

static enum cpu_class class_outside(const struct kernel_part *k, __u32 *flags)
{
	if (!k->fault)
		return CLASS_COMPUTE;
	if (k->other) {
		*flags |= CPU_OTHER_FAULT;
		return CLASS_COMPUTE;
	}
	if (k->fresh) {
		*flags |= CPU_FIRST_TOUCH;
		return CLASS_HEAP_FAULT;
	}
	*flags |= CPU_SOME_FAULT;
	return CLASS_COMPUTE;
}

static enum cpu_class class_inside(const struct kernel_part *k, enum cpu_class side, __u32 *flags)
{
	bool call = k->heap_call || (k->call && !k->other_call);

	if (!k->fault && !call)
		return side;
	if (side == CLASS_FREE)
		*flags |= CPU_UNDER_FREE;
	return k->fault ? CLASS_HEAP_FAULT : CLASS_HEAP_SYSCALL;
}

static bool is_memset(const struct frame *f)
{
	return f->sym && fits(memsets, f->sym);
}

/* The preload library has called calloc(). */
static bool is_end_of_calloc(const struct frame *frames, size_t nr, size_t first_user)
{
	return first_user + 1 < nr && is_memset(&frames[first_user]) &&
	       names__is_own_library(frames[first_user + 1].dso);
}

enum cpu_class cpu_class__of(const struct frame *frames, const enum frame_kind *kinds, size_t nr,
			     __u32 *flags)
{
	struct kernel_part k = {0};
	size_t i, first_user = nr, nr_user = 0;

	*flags = 0;
	for (i = 0; i < nr; i++) {
		if (kinds[i] == FRAME_PROBE)
			*flags |= CPU_PROBE;
		if (frames[i].kernel) {
			look_at_kernel(&k, frames[i].sym);
			continue;
		}
		if (!nr_user++)
			first_user = i;
		/* The preload library at its own work, or what it calls for that. */
		if (i == first_user && is_end_of_calloc(frames, nr, i))
			*flags |= CPU_ALLOCATOR;
		if (names__is_own_library(frames[i].dso))
			*flags |= *flags & CPU_ALLOCATOR ? 0 : CPU_PROBE;
		else if (is_allocators(&frames[i], kinds[i], i == first_user))
			*flags |= CPU_ALLOCATOR;
	}
	if (first_user < nr && !frames[first_user].sym &&
	    names__is_allocator_dso(frames[first_user].dso))
		*flags |= CPU_UNNAMED_LIBC;
	*flags |= nr && frames[0].kernel ? CPU_KERNEL : 0;
	*flags |= nr_user > 1 ? CPU_CHAINED : 0;
	*flags |= k.nameless ? CPU_UNNAMED_KERNEL : 0;
	if (*flags & CPU_PROBE)
		return CLASS_PROBE;
	if (first_user < nr && is_memset(&frames[first_user]))
		*flags |= *flags & CPU_ALLOCATOR ? CPU_ZEROING : CPU_MEMSET;
	if (first_user < nr && is_end_of_calloc(frames, nr, first_user))
		return class_inside(&k, CLASS_MALLOC, flags);
	if (!(*flags & CPU_ALLOCATOR))
		return class_outside(&k, flags);
	return class_inside(&k, side_of(frames, kinds, nr, first_user, flags), flags);
}

static bool is_left(const struct frame *f)
{
	return !f->kernel && !names__is_own_library(f->dso);
}

size_t cpu_class__cut(struct frame *frames, enum frame_kind *kinds, size_t nr)
{
	size_t first = 0, left = 0, i;

	while (first < nr && kinds[first] != FRAME_ALLOCATOR)
		first++;
	for (i = first < nr ? first : 0; i < nr; i++) {
		if (!is_left(&frames[i]))
			continue;
		kinds[left] = kinds[i];
		frames[left] = frames[i];
		/* If it is calloc()'s; else no site is asked for. */
		if (!left && is_memset(&frames[0]))
			frames[0].allocator = true;
		if (!left && frames[0].sym && fits(stubs, frames[0].sym)) {
			frames[0].allocator = true;
			kinds[0] = FRAME_ALLOCATOR;
		}
		left++;
	}
	return left;
}
