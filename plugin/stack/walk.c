// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include "walk.h"

/* What bpf/walk.h needs: elements of the arrays, and the memory that the copy holds. */
static const struct walk_rule *walk__rule(void *env, __u32 idx)
{
	const struct walk_input *in = env;

	return idx < WALK_MAX_RULES ? &in->mem->rules[idx] : NULL;
}

static const struct walk_page *walk__page(void *env, __u32 idx)
{
	const struct walk_input *in = env;

	return idx < WALK_MAX_PAGES ? &in->mem->pages[idx] : NULL;
}

static const __u32 *walk__rows(void *env, __u32 idx)
{
	const struct walk_input *in = env;

	return in->mem->chunk(in->mem->ctx, idx);
}

static const struct walk_map *walk__map(void *env, __u32 idx)
{
	const struct walk_input *in = env;

	return idx < WALK_MAX_MAPS ? &in->mem->maps[idx] : NULL;
}

static int walk__read(void *env, void *dst, size_t bytes, __u64 addr)
{
	const struct walk_input *in = env;
	__u64 at = addr - in->copy->regs.sp;

	if (bytes > in->stack_bytes || at > in->stack_bytes - bytes)
		return -1;
	memcpy(dst, (const char *)in->stack + at, bytes);
	return 0;
}

#define WALK_INLINE inline
#define WALK_UNROLL
#include "bpf/walk.h"

static void start(struct walk_state *s, const struct walk_input *in)
{
	const struct walk_copy *copy = in->copy;

	memset(s, 0, offsetof(struct walk_state, window));
	s->regs = copy->regs;
	s->exact = copy->exact;
	s->leaf = 1;
	s->skip_leaf = copy->skip_leaf;
	s->call_site = copy->call_site;
	s->proc = in->proc;
	s->trampoline = copy->trampoline;
	s->return_sp = copy->return_sp;
	s->hint_sp = copy->hint_sp;
	s->hint_ip = copy->hint_ip;
	memcpy(s->returns, copy->returns, sizeof(s->returns));
}

/* One frame at a time, so that the stack may be deeper than the BPF programs' arrays. */
int walk_stack(const struct walk_input *in, __u64 *ips, __u32 *nr)
{
	struct walk_state s;
	__u32 n = 0, added;
	bool exact, leaf;
	int status;

	start(&s, in);
	do {
		s.max = n < in->max;
		exact = s.exact;
		leaf = s.leaf;
		added = 0;
		status = walk__step(&s, (void *)in, &ips[n], &added);
		/* a step to an exact address leaves a signal frame */
		if (added && in->exact) {
			in->exact[n] = exact || (status == WALK_RUNNING && s.exact);
			ips[n] -= in->exact[n] && !(exact && leaf);
		}
		n += added;
	} while (status == WALK_RUNNING);
	*nr = n;
	return status;
}

const char *walk_status__name(int status)
{
	static const char *const names[WALK_STATUS_NR] = {
		[WALK_END] = "end of stack",
		[WALK_RUNNING] = "not ended",
		[WALK_MAX] = "depth limit",
		[WALK_NO_MAP] = "unknown address",
		[WALK_PENDING] = "CFI not loaded",
		[WALK_NO_CFI] = "no CFI",
		[WALK_FAULT] = "unreadable stack",
		[WALK_STUCK] = "frames out of order",
		[WALK_NO_REG] = "unknown register",
		[WALK_NO_USER] = "no user stack",
	};

	return status >= 0 && status < WALK_STATUS_NR ? names[status] : "unknown";
}
