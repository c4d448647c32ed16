// SPDX-License-Identifier: GPL-2.0-only
/* What busy loads. FRAME: bytes of a frame, so that two builds differ in their CFI. */
#include <stdlib.h>

#ifndef FRAME
#define FRAME 64
#endif

void library_entry(int rounds);

__attribute__((noinline)) static void in_library(int n)
{
	volatile char frame[FRAME] = { n };
	void *p = malloc(40 + frame[0] % 8);

	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
	__asm__ volatile("" : : "r"(frame) : "memory");
}

void library_entry(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		in_library(i);
		__asm__ volatile("" : : : "memory");
	}
}
