// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <sys/mman.h>

#include "filter.h"

/* A byte for 16 bytes of heap: free() touches more of the heap than of this. */
#define FILTER_BYTES	(1UL << 18)

static __u8 no_bytes;
struct filter filter = { .bytes = &no_bytes };

bool filter__map(void)
{
	__u8 *bytes, *expected = &no_bytes;

	if (__atomic_load_n(&filter.mask, __ATOMIC_ACQUIRE))
		return true;
	bytes = mmap(NULL, FILTER_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		return false;
	/* Its pages are touched here and there: huge ones would be memory for nothing. */
	madvise(bytes, FILTER_BYTES, MADV_NOHUGEPAGE);
	if (!__atomic_compare_exchange_n(&filter.bytes, &expected, bytes, false, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		munmap(bytes, FILTER_BYTES);
	__atomic_store_n(&filter.mask, FILTER_BYTES - 1, __ATOMIC_RELEASE);
	return true;
}

static void change(__u64 ptr, int by)
{
	__u8 *byte = filter__byte(ptr);
	__u8 old = __atomic_load_n(byte, __ATOMIC_RELAXED);

	do {
		if (old == FILTER_STUCK || (by < 0 && !old))
			return;
	} while (!__atomic_compare_exchange_n(byte, &old, old + by, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

void filter__add(__u64 ptr)
{
	change(ptr, 1);
}

void filter__remove(__u64 ptr)
{
	change(ptr, -1);
}

void filter__stick(const void *start, size_t nr_bytes)
{
	__u64 ptr;

	for (ptr = (__u64)start; ptr < (__u64)start + nr_bytes; ptr += 16)
		__atomic_store_n(filter__byte(ptr), FILTER_STUCK, __ATOMIC_RELAXED);
}

void filter__clear(bool without_kernel)
{
	if (!__atomic_load_n(&filter.mask, __ATOMIC_ACQUIRE))
		return;
	if (without_kernel)
		memset(filter.bytes, 0, FILTER_BYTES);
	else
		madvise(filter.bytes, FILTER_BYTES, MADV_DONTNEED);
}
