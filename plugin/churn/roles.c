// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/reader.h"
#include "roles.h"

/* A u64 or u32 field of the event and the member of its struct. */
struct field_desc {
	const char *name;
	size_t offset, bytes;
};

#define FIELD(type, member) \
	{ #member, offsetof(struct type, member), sizeof(((struct type *)0)->member) }

static const struct field_desc alloc_fields[] = {
	FIELD(churn_alloc, size), FIELD(churn_alloc, weight), FIELD(churn_alloc, seq),
	FIELD(churn_alloc, caller), FIELD(churn_alloc, fn), FIELD(churn_alloc, flags),
	FIELD(churn_alloc, old_ptr), {0}
};

static const struct field_desc free_fields[] = {
	FIELD(churn_free, lifetime_ns), FIELD(churn_free, weight), FIELD(churn_free, seq),
	FIELD(churn_free, caller), FIELD(churn_free, flags), FIELD(churn_free, fn), {0}
};

static const struct field_desc window_fields[] = {
	FIELD(churn_window, start_ns), FIELD(churn_window, end_ns),
	FIELD(churn_window, nr_allocs), FIELD(churn_window, alloc_bytes),
	FIELD(churn_window, nr_frees), FIELD(churn_window, nr_failed),
	FIELD(churn_window, nr_free_null), FIELD(churn_window, nr_free_unseen),
	FIELD(churn_window, nr_free_internal), FIELD(churn_window, nr_reallocs),
	FIELD(churn_window, nr_lost_output), FIELD(churn_window, nr_lost_map),
	FIELD(churn_window, nr_lost_inflight), FIELD(churn_window, nr_hits),
	FIELD(churn_window, sample_period), FIELD(churn_window, gap_ns),
	/* Older files have no more. */
	FIELD(churn_window, between_ns), FIELD(churn_window, cpu_ns),
	FIELD(churn_window, cpu_between_ns), FIELD(churn_window, user_clock),
	FIELD(churn_window, user_clock_between), FIELD(churn_window, cost_ns),
	FIELD(churn_window, cost_err_ns), FIELD(churn_window, nr_stray),
	FIELD(churn_window, stray_cost_ns), FIELD(churn_window, stall_ns),
	FIELD(churn_window, probed_start_ns), FIELD(churn_window, probed_end_ns),
	FIELD(churn_window, budget_ppm), FIELD(churn_window, flags),
};

_Static_assert(sizeof(window_fields) / sizeof(window_fields[0]) <= ROLE_MAX_FIELDS,
	       "one look-up per field");

static const struct field_desc probe_fields[] = {
	FIELD(churn_probe, offset), FIELD(churn_probe, nr_hits), FIELD(churn_probe, fn),
	FIELD(churn_probe, emulated), {0}
};

/* Behind the numbers of probe_fields. */
#define PROBE_SYMBOL	4
#define PROBE_OBJECT	5

static const struct field_desc range_fields[] = {
	FIELD(churn_range, start), FIELD(churn_range, end), FIELD(churn_range, offset),
	FIELD(churn_range, build_id_bytes), {0}
};

/* Behind the numbers of range_fields. */
#define RANGE_BUILD_ID	4
#define RANGE_OBJECT	5

static const struct field_desc stacks_fields[] = {
	FIELD(churn_stacks, nr_complete), FIELD(churn_stacks, nr_max),
	FIELD(churn_stacks, nr_no_map), FIELD(churn_stacks, nr_no_table),
	FIELD(churn_stacks, nr_no_cfi), FIELD(churn_stacks, nr_fault),
	FIELD(churn_stacks, nr_stuck), FIELD(churn_stacks, nr_no_reg),
	FIELD(churn_stacks, nr_no_user), FIELD(churn_stacks, nr_copied), {0}
};

static const struct role_desc {
	const char *event;
	enum role_kind kind;
	const struct field_desc *fields;
	size_t nr_fields;
	size_t nr_needed;		/* the others count as 0 */
} role_descs[] = {
	{ "churn:alloc", ROLE_ALLOC, alloc_fields, 7, 7 },
	{ "churn:free", ROLE_FREE, free_fields, 6, 5 },
	{ "churn:window", ROLE_WINDOW, window_fields, 30, 16 },
	{ "churn:probe", ROLE_PROBE, probe_fields, 4, 4 },
	{ "churn:range", ROLE_RANGE, range_fields, 4, 4 },
	{ "churn:stacks", ROLE_STACKS, stacks_fields, 10, 10 },
};

static const struct role_desc *find_desc(enum role_kind kind)
{
	size_t i;

	for (i = 0; role_descs[i].kind != kind; i++)
		;
	return &role_descs[i];
}

/* Fields that are no numbers. */
static bool find_texts(struct role *role, const struct pdevent *event, enum role_kind kind)
{
	if (kind == ROLE_PROBE) {
		role->fields[PROBE_SYMBOL] = pdevent__field(event, "symbol");
		role->fields[PROBE_OBJECT] = pdevent__field(event, "object");
		return role->fields[PROBE_SYMBOL] && role->fields[PROBE_OBJECT];
	}
	if (kind == ROLE_RANGE) {
		role->fields[RANGE_BUILD_ID] = pdevent__field(event, "build_id");
		role->fields[RANGE_OBJECT] = pdevent__field(event, "object");
		return role->fields[RANGE_BUILD_ID] && role->fields[RANGE_OBJECT];
	}
	return true;
}

static bool find_fields(struct role *role, const struct pdevent *event,
			const struct role_desc *desc)
{
	size_t i;

	for (i = 0; i < desc->nr_fields; i++) {
		role->fields[i] = pdevent__field(event, desc->fields[i].name);
		if (!role->fields[i] && i < desc->nr_needed)
			return false;
	}
	return find_texts(role, event, desc->kind);
}

/* A uprobe event carries __probe_ip; group churn is ours to interpret in any case. */
static bool is_foreign(struct role *role, const struct pdevent *event)
{
	if (strncmp(event->name, "churn:", 6) && !pdevent__field(event, "__probe_ip"))
		return false;
	role->fields[0] = pdevent__field(event, "size");
	return role->fields[0];
}

static enum role_kind find_tracepoint_role(struct role *role, const struct pdevent *event)
{
	size_t i;

	for (i = 0; i < sizeof(role_descs) / sizeof(role_descs[0]); i++) {
		if (!strcmp(role_descs[i].event, event->name) &&
		    find_fields(role, event, &role_descs[i]))
			return role_descs[i].kind;
	}
	return is_foreign(role, event) ? ROLE_FOREIGN : ROLE_NONE;
}

/* How well an event measures CPU time; hybrid machines have the PMU in the upper half. */
static int cpu_rank(const struct perf_event_attr *attr)
{
	__u64 config = attr->config & 0xffffffff;

	if (attr->type == PERF_TYPE_HARDWARE && config == PERF_COUNT_HW_CPU_CYCLES)
		return 4;
	if (attr->type == PERF_TYPE_SOFTWARE && (config == PERF_COUNT_SW_CPU_CLOCK ||
						 config == PERF_COUNT_SW_TASK_CLOCK))
		return 3;
	if (attr->type == PERF_TYPE_HARDWARE)
		return 2;
	return attr->type == PERF_TYPE_RAW ? 1 : 0;
}

static bool same_cpu_event(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->type == b->type && (__u32)a->config == (__u32)b->config && cpu_rank(a);
}

int roles__init(struct roles *roles, const struct pdreader *r)
{
	size_t nr = pdreader__nr_events(r), i;
	int best = 0;

	memset(roles, 0, sizeof(*roles));
	roles->by_idx = calloc(nr + 1, sizeof(*roles->by_idx));
	if (!roles->by_idx)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		const struct pdevent *event = pdreader__event(r, i);

		if (event->format)
			roles->by_idx[i].kind = find_tracepoint_role(&roles->by_idx[i], event);
		else if (cpu_rank(&event->attr) > best) {
			roles->cpu = event;
			best = cpu_rank(&event->attr);
		}
		roles->has[roles->by_idx[i].kind] = true;
	}
	for (i = 0; i < nr; i++) {
		struct role *role = &roles->by_idx[i];

		if (role->kind == ROLE_FOREIGN && roles->has[ROLE_ALLOC])
			role->kind = ROLE_NONE;
		if (roles->cpu && same_cpu_event(&roles->cpu->attr, &pdreader__event(r, i)->attr))
			role->kind = ROLE_CPU;
		if (!roles->alloc && (role->kind == ROLE_ALLOC || role->kind == ROLE_FOREIGN))
			roles->alloc = pdreader__event(r, i);
	}
	roles->has[ROLE_CPU] = roles->cpu;
	roles->has[ROLE_FOREIGN] &= !roles->has[ROLE_ALLOC];
	return 0;
}

void roles__exit(struct roles *roles)
{
	free(roles->by_idx);
	memset(roles, 0, sizeof(*roles));
}

static int decode(const struct role *role, const struct pdsample *s, void *ret)
{
	const struct role_desc *desc = find_desc(role->kind);
	size_t i;

	for (i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *f = &desc->fields[i];
		__u64 value = 0;
		__u32 narrow;

		if (role->fields[i] && pdfield__u64(role->fields[i], s, &value))
			return -EINVAL;
		narrow = value;
		memcpy((char *)ret + f->offset,
		       f->bytes == sizeof(value) ? (void *)&value : (void *)&narrow, f->bytes);
	}
	return 0;
}

int role__alloc(const struct role *role, const struct pdsample *s, struct churn_alloc *ret)
{
	return decode(role, s, ret);
}

int role__free(const struct role *role, const struct pdsample *s, struct churn_free *ret)
{
	return decode(role, s, ret);
}

int role__window(const struct role *role, const struct pdsample *s, struct churn_window *ret)
{
	return decode(role, s, ret);
}

int role__probe(const struct role *role, const struct pdsample *s, struct churn_probe *ret)
{
	if (decode(role, s, ret) ||
	    pdfield__str(role->fields[PROBE_SYMBOL], s, ret->symbol, sizeof(ret->symbol)) ||
	    pdfield__str(role->fields[PROBE_OBJECT], s, ret->object, sizeof(ret->object)))
		return -EINVAL;
	return 0;
}

int role__range(const struct role *role, const struct pdsample *s, struct churn_range *ret)
{
	if (decode(role, s, ret) ||
	    pdfield__bytes(role->fields[RANGE_BUILD_ID], s, ret->build_id, sizeof(ret->build_id)) ||
	    pdfield__str(role->fields[RANGE_OBJECT], s, ret->object, sizeof(ret->object)))
		return -EINVAL;
	return 0;
}

int role__stacks(const struct role *role, const struct pdsample *s, struct churn_stacks *ret)
{
	return decode(role, s, ret);
}

int role__foreign(const struct role *role, const struct pdsample *s, __u64 *size_bytes)
{
	return pdfield__u64(role->fields[0], s, size_bytes);
}
