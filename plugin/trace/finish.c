// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel's frame pointer walk gives, and what the file shall say:
 *
 *   alloc, emitted at the return:  [USER, ra, ra2, ...]             the caller is there already
 *   free, emitted at the entry:    [USER, free+3, ra2, ...]         the caller is skipped
 *   free, kernel 6.12 at a push:   [USER, free, ra, ra2, ...]       the kernel put it in
 *   in the file:                   [USER, ra - 1, ra2, ...]
 *
 * ra is never taken for ra2: no function can be both at its call of free and at another call.
 */
#include <errno.h>
#include <string.h>

#include "finish.h"

#include "bpf/churn.h"
#include "bpf/preload.h"

/* Positions of bp, sp and ip in PERF_REG_X86_* order. */
#define REG_SP	7
#define REG_IP	8

/* Offsets into the fixed part: header, IDENTIFIER, IP, TID, TIME, CPU, PERIOD. */
#define OFF_IP		16
#define OFF_PERIOD	48
#define OFF_CALLCHAIN	56

#define FIXED_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)
#define KNOWN_TYPE	(FIXED_TYPE | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
			 PERF_SAMPLE_STACK_USER)

/* The parts of an emitted sample, as offsets into it; 0: not there. */
struct parts {
	const char *in;
	size_t bytes;
	size_t chain;		/* at its u64 count */
	__u64 nr_ips;
	size_t raw;		/* at its u32 size */
	size_t regs;		/* at the abi word */
	size_t stack;		/* at its u64 size */
	__u64 caller, weight;
	__u32 event_id;
	__u32 flags;
};

static __u64 load_u64(const struct parts *p, size_t off)
{
	__u64 value;

	memcpy(&value, p->in + off, sizeof(value));
	return value;
}

static bool has(const struct parts *p, size_t off, size_t bytes)
{
	return off <= p->bytes && bytes <= p->bytes - off;
}

static int parse_chain(struct parts *p, size_t *off)
{
	if (!has(p, *off, 8))
		return -EINVAL;
	p->chain = *off;
	p->nr_ips = load_u64(p, *off);
	*off += 8;
	if (p->nr_ips > (p->bytes - *off) / 8)
		return -EINVAL;
	*off += p->nr_ips * 8;
	return 0;
}

static int parse_payload(struct parts *p, const char *raw, __u32 raw_bytes)
{
	struct churn_common common;
	struct churn_alloc alloc;
	struct churn_free free;

	if (raw_bytes < sizeof(common))
		return -EINVAL;
	memcpy(&common, raw, sizeof(common));
	p->event_id = common.type;
	if (p->event_id == CHURN_ALLOC_ID && raw_bytes >= sizeof(alloc)) {
		memcpy(&alloc, raw, sizeof(alloc));
		p->caller = alloc.caller;
		p->weight = alloc.weight;
		p->flags = alloc.flags;
		return 0;
	}
	if (p->event_id == CHURN_FREE_ID && raw_bytes >= sizeof(free)) {
		memcpy(&free, raw, sizeof(free));
		p->caller = free.caller;
		p->weight = free.weight;
		p->flags = free.flags;
		return 0;
	}
	return -EINVAL;
}

static int parse_raw(struct parts *p, size_t *off)
{
	__u32 raw_bytes;

	if (!has(p, *off, 4))
		return -EINVAL;
	p->raw = *off;
	memcpy(&raw_bytes, p->in + *off, sizeof(raw_bytes));
	*off += 4;
	if (!has(p, *off, raw_bytes) || parse_payload(p, p->in + *off, raw_bytes))
		return -EINVAL;
	*off += raw_bytes;
	return 0;
}

static int parse_parts(__u64 sample_type, __u64 regs_mask, const struct perf_event_header *in,
		       struct parts *p)
{
	size_t off = OFF_CALLCHAIN;

	if ((sample_type & FIXED_TYPE) != FIXED_TYPE || sample_type & ~KNOWN_TYPE)
		return -EINVAL;
	memset(p, 0, sizeof(*p));
	p->in = (const char *)in;
	p->bytes = in->size;
	if (p->bytes < OFF_CALLCHAIN)
		return -EINVAL;
	if (sample_type & PERF_SAMPLE_CALLCHAIN && parse_chain(p, &off))
		return -EINVAL;
	if (parse_raw(p, &off))
		return -EINVAL;
	if (sample_type & PERF_SAMPLE_REGS_USER) {
		if (!has(p, off, 8))
			return -EINVAL;
		if (load_u64(p, off))
			p->regs = off;
		off += 8 + (p->regs ? 8 * __builtin_popcountll(regs_mask) : 0);
	}
	if (sample_type & PERF_SAMPLE_STACK_USER) {
		if (!has(p, off, 8))
			return -EINVAL;
		if (load_u64(p, off))
			p->stack = off;
	}
	return 0;
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

/* The allocator's frame may stand above the caller, or several of the preload library. 0: not there. */
static size_t find_caller(const struct parts *p, size_t first, size_t from)
{
	size_t i, last = from + (p->flags & CHURN_F_PRELOAD ? PRELOAD_MAX_FRAMES : 1);

	for (i = from; i < p->nr_ips && i <= last; i++) {
		if (load_u64(p, first + i * 8) == p->caller)
			return i;
	}
	return 0;
}

/*
 * With a caller: [USER, caller - 1, what follows the allocator's frame]. Kernel entries (there are
 * none in a uprobe, but a later kernel may differ) stay in front.
 */
static char *put_chain(char *to, const struct parts *p, struct finish_result *result)
{
	char *count = to;
	__u64 ip, nr = 0, i, skip_at;
	size_t first = p->chain + 8;

	to += 8;
	for (i = 0; i < p->nr_ips; i++) {
		ip = load_u64(p, first + i * 8);
		to = put_u64(to, ip);
		nr++;
		if (ip == PERF_CONTEXT_USER)
			break;
	}
	if (i == p->nr_ips) {		/* no user part: make one */
		to = put_u64(to, PERF_CONTEXT_USER);
		nr++;
	}
	to = put_u64(to, p->caller - 1);
	nr++;
	/* i: at the marker; behind it the allocator's frames, or the preload library's, or the caller. */
	skip_at = find_caller(p, first, i + 1);
	if (!skip_at) {
		result->repaired = true;
		skip_at = i + 1;
	}
	for (i = skip_at + 1; i < p->nr_ips; i++, nr++)
		to = put_u64(to, load_u64(p, first + i * 8));
	put_u64(count, nr);
	return to;
}

static size_t reg_slot(__u64 mask, int reg)
{
	return __builtin_popcountll(mask & ((1ULL << reg) - 1));
}

/* Drop the return address from a stack copy: it begins 8 bytes higher and keeps its size. */
static void drop_stack_word(char *stack)
{
	__u64 bytes, dyn;

	memcpy(&bytes, stack, sizeof(bytes));
	memcpy(&dyn, stack + 8 + bytes, sizeof(dyn));
	memmove(stack + 8, stack + 16, bytes - 8);
	memset(stack + bytes, 0, 8);
	put_u64(stack + 8 + bytes, dyn > 8 ? dyn - 8 : 0);
}

/*
 * Registers and stack as they are in the caller, at its call: a free is emitted while the return
 * address is still on the stack.
 */
static char *put_rest(char *to, const struct parts *p, size_t from, __u64 regs_mask)
{
	bool at_entry = p->event_id == CHURN_FREE_ID;
	char *start = to;
	size_t sp, ip;
	__u64 value;

	to = put(to, p->in + from, p->bytes - from);
	if (!p->regs || !p->caller)
		return to;
	ip = p->regs - from + 8 + 8 * reg_slot(regs_mask, REG_IP);
	sp = p->regs - from + 8 + 8 * reg_slot(regs_mask, REG_SP);
	put_u64(start + ip, p->caller - 1);
	if (!at_entry)
		return to;
	memcpy(&value, start + sp, sizeof(value));
	put_u64(start + sp, value + 8);
	if (!p->stack)
		return to;

	drop_stack_word(start + (p->stack - from));
	return to;
}

static bool stack_is_whole(const struct parts *p)
{
	__u64 bytes;

	if (!p->stack)
		return true;
	bytes = load_u64(p, p->stack);
	return bytes >= 8 && bytes % 8 == 0 && bytes <= p->bytes &&
	       has(p, p->stack + 8, bytes + 8);
}

static void set_flag(char *raw, __u32 event_id, __u32 flag)
{
	size_t off = event_id == CHURN_FREE_ID ? offsetof(struct churn_free, flags) :
						 offsetof(struct churn_alloc, flags);
	__u32 flags;

	memcpy(&flags, raw + off, sizeof(flags));
	flags |= flag;
	memcpy(raw + off, &flags, sizeof(flags));
}

int finish_scale(__u64 sample_type, struct perf_event_header *sample, double factor, double random)
{
	struct parts p;
	size_t off;
	double weight;
	__u64 whole;

	if (parse_parts(sample_type & ~(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER), 0, sample, &p))
		return -EINVAL;
	off = p.event_id == CHURN_FREE_ID ? offsetof(struct churn_free, weight) :
					    offsetof(struct churn_alloc, weight);
	weight = p.weight * factor;
	whole = weight;
	whole += random < weight - whole;
	put_u64((char *)sample + OFF_PERIOD, whole);
	put_u64((char *)sample + p.raw + 4 + off, whole);
	return 0;
}

int finish_sample(__u64 sample_type, __u64 regs_mask, const struct perf_event_header *in,
		  void *out, struct finish_result *result)
{
	struct perf_event_header *header = out;
	struct parts p;
	char *to = out, *raw;
	size_t bytes;

	result->repaired = false;
	if (parse_parts(sample_type, regs_mask, in, &p))
		return -EINVAL;
	if (p.regs && !has(&p, p.regs, 8 + 8 * __builtin_popcountll(regs_mask)))
		return -EINVAL;
	if (!stack_is_whole(&p))
		return -EINVAL;
	result->event_id = p.event_id;

	to = put(to, in, OFF_CALLCHAIN);
	put_u64((char *)out + OFF_PERIOD, p.weight);
	if (p.caller)
		put_u64((char *)out + OFF_IP, p.caller - 1);
	/* With a stack copy an unwinder finds the caller from the registers: once is enough. */
	if (p.chain && p.caller && !p.regs)
		to = put_chain(to, &p, result);
	else
		to = put(to, p.in + OFF_CALLCHAIN, p.raw - OFF_CALLCHAIN);
	raw = to + 4;
	to = put_rest(to, &p, p.raw, regs_mask);
	if (result->repaired)
		set_flag(raw, p.event_id, CHURN_F_REPAIRED);

	bytes = to - (char *)out;
	if (bytes > 65535)
		return -EINVAL;
	header->size = bytes;
	return bytes;
}
