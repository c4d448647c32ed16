// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records are samples of bpf-output events: IDENTIFIER IP TID TIME CPU PERIOD, CALLCHAIN of CPU
 * samples only, RAW. The raw part is [churn event] struct walk_head, then addresses or a struct
 * walk_copy and a piece of stack.
 */
#include <errno.h>
#include <string.h>

#include "walked.h"

#include "bpf/churn.h"
#include "bpf/preload.h"

/* Offsets into the fixed part. */
#define OFF_ID		8
#define OFF_IP		16
#define OFF_TID		24
#define OFF_TIME	32
#define OFF_PERIOD	48
#define OFF_REST	56

/* What is left of a record to be read. */
struct rest {
	const char *at;
	size_t bytes;
};

static bool take(struct rest *rest, void *to, size_t bytes)
{
	if (bytes > rest->bytes)
		return false;
	memcpy(to, rest->at, bytes);
	rest->at += bytes;
	rest->bytes -= bytes;
	return true;
}

static bool skip(struct rest *rest, const char **ret, size_t bytes)
{
	if (bytes > rest->bytes)
		return false;
	*ret = rest->at;
	rest->at += bytes;
	rest->bytes -= bytes;
	return true;
}

static bool take_event(struct rest *rest, struct walked *w)
{
	struct churn_common common;

	if (rest->bytes < sizeof(common))
		return false;
	memcpy(&common, rest->at, sizeof(common));
	w->event_id = common.type;
	if (common.type == CHURN_ALLOC_ID)
		w->event_bytes = sizeof(struct churn_alloc);
	else if (common.type == CHURN_FREE_ID)
		w->event_bytes = sizeof(struct churn_free);
	else
		return false;
	return skip(rest, &w->event, w->event_bytes);
}

static bool take_chain(struct rest *rest, struct walked *w)
{
	return take(rest, &w->nr_kernel, sizeof(w->nr_kernel)) &&
	       w->nr_kernel <= rest->bytes / 8 && skip(rest, &w->kernel, w->nr_kernel * 8);
}

static bool take_stack(struct rest *rest, struct walked *w)
{
	if (!take(rest, &w->head, sizeof(w->head)))
		return false;
	if (!w->head.is_copy)
		return w->head.nr <= WALK_MAX_FRAMES && skip(rest, &w->ips, w->head.nr * 8ULL);
	return take(rest, &w->copy, sizeof(w->copy)) && skip(rest, &w->stack, w->copy.bytes);
}

int walked__parse(const struct perf_event_header *record, bool is_cpu, struct walked *ret)
{
	struct rest rest = { (const char *)record, record->size };
	const char *fixed;
	__u32 raw_bytes, pid;

	memset(ret, 0, sizeof(*ret));
	ret->header = record;
	if (record->type != PERF_RECORD_SAMPLE || !skip(&rest, &fixed, OFF_REST))
		return -EINVAL;
	memcpy(&pid, fixed + OFF_TID, sizeof(pid));
	ret->pid = pid;
	memcpy(&ret->time_ns, fixed + OFF_TIME, sizeof(ret->time_ns));
	if (is_cpu && !take_chain(&rest, ret))
		return -EINVAL;
	if (!take(&rest, &raw_bytes, sizeof(raw_bytes)) || raw_bytes > rest.bytes)
		return -EINVAL;
	rest.bytes = raw_bytes;
	if (!is_cpu && !take_event(&rest, ret))
		return -EINVAL;
	return take_stack(&rest, ret) ? 0 : -EINVAL;
}

static char *put(char *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes;
}

static char *put_u64(char *to, __u64 value)
{
	return put(to, &value, sizeof(value));
}

/* Caller, weight and flags stand in both events, not at the same place. */
static void finish_event(const struct walked *w, char *raw, __u64 caller, __u32 flags,
			 __u64 *weight)
{
	struct churn_alloc alloc;
	struct churn_free free;

	if (w->event_id == CHURN_ALLOC_ID) {
		memcpy(&alloc, w->event, sizeof(alloc));
		*weight = alloc.weight;
		alloc.caller = caller;
		alloc.flags |= flags;
		memcpy(raw, &alloc, sizeof(alloc));
		return;
	}
	memcpy(&free, w->event, sizeof(free));
	*weight = free.weight;
	free.caller = caller;
	free.flags |= flags;
	memcpy(raw, &free, sizeof(free));
}

static __u64 recorded_caller(const struct walked *w, __u32 *flags)
{
	struct churn_alloc alloc;
	struct churn_free free;

	if (w->event_id == CHURN_ALLOC_ID) {
		memcpy(&alloc, w->event, sizeof(alloc));
		*flags = alloc.flags;
		return alloc.caller;
	}
	memcpy(&free, w->event, sizeof(free));
	*flags = free.flags;
	return free.caller;
}

/* Frames of the preload library stand above the call in the program. */
static __u32 frames_of_hook(__u64 caller, __u32 flags, const __u64 *ips, __u32 nr)
{
	__u32 i;

	if (!(flags & CHURN_F_PRELOAD))
		return 0;
	for (i = 0; i < nr && i <= PRELOAD_MAX_FRAMES; i++) {
		if (ips[i] == caller)
			return i;
	}
	return 0;
}

static int finish_cpu(const struct walked *w, const __u64 *ips, __u32 nr, char *out)
{
	char *to = put(out, w->header, OFF_REST);

	put_u64(out + OFF_ID, w->head.event_id);
	put_u64(out + OFF_PERIOD, w->head.period);
	to = put_u64(to, w->nr_kernel + (nr ? nr + 1 : 0));
	to = put(to, w->kernel, w->nr_kernel * 8);
	if (nr) {
		to = put_u64(to, PERF_CONTEXT_USER);
		to = put(to, ips, nr * sizeof(*ips));
	}
	return to - out;
}

static int finish_churn(const struct walked *w, const __u64 *ips, __u32 nr, char *out,
			bool *repaired)
{
	char *to = put(out, w->header, OFF_REST);
	__u32 flags, skipped;
	__u64 caller = recorded_caller(w, &flags), weight;
	/* perf pads the raw part so that the sample's size is a multiple of 8. */
	__u32 raw_bytes = ((w->event_bytes + 4 + 7) & ~7U) - 4;

	skipped = frames_of_hook(caller, flags, ips, nr);
	ips += skipped;
	nr -= skipped;
	if (nr)
		caller = ips[0];
	*repaired = !nr;
	put_u64(out + OFF_IP, caller - 1);
	to = put_u64(to, nr ? nr + 1 : 2);
	to = put_u64(to, PERF_CONTEXT_USER);
	to = put_u64(to, caller - 1);
	if (nr > 1)
		to = put(to, ips + 1, (nr - 1) * sizeof(*ips));
	to = put(to, &raw_bytes, sizeof(raw_bytes));
	memset(to, 0, raw_bytes);
	finish_event(w, to, caller, nr ? 0 : CHURN_F_REPAIRED, &weight);
	put_u64(out + OFF_PERIOD, weight);
	return to + raw_bytes - out;
}

int walked__finish(const struct walked *w, const __u64 *ips, __u32 nr, void *out, bool *repaired)
{
	struct perf_event_header *header = out;
	int bytes;

	*repaired = false;
	if (OFF_REST + 8 + (w->nr_kernel + nr + 2) * 8 + 4 + w->event_bytes + 8 > 65535)
		return -EINVAL;
	bytes = w->event ? finish_churn(w, ips, nr, out, repaired) : finish_cpu(w, ips, nr, out);
	header->size = bytes;
	return bytes;
}
