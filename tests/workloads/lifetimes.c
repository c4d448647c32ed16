// SPDX-License-Identifier: GPL-2.0-only
/*
 * lifetimes.c - three sites whose blocks live for known times.
 *
 *   short_site		400 blocks of 40 bytes, freed at once (well below 1 ms)
 *   medium_site	100 blocks of 140 bytes, freed after 5 ms
 *   long_site		100 blocks of 1100 bytes, freed after 200 ms
 *   leak_site		 17 blocks of 2100 bytes, never freed
 */
#include "workload.h"

static void *blocks[100];

NOINLINE static void *short_site(void)
{
	return keep(malloc(40));
}

NOINLINE static void *medium_site(void)
{
	return keep(malloc(140));
}

NOINLINE static void *long_site(void)
{
	return keep(malloc(1100));
}

NOINLINE static void *leak_site(void)
{
	return keep(malloc(2100));
}

NOINLINE static void hold(void *(*site)(void), uint64_t ns)
{
	int i;

	for (i = 0; i < 100; i++)
		blocks[i] = site();
	sleep_ns(ns);
	for (i = 0; i < 100; i++)
		free(blocks[i]);
}

int main(void)
{
	int i;

	for (i = 0; i < 400; i++)
		free(short_site());
	hold(medium_site, 5000000);
	hold(long_site, 200000000);
	for (i = 0; i < 17; i++)
		leak_site();
	return 0;
}
