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

static double sum_at_risk(const struct lives *l)
{
	double sum = 0;

	for (unsigned int i = 0; i < l->nr; i++)
		sum += l->freed[i] + l->censored[i];
	return sum;
}

/*
 * Where survival, @shift standard errors added, falls to @level. By Greenwood, its relative
 * variance is the sum of died / (at risk x rest), here in units of samples.
 */
static double falls_to(const struct lives *l, double level, double shift, double design)
{
	double at_risk = sum_at_risk(l), alive = 1, spread = 0, before = 1;
	unsigned int i;

	for (i = 0; i < l->nr; i++) {
		double exposed = at_risk - l->censored[i] / 2, rest = exposed - l->freed[i];
		double start = bucket_start(l->first + i);
		double end = bucket_start(l->first + i + 1), after;

		alive = exposed > 0 ? alive * (rest / exposed) : alive;
		if (rest > 0)
			spread += design * l->freed[i] / (exposed * rest);
		after = alive * (1 + shift * sqrt(spread));
		/* Rounding must not push a part that died just below itself. */
		if (l->freed[i] > 0 && after <= level * (1 + 1e-9))
			return start + (end - start) * (before - level) / (before - after);
		before = after;
		at_risk -= l->freed[i] + l->censored[i];
	}
	return NAN;
}

double lives__quantile(const struct lives *l, double part)
{
	return falls_to(l, 1 - part, 0, 0);
}

double lives__median(const struct lives *l)
{
	return lives__quantile(l, 0.5);
}

double lives__quantile_error(const struct lives *l, double part, double design)
{
	double beyond = sum_at_risk(l) * (1 - part);

	if (design > 0 && beyond < 3 * design)
		return NAN;
	return (falls_to(l, 1 - part, 1, design) - falls_to(l, 1 - part, -1, design)) / 2;
}
