/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library with an allocator of its own among other things. Names tell what tests/ranges_test.c
 * expects: in_* belong to the allocator alone, out_* do not.
 */
#include <stddef.h>

#define FUNCTION	__attribute__((noinline, noclone))
#define HIDDEN		FUNCTION __attribute__((visibility("hidden")))

static char heap[4096];
static size_t used;
static void (*volatile hook)(void);

static FUNCTION void out_shared(void) { used += 2; __asm__ volatile("" ::: "memory"); }
static FUNCTION void out_via_shared(void) { used += 7; out_shared(); used++; }
static FUNCTION void in_deep(void) { used += 3; __asm__ volatile("" ::: "memory"); }
static FUNCTION void *in_carve(size_t n) { in_deep(); used += n; return heap + used % 64; }
static FUNCTION void in_callback(void) { used += 5; __asm__ volatile("" ::: "memory"); }
static FUNCTION void out_unused(void) { used += 11; __asm__ volatile("" ::: "memory"); }
HIDDEN void in_hidden(void);
HIDDEN void in_hidden(void) { used += 13; in_deep(); used++; }

void *malloc(size_t n);
void free(void *p);
void *calloc(size_t n, size_t m);
void *other_api(size_t n);

void *malloc(size_t n)
{
	hook = in_callback;
	out_via_shared();
	return in_carve(n);
}

void free(void *p) { in_hidden(); used -= p == heap; }
void *calloc(size_t n, size_t m) { return in_carve(n * m); }

void *other_api(size_t n)
{
	out_via_shared();
	hook = out_unused;
	return malloc(n);
}
