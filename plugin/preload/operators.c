// SPDX-License-Identifier: GPL-2.0-only
/*
 * C++'s operators. Those of a C++ library call malloc and free, which count: we only pass them on.
 * An allocator that defines operators itself need not call its malloc: those that do not are counted
 * here. It is such a one if the same object defines the next malloc, and a trial shows what it calls:
 * jemalloc does both.
 *
 * They are looked up at their first call. A C program that loads a C++ library later, in a scope
 * that RTLD_NEXT does not see, comes to us, too: then the library is asked by its name, and in the
 * end malloc does what such operators are to do.
 */
#include <dlfcn.h>
#include <linux/types.h>
#include <stdlib.h>

#include "bpf/churn.h"
#include "calls.h"
#include "confined.h"
#include "next.h"
#include "slow.h"

#define EXPORT	__attribute__((visibility("default")))

enum new_id {
	NEW, NEW_ARRAY, NEW_NOTHROW, NEW_ARRAY_NOTHROW,
	NEW_ALIGNED, NEW_ARRAY_ALIGNED, NEW_ALIGNED_NOTHROW, NEW_ARRAY_ALIGNED_NOTHROW,
	NEW_NR
};

enum delete_id {
	DELETE, DELETE_ARRAY, DELETE_SIZED, DELETE_ARRAY_SIZED,
	DELETE_NOTHROW, DELETE_ARRAY_NOTHROW,
	DELETE_ALIGNED, DELETE_ARRAY_ALIGNED, DELETE_SIZED_ALIGNED, DELETE_ARRAY_SIZED_ALIGNED,
	DELETE_ALIGNED_NOTHROW, DELETE_ARRAY_ALIGNED_NOTHROW,
	DELETE_NR
};

/* Where ours jump to, and the next ones for those that count. */
static new_function new_to[NEW_NR], new_next[NEW_NR];
static delete_function delete_to[DELETE_NR], delete_next[DELETE_NR];

/* Without a C++ library there is no exception to throw. */
static void *new_by_malloc(size_t size, size_t arg1, size_t arg2)
{
	void *p = our_malloc(size);

	(void)arg1;
	(void)arg2;
	if (!p)
		abort();
	return p;
}

static void *new_nothrow_by_malloc(size_t size, size_t arg1, size_t arg2)
{
	(void)arg1;
	(void)arg2;
	return our_malloc(size);
}

static void *new_aligned_by_malloc(size_t size, size_t align, size_t arg2)
{
	void *p = our_memalign(align, size);

	(void)arg2;
	if (!p)
		abort();
	return p;
}

static void *new_aligned_nothrow_by_malloc(size_t size, size_t align, size_t arg2)
{
	(void)arg2;
	return our_memalign(align, size);
}

static void delete_by_free(void *ptr, size_t arg1, size_t arg2)
{
	(void)arg1;
	(void)arg2;
	our_free(ptr);
}

static void *find_in(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD), *found = NULL;

	/* It was loaded by others: the handle only keeps it from going away. */
	if (handle)
		found = dlsym(handle, name);
	return found;
}

static void *find(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	/* Loading looks for files. */
	if (found || is_confined())
		return found;
	found = find_in("libstdc++.so.6", name);
	return found ? found : find_in("libc++.so.1", name);
}

static bool is_of_allocator(void *found)
{
	Dl_info info, allocator;

	return next__find() && dladdr(found, &info) && dladdr((void *)next.malloc, &allocator) &&
	       info.dli_fbase == allocator.dli_fbase;
}

#define TRIED_ALIGN	64UL
#define TRIED_BYTES	64UL

static bool is_aligned_new(enum new_id id)
{
	return id >= NEW_ALIGNED;
}

static bool is_aligned_delete(enum delete_id id)
{
	return id >= DELETE_ALIGNED;
}

static bool is_sized(enum delete_id id)
{
	return id == DELETE_SIZED || id == DELETE_ARRAY_SIZED || id == DELETE_SIZED_ALIGNED ||
	       id == DELETE_ARRAY_SIZED_ALIGNED;
}

static bool new_comes_to_us(enum new_id id, new_function to)
{
	static const char nothrow;
	size_t reference = (size_t)&nothrow, arg1 = is_aligned_new(id) ? TRIED_ALIGN : reference;
	void *block;

	thread__begin_trial();
	block = to(TRIED_BYTES, arg1, reference);
	next.free(block);
	return thread__end_trial();
}

static bool delete_comes_to_us(enum delete_id id, delete_function to)
{
	void *block = is_aligned_delete(id) ? next.aligned_alloc(TRIED_ALIGN, TRIED_BYTES) :
					      next.malloc(TRIED_BYTES);

	thread__begin_trial();
	/* An alignment is where a size or a reference to std::nothrow may be: nobody reads that. */
	to(block, is_sized(id) ? TRIED_BYTES : TRIED_ALIGN, TRIED_ALIGN);
	return thread__end_trial();
}

static __attribute__((noinline)) void find_new(enum new_id id, const char *name,
					       new_function counted, new_function by_malloc)
{
	void *found = find(name);
	new_function to = found ? (new_function)found : by_malloc;

	if (found && is_of_allocator(found) && !new_comes_to_us(id, to)) {
		new_next[id] = to;
		to = counted;
	}
	__atomic_store_n(&new_to[id], to, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void find_delete(enum delete_id id, const char *name,
						  delete_function counted)
{
	void *found = find(name);
	delete_function to = found ? (delete_function)found : delete_by_free;

	if (found && is_of_allocator(found) && !delete_comes_to_us(id, to)) {
		delete_next[id] = to;
		to = counted;
	}
	__atomic_store_n(&delete_to[id], to, __ATOMIC_RELEASE);
}

/* Arguments that an operator does not have are passed on as what the registers hold. */
#define DEFINE_NEW(id, name, fn, by_malloc)							\
static void *counted_##name(size_t size, size_t arg1, size_t arg2)				\
{												\
	return count_alloc(size) ? new_next[id](size, arg1, arg2) :				\
				   slow_new(size, arg1, arg2, new_next[id], fn);		\
}												\
												\
static __attribute__((noinline)) void *first_##name(size_t size, size_t arg1, size_t arg2)	\
{												\
	find_new(id, #name, counted_##name, by_malloc);						\
	return new_to[id](size, arg1, arg2);							\
}												\
												\
EXPORT void *name(size_t size, size_t arg1, size_t arg2)					\
{												\
	return unlikely(!new_to[id]) ? first_##name(size, arg1, arg2) :				\
				       new_to[id](size, arg1, arg2);				\
}

#define DEFINE_DELETE(id, name)									\
static void counted_##name(void *ptr, size_t arg1, size_t arg2)					\
{												\
	if (count_free(ptr))									\
		delete_next[id](ptr, arg1, arg2);						\
	else											\
		slow_delete(ptr, arg1, arg2, delete_next[id]);					\
}												\
												\
static __attribute__((noinline)) void first_##name(void *ptr, size_t arg1, size_t arg2)		\
{												\
	find_delete(id, #name, counted_##name);							\
	delete_to[id](ptr, arg1, arg2);								\
}												\
												\
EXPORT void name(void *ptr, size_t arg1, size_t arg2)						\
{												\
	if (unlikely(!delete_to[id]))								\
		first_##name(ptr, arg1, arg2);							\
	else											\
		delete_to[id](ptr, arg1, arg2);							\
}

DEFINE_NEW(NEW, _Znwm, CHURN_FN_MALLOC, new_by_malloc)
DEFINE_NEW(NEW_ARRAY, _Znam, CHURN_FN_MALLOC, new_by_malloc)
DEFINE_NEW(NEW_NOTHROW, _ZnwmRKSt9nothrow_t, CHURN_FN_MALLOC, new_nothrow_by_malloc)
DEFINE_NEW(NEW_ARRAY_NOTHROW, _ZnamRKSt9nothrow_t, CHURN_FN_MALLOC, new_nothrow_by_malloc)
DEFINE_NEW(NEW_ALIGNED, _ZnwmSt11align_val_t, CHURN_FN_ALIGNED_ALLOC, new_aligned_by_malloc)
DEFINE_NEW(NEW_ARRAY_ALIGNED, _ZnamSt11align_val_t, CHURN_FN_ALIGNED_ALLOC, new_aligned_by_malloc)
DEFINE_NEW(NEW_ALIGNED_NOTHROW, _ZnwmSt11align_val_tRKSt9nothrow_t, CHURN_FN_ALIGNED_ALLOC,
	   new_aligned_nothrow_by_malloc)
DEFINE_NEW(NEW_ARRAY_ALIGNED_NOTHROW, _ZnamSt11align_val_tRKSt9nothrow_t, CHURN_FN_ALIGNED_ALLOC,
	   new_aligned_nothrow_by_malloc)

DEFINE_DELETE(DELETE, _ZdlPv)
DEFINE_DELETE(DELETE_ARRAY, _ZdaPv)
DEFINE_DELETE(DELETE_SIZED, _ZdlPvm)
DEFINE_DELETE(DELETE_ARRAY_SIZED, _ZdaPvm)
DEFINE_DELETE(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t)
DEFINE_DELETE(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t)
DEFINE_DELETE(DELETE_ALIGNED, _ZdlPvSt11align_val_t)
DEFINE_DELETE(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t)
DEFINE_DELETE(DELETE_SIZED_ALIGNED, _ZdlPvmSt11align_val_t)
DEFINE_DELETE(DELETE_ARRAY_SIZED_ALIGNED, _ZdaPvmSt11align_val_t)
DEFINE_DELETE(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t)
DEFINE_DELETE(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t)
