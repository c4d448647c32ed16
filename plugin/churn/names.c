// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables name only what is generally known. A frame is matched once per distinct address,
 * so plain fnmatch(3) patterns are fast enough.
 *
 * Names come demangled or, with --no-demangle, as the linker sees them: C++ rows have both forms.
 */
#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "regex_cost.h"
#include "util/msg.h"

struct names {
	size_t nr;
	regex_t wrappers[];
};

/* Entry points and unmistakable internals: the allocator in whatever object they are. */
static const char *const allocators[] = {
	"malloc", "free", "calloc", "realloc", "reallocarray", "cfree",
	"memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc",
	"malloc_usable_size", "malloc_trim", "malloc_consolidate",
	"__libc_malloc", "__libc_malloc2", "__libc_free", "__libc_calloc", "__libc_calloc2",
	"__libc_realloc", "__libc_reallocarray", "__libc_memalign", "__libc_valloc",
	"__libc_pvalloc", "__posix_memalign", "__malloc_arena_thread_freeres",
	"_int_malloc", "_int_free", "_int_free_*", "_int_realloc", "_int_memalign",
	"_mid_memalign", "sysmalloc", "sysmalloc_mmap*", "munmap_chunk", "mremap_chunk",
	"unlink_chunk*", "ptmalloc_init*", "__libc_malloc_impl", "__libc_free_impl",
	"tcmalloc::*", "_mi_*", NULL
};

/* Too loose for any program's functions: only in an object of allocator_dsos. */
static const char *const allocator_internals[] = {
	"tcache_*", "arena_get*", "systrim*", "heap_trim*", "grow_heap", "shrink_heap", "new_heap",
	"alloc_new_heap", "malloc_*", "checked_request2size", "__malloc_*", "__default_morecore",
	"__glibc_morecore", "nontrivial_free", "je_*", "tc_*", "mi_*", "do_malloc*", "do_free*",
	NULL
};

/* Statically linked copies carry these before the names of the table. */
static const char *const allocator_prefixes[] = {
	"je_", "_rjem_je_", "_rjem_", "tc_", "mi_", "__real_", NULL
};

static const char *const allocator_dsos[] = {
	"libc.so*", "libc-2.*.so", "ld-musl-*.so*", "libjemalloc*.so*", "libtcmalloc*.so*",
	"libmimalloc*.so*", "libumem*.so*", "libhoard*.so*", "libsnmalloc*.so*",
	"libperf-churn.so", NULL
};

/* C functions whose whole purpose is to hand allocated memory to their caller. */
static const char *const c_wrappers[] = {
	/* C library */
	"strdup", "__strdup", "strndup", "__strndup", "wcsdup", "__wcsdup",
	"asprintf", "__asprintf", "___asprintf", "vasprintf", "__vasprintf", "__vasprintf_*",
	"__asprintf_chk", "___asprintf_chk", "__vasprintf_chk", "___vasprintf_chk",
	"getline", "__getline", "getdelim", "__getdelim", "_IO_getdelim",
	/* gnulib, binutils, git, the kernel's tools and many more */
	"xmalloc", "xmalloc0", "xmallocz", "xcalloc", "xzalloc", "xrealloc", "xreallocarray",
	"xmallocarray", "xnmalloc", "xnrealloc", "x2realloc", "x2nrealloc", "xpalloc",
	"xcharalloc", "ximalloc", "xicalloc", "xirealloc", "xizalloc", "xmemdup", "xmemdup0",
	"xmemdupz", "xstrdup", "xstrndup", "xasprintf", "xvasprintf", "zalloc",
	"safe_malloc", "safe_calloc", "safe_realloc", "safe_strdup",
	"emalloc", "ecalloc", "erealloc", "estrdup",
	/* GLib */
	"g_malloc", "g_malloc0", "g_malloc_n", "g_malloc0_n", "g_realloc", "g_realloc_n",
	"g_try_malloc", "g_try_malloc0", "g_try_malloc_n", "g_try_malloc0_n", "g_try_realloc",
	"g_try_realloc_n", "g_aligned_alloc", "g_aligned_alloc0", "g_slice_alloc",
	"g_slice_alloc0", "g_slice_copy", "g_memdup", "g_memdup2", "g_strdup", "g_strndup",
	"g_strdup_printf", "g_strdup_vprintf", "g_vasprintf",
	/* CPython */
	"PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyMem_RawMalloc", "PyMem_RawCalloc",
	"PyMem_RawRealloc", "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc",
	"_PyMem_RawMalloc", "_PyMem_RawCalloc", "_PyMem_RawRealloc", "_PyMem_DebugRaw*",
	"_PyMem_DebugMalloc", "_PyMem_DebugCalloc", "_PyMem_DebugRealloc",
	"_PyObject_Malloc", "_PyObject_Calloc", "_PyObject_Realloc", "_PyMem_Strdup",
	"_PyMem_RawStrdup",
	/* libxml2, jq, SQLite, OpenSSL */
	"xmlStrdup", "xmlStrndup", "jv_mem_alloc", "jv_mem_alloc_unguarded", "jv_mem_calloc",
	"jv_mem_calloc_unguarded", "jv_mem_realloc", "jv_mem_strdup", "jv_mem_strdup_unguarded",
	"sqlite3_malloc", "sqlite3_malloc64", "sqlite3_realloc", "sqlite3_realloc64",
	"sqlite3Malloc", "sqlite3MallocZero", "sqlite3Realloc", "sqlite3MemMalloc",
	"sqlite3MemRealloc", "sqlite3DbMallocRaw*", "sqlite3DbMallocZero", "sqlite3DbRealloc*",
	"sqlite3DbStrDup", "sqlite3DbStrNDup", "dbMallocRawFinish", "dbReallocFinish",
	"CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_realloc", "CRYPTO_strdup", "CRYPTO_strndup",
	"CRYPTO_memdup",
	NULL
};

/* Matched at the start of the qualified name, a return type skipped. */
static const char *const cxx_wrappers[] = {
	"operator new*", "std::*", "__gnu_cxx::*", "_Znw*", "_Zna*", "_ZNSt*", "_ZNKSt*", "_ZSt*",
	"_ZNS[absiod]*", "_ZNKS[absiod]*", "_ZN9__gnu_cxx*", "_ZNK9__gnu_cxx*",
	/* Rust: liballoc, libcore, libstd and the hash table inside it */
	"alloc::*", "core::*", "hashbrown::*", "<alloc::*", "<core::*", "<std::*",
	"__rust_alloc*", "__rust_realloc", "__rdl_alloc*", "__rdl_realloc", "__rg_alloc*",
	"__rg_realloc", "_ZN5alloc*", "_ZN4core*", "_ZN3std*", "_ZN9hashbrown*",
	NULL
};

/* Everything in these is a wrapper, named or not. */
static const char *const wrapper_dsos[] = {
	"libstdc++.so*", "libc++.so*", "libc++abi.so*", NULL
};

static const char *const starts[] = {
	"_start", "__libc_start_main*", "__libc_start_call_main*", "_dl_start*", "_dl_init",
	"_dl_main", "dl_main", "_dl_sysdep_start", "call_init*", "start_thread", "clone",
	"__clone", "clone3", "__clone3", "__GI___clone*", "__libc_csu_init", "__start_main",
	NULL
};

static const char *const start_dsos[] = {
	"ld-linux*.so*", "ld-2.*.so", "ld64.so*", NULL
};

/* What the kernel does on a probe hit: the trap, the handlers, the single step. */
static const char *const probe_functions[] = {
	"uprobe_*", "*_uprobe_*", "uretprobe_*", "*_uprobe", "__uprobe_*", "handle_swbp",
	"handle_singlestep", "handler_chain", "handle_trampoline", "handle_uretprobe_chain",
	"xol_*", "is_swbp_insn", "find_active_uprobe*", "__find_active_uprobe*", "dup_xol_*",
	"asm_exc_int3", "exc_int3", "do_int3*", "asm_exc_debug", "exc_debug*",
	"arch_uprobe*", "arch_uretprobe*", "__x64_sys_uprobe", "__x64_sys_uretprobe",
	"__do_sys_uprobe", "__do_sys_uretprobe", NULL
};

static bool in_table(const char *const *table, const char *name)
{
	for (; *table; table++) {
		if (!fnmatch(*table, name, 0))
			return true;
	}
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Where the qualified name begins in "void std::vector<int>::push_back(int const&)". Templates
 * and casts make this ambiguous; a miss only leaves a wrapper unnoticed.
 */
static const char *skip_return_type(const char *sym)
{
	const char *name = sym, *p;
	int depth = 0;

	for (p = sym; *p && (*p != '(' || depth || !strncmp(p, "(anonymous", 10)); p++) {
		if (*p == '<' || *p == '(' || *p == '{')
			depth++;
		else if (*p == '>' || *p == ')' || *p == '}')
			depth--;
		else if (*p == ' ' && !depth && (p - sym < 8 || strncmp(p - 8, "operator", 8)))
			name = p + 1;
	}
	return name;
}

static bool is_user_wrapper(const struct names *n, const char *sym)
{
	size_t i;

	for (i = 0; i < n->nr; i++) {
		if (!regexec(&n->wrappers[i], sym, 0, NULL, 0))
			return true;
	}
	return false;
}

bool names__is_allocator_dso(const char *dso)
{
	return dso && in_table(allocator_dsos, base_name(dso));
}

bool names__is_own_library(const char *dso)
{
	return dso && !strcmp(base_name(dso), "libperf-churn.so");
}

static bool is_allocator_name(const char *sym, const char *dso)
{
	const char *const *prefix;

	if (in_table(allocators, sym))
		return true;
	if (names__is_allocator_dso(dso) && in_table(allocator_internals, sym))
		return true;
	for (prefix = allocator_prefixes; *prefix; prefix++) {
		size_t bytes = strlen(*prefix);

		if (!strncmp(sym, *prefix, bytes) && in_table(allocators, sym + bytes))
			return true;
	}
	return false;
}

/* Debug symbols of a library carry versions: cfree@GLIBC_2.2.5. A PLT entry, free@plt, is no free. */
static bool is_allocator(const char *sym, const char *dso)
{
	const char *at = strchr(sym, '@');
	char name[64];

	if (!at || !strcmp(at, "@plt"))
		return is_allocator_name(sym, dso);
	if ((size_t)(at - sym) >= sizeof(name))
		return false;
	memcpy(name, sym, at - sym);
	name[at - sym] = '\0';
	return is_allocator_name(name, dso);
}

static enum frame_kind classify_user(const struct names *n, const char *sym, const char *dso)
{
	if (sym && is_user_wrapper(n, sym))
		return FRAME_WRAPPER;
	if (sym && is_allocator(sym, dso))
		return FRAME_ALLOCATOR;
	if (sym && (in_table(c_wrappers, sym) || in_table(cxx_wrappers, skip_return_type(sym))))
		return FRAME_WRAPPER;
	if (dso && in_table(wrapper_dsos, base_name(dso)))
		return FRAME_WRAPPER;
	if ((sym && in_table(starts, sym)) || (dso && in_table(start_dsos, base_name(dso))))
		return FRAME_START;
	return FRAME_PROGRAM;
}

enum frame_kind names__classify(const struct names *n, const char *sym, const char *dso,
				bool kernel)
{
	if (dso && !strncmp(dso, "[uprobes", 8))
		return FRAME_PROBE;
	if (kernel)
		return sym && in_table(probe_functions, sym) ? FRAME_PROBE : FRAME_KERNEL;
	return classify_user(n, sym, dso);
}

int names__new(const char *const *wrappers, size_t nr, struct names **ret)
{
	struct names *n = calloc(1, sizeof(*n) + nr * sizeof(n->wrappers[0]));
	const char *refused;
	char why[128];
	int err;

	if (!n)
		return -ENOMEM;
	for (; n->nr < nr; n->nr++) {
		regex_t *re = &n->wrappers[n->nr];

		refused = regex_cost__refuse(wrappers[n->nr]);
		err = refused ? 0 : regcomp(re, wrappers[n->nr], REG_EXTENDED | REG_NOSUB);
		if (err)
			regerror(err, re, why, sizeof(why));
		if (err || refused) {
			pr_err("--wrapper '%.80s': %s\n", wrappers[n->nr], refused ?: why);
			names__free(n);
			return -EINVAL;
		}
	}
	*ret = n;
	return 0;
}

void names__free(struct names *n)
{
	size_t i;

	if (!n)
		return;
	for (i = 0; i < n->nr; i++)
		regfree(&n->wrappers[i]);
	free(n);
}
