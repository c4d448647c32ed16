// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "calibrate.h"

void tally__add(struct tally *t, __u64 weight, __u64 size_bytes)
{
	double w = weight, s = size_bytes, var = w * (w - 1);

	t->count += w;
	t->bytes += w * s;
	t->var += var;
	t->cov += var * s;
	t->var_bytes += var * s * s;
	t->nr++;
}

void tally__merge(struct tally *t, const struct tally *from)
{
	t->count += from->count;
	t->bytes += from->bytes;
	t->var += from->var;
	t->cov += from->cov;
	t->var_bytes += from->var_bytes;
	t->nr += from->nr;
}

void tally__end(struct tally *t, const struct window_sum *sums)
{
	double y = t->in_window, b = t->bytes_in_window;

	if (!t->window)
		return;
	t->yy += y * y;
	t->yY += y * sums[t->window].count;
	t->bb += b * b;
	t->bB += b * sums[t->window].bytes;
	t->yb += y * b;
	t->in_window = t->bytes_in_window = 0;
	t->window = 0;
}

void tally__add_in(struct tally *t, __u64 weight, __u64 size_bytes, __u32 window,
		   const struct window_sum *sums)
{
	if (t->window != window)
		tally__end(t, sums);
	t->window = window;
	t->in_window += weight;
	t->bytes_in_window += (double)weight * size_bytes;
	t->count += weight;
	t->bytes += (double)weight * size_bytes;
	t->nr++;
}

void calibration__init_windows(struct calibration *c, const struct tally *whole, __u64 nr_windows,
			       const struct estimate *allocs, const struct estimate *bytes)
{
	*c = (struct calibration){
		.whole = *whole, .nr_windows = nr_windows, .allocs = *allocs, .bytes = *bytes,
	};
}

void calibration__init(struct calibration *c, const struct tally *whole, double allocs,
		       double bytes)
{
	*c = (struct calibration){
		.whole = *whole, .counted_allocs = allocs, .counted_bytes = bytes,
	};
}

static double slope_of(double part_var, double whole_var)
{
	return whole_var > 0 ? part_var / whole_var : 0;
}

/* Far out the straight line leaves what is possible. */
static struct estimate calibrate(double value, double var, double slope, double off, double most)
{
	if (slope > 0)
		value = fmin(fmax(value + slope * off, 0), most);
	return (struct estimate){ .value = value, .error = sqrt(fmax(var * (1 - slope), 0)) };
}

static double few_windows(const struct calibration *c)
{
	return c->nr_windows > 1 ? (double)c->nr_windows / (c->nr_windows - 1) : 2;
}

/* A part's share, times the whole. @scatter: of what it has in windows, around that share. */
static struct estimate share_out(const struct calibration *c, const struct estimate *whole,
				 double share, double sum, double scatter, double var)
{
	double error = sum > 0 ? sqrt(fmax(scatter, 0) * few_windows(c) + fmax(var, 0)) / sum : 0;

	return (struct estimate){
		.value = share * whole->value, .bound = whole->bound,
		.error = hypot(error * whole->value, share * whole->error),
	};
}

static struct estimate count_by_windows(const struct calibration *c, const struct tally *part)
{
	const struct tally *w = &c->whole;
	double p = w->count > 0 ? part->count / w->count : 0;

	return share_out(c, &c->allocs, p, w->count, part->yy - 2 * p * part->yY + p * p * w->yy,
			 part->var * (1 - 2 * p) + p * p * w->var);
}

static struct estimate bytes_by_windows(const struct calibration *c, const struct tally *part)
{
	const struct tally *w = &c->whole;
	double p = w->bytes > 0 ? part->bytes / w->bytes : 0;

	return share_out(c, &c->bytes, p, w->bytes, part->bb - 2 * p * part->bB + p * p * w->bb,
			 part->var_bytes * (1 - 2 * p) + p * p * w->var_bytes);
}

struct estimate calibration__count(const struct calibration *c, const struct tally *part)
{
	if (c->nr_windows)
		return count_by_windows(c, part);
	return calibrate(part->count, part->var, slope_of(part->var, c->whole.var),
			 c->counted_allocs - c->whole.count, c->counted_allocs);
}

struct estimate calibration__bytes(const struct calibration *c, const struct tally *part)
{
	if (c->nr_windows)
		return bytes_by_windows(c, part);
	return calibrate(part->bytes, part->var_bytes,
			 slope_of(part->var_bytes, c->whole.var_bytes),
			 c->counted_bytes - c->whole.bytes, c->counted_bytes);
}

/* From the samples of the part alone. */
static struct estimate sample_mean(const struct tally *t)
{
	double mean, var;

	if (t->count <= 0)
		return (struct estimate){0};
	mean = t->bytes / t->count;
	var = t->var_bytes - 2 * mean * t->cov + mean * mean * t->var +
	      t->bb - 2 * mean * t->yb + mean * mean * t->yy;
	return (struct estimate){ .value = mean, .error = sqrt(fmax(var, 0)) / t->count };
}

static struct estimate calibrated_mean(const struct calibration *c, const struct tally *part)
{
	struct estimate count = calibration__count(c, part), bytes = calibration__bytes(c, part);
	double slope = slope_of(part->var, c->whole.var);
	double slope_bytes = slope_of(part->var_bytes, c->whole.var_bytes);
	double cov = part->cov * (1 - slope - slope_bytes) + slope * slope_bytes * c->whole.cov;
	double mean, var;

	if (count.value <= 0)
		return (struct estimate){0};
	mean = bytes.value / count.value;
	var = bytes.error * bytes.error - 2 * mean * cov + mean * mean * count.error * count.error;
	return (struct estimate){ .value = mean, .error = sqrt(fmax(var, 0)) / count.value };
}

/* A site of one size is sure of it; a site that is the whole program has it counted. */
struct estimate calibration__mean(const struct calibration *c, const struct tally *part)
{
	struct estimate own = sample_mean(part), calibrated;

	if (c->nr_windows)
		return own;
	calibrated = calibrated_mean(c, part);
	return own.error < calibrated.error ? own : calibrated;
}
