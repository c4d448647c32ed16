// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "share.h"

void share_sum__add(struct share_sum *s, __u64 weight, double part)
{
	double w = weight, var = w * (w - 1);

	s->yes += w * part;
	s->no += w * (1 - part);
	s->var_yes += var * part;
	s->var_no += var * (1 - part);
}

struct estimate share_sum__estimate(const struct share_sum *s)
{
	double all = s->yes + s->no;
	double share, per_sample, var, drawn;

	if (all <= 0)
		return estimate__unknown();
	share = s->yes / all;
	per_sample = (s->var_yes + s->var_no) / (all * all);
	var = (share * share * s->var_no + (1 - share) * (1 - share) * s->var_yes) / (all * all);
	drawn = (share + 2 * per_sample) / (1 + 4 * per_sample);
	return (struct estimate){
		.value = share, .error = sqrt(fmax(var, drawn * (1 - drawn) * per_sample)),
	};
}

void ratio_sum__add(struct ratio_sum *s, __u64 weight, double above, double below)
{
	double w = weight, var = w * (w - 1);

	s->above += w * above;
	s->below += w * below;
	s->var_above += var * above * above;
	s->var_below += var * below * below;
	s->cov += var * above * below;
}

struct estimate ratio_sum__estimate(const struct ratio_sum *s)
{
	double ratio, var;

	if (s->below <= 0)
		return estimate__unknown();
	ratio = s->above / s->below;
	var = s->var_above - 2 * ratio * s->cov + ratio * ratio * s->var_below;
	return (struct estimate){ .value = ratio, .error = sqrt(fmax(var, 0)) / s->below };
}

struct estimate ratio_of_means(const struct tally *above, const struct tally *below)
{
	static const struct calibration none;
	struct estimate a = calibration__mean(&none, above), b = calibration__mean(&none, below);
	double ratio;

	if (a.value <= 0 || b.value <= 0)
		return estimate__unknown();
	ratio = a.value / b.value;
	return (struct estimate){
		.value = ratio, .error = ratio * hypot(a.error / a.value, b.error / b.value),
	};
}

struct estimate estimate__unknown(void)
{
	return (struct estimate){ .value = NAN };
}

/* A comparison with NAN is false. */
bool surely_above(const struct estimate *e, double threshold)
{
	return e->value - 2 * e->error > threshold;
}

bool surely_below(const struct estimate *e, double threshold)
{
	return e->value + 2 * e->error < threshold;
}
