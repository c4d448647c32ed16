// SPDX-License-Identifier: GPL-2.0-only
#include "gaps.h"

#define LOG_BITS	57			/* of a logarithm behind the point; 7 before it */
#define SCALE_BITS	24
#define ONE		(1ULL << 63)		/* 1.0 with 63 bits behind the point */
#define LN_2		0xb17217f7d1cf79acULL	/* ln 2 with 64 bits behind the point */
#define SERIES_TERMS	24
#define HALVINGS	6

typedef unsigned __int128 u128;

__u64 gaps__random(__u64 *state)
{
	__u64 z = __atomic_add_fetch(state, 0x9e3779b97f4a7c15ULL, __ATOMIC_RELAXED);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* log2 of @m, which is at least 1 and below 2, bit by bit: a square has twice the logarithm. */
static __u64 log2_of(__u64 m)
{
	__u64 log = 0;
	u128 square;
	int i;

	for (i = 0; i < LOG_BITS; i++) {
		square = (u128)m * m;
		log <<= 1;
		if (square >> 127) {
			log |= 1;
			m = square >> 64;
		} else {
			m = square >> 63;
		}
	}
	return log;
}

__u64 gaps__scale_calls(__u64 period)
{
	__u64 log;

	if (period <= 1)
		return 0;
	if (period == 2)
		return 1ULL << SCALE_BITS;
	/* ln 2 * (N - 1/2 - 1/(12 N) - ...) */
	if (period > 1 << 20)
		return (u128)(2 * period - 1) * LN_2 >> (65 - SCALE_BITS);
	log = log2_of(((u128)period << 63) / (period - 1));
	return ((u128)1 << (LOG_BITS + SCALE_BITS)) / log;
}

__u64 gaps__scale_bytes(__u64 period)
{
	return (u128)period * LN_2 >> (64 - SCALE_BITS);
}

__u64 gaps__draw(__u64 scale, __u64 random)
{
	int zeros = __builtin_clzll(random | 1);
	__u64 log = ((1ULL + zeros) << LOG_BITS) - log2_of((random | 1) << zeros);

	return ((u128)log * scale >> (LOG_BITS + SCALE_BITS)) + 1;
}

/* @above / @below, on average. */
static __u64 divide_at_random(__u64 above, __u64 below, __u64 random)
{
	return above / below + ((u128)random * below >> 64 < above % below);
}

/* exp(-64 y), @y with 64 bits behind the point. */
static __u64 exp_minus_64(__u64 y)
{
	__u64 e = ONE;
	int i;

	for (i = SERIES_TERMS; i; i--)
		e = ONE - (__u64)((u128)y * e >> 64) / i;
	for (i = 0; i < HALVINGS; i++)
		e = (u128)e * e >> 63;
	return e;
}

__u64 gaps__byte_weight(__u64 size, __u64 period, __u64 random)
{
	__u64 y;

	/* 1 - 2^-63 is 1. */
	if (size / 44 >= period)
		return 1;
	/* N/s + 1/2 + s/(12 N) - ... */
	if (size <= period >> 20)
		return divide_at_random(2 * period + size, 2 * size, random);
	y = ((u128)size << (64 - HALVINGS)) / period;
	return divide_at_random(ONE, ONE - exp_minus_64(y), random);
}
