// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "names.h"
#include "perfdata/reader.h"
#include "ranges.h"
#include "roles.h"
#include "stack/machine.h"

struct ranges_pass {
	const struct role *role;
	struct machine *machine;
	__u64 *nr_bad;
	__u64 nr, nr_glibc;
};

/* Its file name; from inside it cannot be told which allocator a range is of. */
static bool is_glibc(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strcmp(name, "libc.so.6") || !strncmp(name, "libc-2.", 7);
}

static int take_range(void *ctx, const struct pdsample *s)
{
	struct ranges_pass *pass = ctx;
	struct machine_range range;
	struct churn_range in;

	if (role__range(pass->role, s, &in)) {
		++*pass->nr_bad;
		return 0;
	}
	/* The preload library hands calls on. */
	pass->nr += !names__is_own_library(in.object);
	pass->nr_glibc += is_glibc(in.object);
	range = (struct machine_range){
		.path = in.object, .build_id_bytes = in.build_id_bytes,
		.start = in.start, .end = in.end, .offset = in.offset,
	};
	memcpy(range.build_id, in.build_id, sizeof(range.build_id));
	return machine__add_range(pass->machine, &range);
}

int ranges__read(struct pdreader *r, const struct roles *roles, struct machine *machine,
		 __u64 *nr_bad, bool *all_glibc)
{
	struct ranges_pass pass = { .machine = machine, .nr_bad = nr_bad };
	struct pdreader_ops ops = { .sample = take_range };
	int err = 0;

	for (size_t i = 0; !err && i < pdreader__nr_events(r); i++) {
		pass.role = &roles->by_idx[i];
		ops.only = pdreader__event(r, i);
		if (pass.role->kind == ROLE_RANGE)
			err = pdreader__read(r, &ops, &pass);
	}
	*all_glibc = pass.nr && pass.nr == pass.nr_glibc;
	return err;
}
