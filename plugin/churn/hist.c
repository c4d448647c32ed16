// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hist.h"

unsigned int log2_class(__u64 value)
{
	return value <= 1 ? 0 : 64 - __builtin_clzll(value - 1);
}

__u64 log2_class_bound(unsigned int class)
{
	return class < 64 ? 1ull << class : ~0ull;
}

/* 0 to 3 are buckets of their own, then four to each power of two. */
static unsigned int bucket_of(__u64 value)
{
	unsigned int exp;

	if (value < 4)
		return value;
	exp = 63 - __builtin_clzll(value);
	return (exp - 1) * 4 + ((value >> (exp - 2)) & 3);
}

static double bucket_start(unsigned int bucket)
{
	if (bucket < 4)
		return bucket;
	return ldexp(4 + (bucket & 3), bucket / 4 - 1);
}

void lives__exit(struct lives *l)
{
	free(l->freed);
	free(l->censored);
	memset(l, 0, sizeof(*l));
}

static double *widen(const double *old, unsigned int nr_old, unsigned int shift, unsigned int nr)
{
	double *wide = calloc(nr, sizeof(*wide));

	if (wide && nr_old)
		memcpy(wide + shift, old, nr_old * sizeof(*wide));
	return wide;
}

static int make_room(struct lives *l, unsigned int bucket)
{
	unsigned int first = l->nr && l->first < bucket ? l->first : bucket & ~3u;
	unsigned int end = l->first + l->nr > bucket ? l->first + l->nr : (bucket | 3u) + 1;
	unsigned int shift = l->nr ? l->first - first : 0;
	double *freed, *censored;

	if (l->nr && bucket >= l->first && bucket < l->first + l->nr)
		return 0;
	freed = widen(l->freed, l->nr, shift, end - first);
	censored = widen(l->censored, l->nr, shift, end - first);
	if (!freed || !censored) {
		free(freed);
		free(censored);
		return -ENOMEM;
	}
	free(l->freed);
	free(l->censored);
	*l = (struct lives){ freed, censored, first, end - first };
	return 0;
}

int lives__add_freed(struct lives *l, __u64 life_ns, double weight)
{
	unsigned int bucket = bucket_of(life_ns);
	int err = make_room(l, bucket);

	if (!err)
		l->freed[bucket - l->first] += weight;
	return err;
}

int lives__add_censored(struct lives *l, __u64 age_ns, double weight)
{
	unsigned int bucket = bucket_of(age_ns);
	int err = make_room(l, bucket);

	if (!err)
		l->censored[bucket - l->first] += weight;
	return err;
}

double lives__median(const struct lives *l)
{
	double at_risk = 0, alive = 1;
	unsigned int i;

	for (i = 0; i < l->nr; i++)
		at_risk += l->freed[i] + l->censored[i];
	for (i = 0; i < l->nr; i++) {
		double exposed = at_risk - l->censored[i] / 2;
		double after = exposed > 0 ? alive * (1 - l->freed[i] / exposed) : alive;
		double start = bucket_start(l->first + i);
		double end = bucket_start(l->first + i + 1);

		/* Rounding must not push a half that died below one half. */
		if (l->freed[i] > 0 && after <= 0.5 * (1 + 1e-9))
			return start + (end - start) * (alive - 0.5) / (alive - after);
		alive = after;
		at_risk -= l->freed[i] + l->censored[i];
	}
	return NAN;
}
