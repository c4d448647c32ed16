// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "model_priv.h"
#include "shapes.h"

int finish_shapes(struct model *m)
{
	const struct report_recording *rec = &m->report.recording;
	struct shape_context ctx = {
		.calibration = &m->calibration, .duration_s = rec->duration_s,
		.has_frees = rec->has_frees, .glibc = rec->is_glibc,
	};
	int err = 0;
	size_t i;

	m->report_shapes = calloc(m->nr_sites + 1, sizeof(*m->report_shapes));
	if (!m->report_shapes)
		return -ENOMEM;
	for (i = 0; !err && i < m->nr_sites; i++) {
		ctx.lives = &m->sites[i].lives;
		err = shape__finish(&m->sites[i].shape, &ctx, &m->report_shapes[i]);
		if (report__is_lower_bound(&m->report))
			report_shape__mark(&m->report_shapes[i]);
		m->report_sites[i].shape = &m->report_shapes[i];
	}
	return err;
}

void free_shapes(struct model *m)
{
	size_t i;

	for (i = 0; i < m->nr_sites; i++) {
		shape__exit(&m->sites[i].shape);
		if (m->report_shapes)
			report_shape__exit(&m->report_shapes[i]);
	}
	free(m->report_shapes);
}
