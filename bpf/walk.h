/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk.h - one user stack, walked by call frame information (CFI).
 *
 * The same code runs in the BPF programs and in the recorder and the report (plugin/stack/walk.c),
 * on the same tables (walk_tables.h). It needs of its includer, declared before this header:
 *
 *   bool, WALK_UNROLL, which goes before loops, and WALK_INLINE, what the functions are declared with besides static,
 *   walk__rule(), walk__page(), walk__rows(), walk__map(): elements of the tables by index, NULL
 *	where there is none, and
 *   walk__read(): user memory; 0 when all of it could be read.
 */
#ifndef PERF_CHURN_BPF_WALK_H
#define PERF_CHURN_BPF_WALK_H

#include "walk_tables.h"

/**
 * struct walk_state - A walk under way.
 * @regs: Of the frame that is being looked at; rax and the like are the leaf's.
 * @bp_addr, @bx_addr: Where the frame's rbp and rbx are to be read when needed; 0: as in @regs.
 * @lost: Bits WALK_LOST_*: registers that nobody can tell any more.
 * @exact: @regs.ip is the instruction that runs next; else a return address, behind its call.
 * @leaf: No frame has been left yet.
 * @skip_leaf: Leave the leaf's own address out of @ips.
 * @by_fp: The frame was found by a chain of frame pointers.
 * @call_site: The leaf is at a function's entry: where it has no CFI, the return address is at rsp.
 * @trampoline: Address that uretprobes have put over return addresses, and
 * @returns: the true ones, innermost first; @nr_returns of them are used up.
 * @return_sp: The stack pointer after the first of them, where the leaf is the trampoline itself.
 * @hint_sp, @hint_ip: Where the return address of the thread's last probed call stood, and what it was.
 * @window_addr: First address in @window; 0: nothing there.
 * @map: Mapping of the last frame.
 * @search_lo, @search_nr: Of the binary search under way. In memory, and volatile: the verifier then
 *	knows no bounds for them, and all rounds of the search look alike to it. In registers it would
 *	follow each way through the search.
 * @max: Frames to stop at, at most WALK_MAX_FRAMES.
 */
struct walk_state {
	struct walk_regs regs;
	__u64 bp_addr, bx_addr;
	__u32 lost;
	__u8 exact, leaf, skip_leaf, call_site;
	__u8 by_fp;
	struct walk_proc proc;
	__u64 trampoline;
	__u64 returns[WALK_NR_RETURNS];
	__u64 return_sp;
	__u64 hint_sp, hint_ip;
	__u32 nr_returns;
	struct walk_map map;
	__u32 search_lo, search_nr;
	__u64 window_addr;
	__u64 window[WALK_WINDOW];
	__u32 max;
};

#define WALK_LOST_BP	1
#define WALK_LOST_BX	2

/* A word of the stack, out of the window where it is in there. */
static WALK_INLINE int walk__word(struct walk_state *s, void *env, __u64 addr, __u64 *ret)
{
	__u64 idx = (addr - s->window_addr) >> 3;

	if (!s->window_addr || addr & 7 || addr < s->window_addr || idx >= WALK_WINDOW) {
		if (addr & 7 || walk__read(env, s->window, sizeof(s->window), addr)) {
			s->window_addr = 0;
			return walk__read(env, ret, sizeof(*ret), addr);
		}
		s->window_addr = addr;
		idx = 0;
	}
	*ret = s->window[idx & (WALK_WINDOW - 1)];
	return 0;
}

static WALK_INLINE int walk__bp(struct walk_state *s, void *env)
{
	if (s->lost & WALK_LOST_BP)
		return WALK_NO_REG;
	if (s->bp_addr && walk__word(s, env, s->bp_addr, &s->regs.bp))
		return WALK_FAULT;
	s->bp_addr = 0;
	return 0;
}

static WALK_INLINE int walk__bx(struct walk_state *s, void *env)
{
	if (s->lost & WALK_LOST_BX)
		return WALK_NO_REG;
	if (s->bx_addr && walk__word(s, env, s->bx_addr, &s->regs.bx))
		return WALK_FAULT;
	s->bx_addr = 0;
	return 0;
}

/* The mapping of an address, into s->map. */
static WALK_INLINE bool walk__find_map(struct walk_state *s, void *env, __u64 ip)
{
	volatile __u32 *lo = &s->search_lo, *nr = &s->search_nr;
	const struct walk_map *m;
	__u32 half;
	int i;

	if (ip >= s->map.start && ip < s->map.end)
		return true;
	*lo = s->proc.first;
	*nr = s->proc.nr;
	if (!*nr)
		return false;
	WALK_UNROLL
	for (i = 0; i < WALK_SEARCH_MAPS; i++) {
		half = *nr >> 1;
		if (!half)
			break;
		m = walk__map(env, *lo + half);
		if (!m)
			return false;
		if (m->start <= ip) {
			*lo += half;
			*nr -= half;
		} else {
			*nr = half;
		}
	}
	m = walk__map(env, *lo);
	if (!m || ip < m->start || ip >= m->end)
		return false;
	s->map = *m;
	return true;
}

/* The last row at or before an address of a page. */
static WALK_INLINE __u32 walk__search(struct walk_state *s, const __u32 *rows,
				      const struct walk_page *page, __u32 addr)
{
	volatile __u32 *lo = &s->search_lo, *nr = &s->search_nr;
	__u32 half, mid;
	int i;

	*lo = page->start;
	*nr = page->count;
	WALK_UNROLL
	for (i = 0; i < WALK_SEARCH_ROWS; i++) {
		half = *nr >> 1;
		if (!half)
			break;
		mid = *lo + half;
		if (WALK_ROW_ADDR(rows[mid & (WALK_CHUNK_ROWS - 1)]) <= addr) {
			*lo = mid;
			*nr -= half;
		} else {
			*nr = half;
		}
	}
	return *lo;
}

/*
 * The rule at the frame's address, which for a return address is the call before it: the next
 * instruction may be another function. Except where a thread or a context starts (makecontext
 * makes its start function the return address, without a call): a row that begins just there and
 * ends the stack counts.
 */
static WALK_INLINE const struct walk_rule *walk__find_rule(struct walk_state *s, void *env)
{
	__u64 vaddr = s->regs.ip - s->map.bias - !s->exact;
	__u64 nth = (vaddr >> WALK_PAGE_SHIFT) - s->map.first_page;
	const struct walk_page *page;
	const struct walk_rule *rule;
	const __u32 *rows;
	__u32 at, next;

	if (nth >= s->map.nr_pages)
		return 0;
	page = walk__page(env, s->map.page_base + (__u32)nth);
	if (!page || !page->count)
		return 0;
	rows = walk__rows(env, page->chunk);
	if (!rows)
		return 0;
	at = walk__search(s, rows, page, vaddr & 0xffff);
	if (!s->exact && at + 1 < (__u32)page->start + page->count) {
		next = rows[(at + 1) & (WALK_CHUNK_ROWS - 1)];
		if (WALK_ROW_ADDR(next) == ((vaddr + 1) & 0xffff)) {
			rule = walk__rule(env, WALK_ROW_RULE(next));
			if (rule && rule->cfa == WALK_CFA_END && rule->cfa_add)
				return rule;
		}
	}
	return walk__rule(env, WALK_ROW_RULE(rows[at & (WALK_CHUNK_ROWS - 1)]));
}

/*
 * The true address where a uretprobe has put its own over the caller's, at @slot. The kernel does so
 * before it notes the address: of a call that has just been probed only the hint tells.
 */
static WALK_INLINE __u64 walk__true_ip(struct walk_state *s, __u64 slot)
{
	__u32 nth = s->nr_returns;

	if (nth >= WALK_NR_RETURNS || (!nth && s->return_sp && s->return_sp != slot + 8))
		return s->hint_sp == slot ? s->hint_ip : 0;
	if (!s->returns[nth & (WALK_NR_RETURNS - 1)])
		return s->hint_sp == slot ? s->hint_ip : 0;
	s->nr_returns = nth + 1;
	return s->returns[nth & (WALK_NR_RETURNS - 1)];
}

/* Go on at a return address, which was at @slot. */
static WALK_INLINE void walk__set_ip(struct walk_state *s, __u64 ip, __u64 slot)
{
	if (s->trampoline && ip == s->trampoline)
		ip = walk__true_ip(s, slot) ?: ip;
	s->regs.ip = ip;
	s->exact = 0;
	s->leaf = 0;
}

static WALK_INLINE int walk__leave_signal(struct walk_state *s, void *env)
{
	__u64 frame = s->regs.sp, ip, sp;

	if (walk__word(s, env, frame + WALK_SIG_IP, &ip) ||
	    walk__word(s, env, frame + WALK_SIG_SP, &sp))
		return WALK_FAULT;
	s->bp_addr = frame + WALK_SIG_BP;
	s->bx_addr = frame + WALK_SIG_BX;
	s->lost = 0;
	walk__set_ip(s, ip, 0);
	s->exact = 1;			/* interrupted before this instruction */
	s->regs.sp = sp;
	return 0;
}

static WALK_INLINE int walk__cfa(struct walk_state *s, void *env, const struct walk_rule *rule,
				 __u64 *ret)
{
	__u64 at;
	int err;

	switch (rule->cfa) {
	case WALK_CFA_SP:
		*ret = s->regs.sp + rule->cfa_off;
		return 0;
	case WALK_CFA_BP:
		err = walk__bp(s, env);
		*ret = s->regs.bp + rule->cfa_off;
		return err;
	case WALK_CFA_BX:
		err = walk__bx(s, env);
		*ret = s->regs.bx + rule->cfa_off;
		return err;
	case WALK_CFA_RAX:
		*ret = s->regs.rax + rule->cfa_off;
		return s->leaf ? 0 : WALK_NO_REG;
	case WALK_CFA_R10:
		*ret = s->regs.r10 + rule->cfa_off;
		return s->leaf ? 0 : WALK_NO_REG;
	case WALK_CFA_R11:
		*ret = s->regs.r11 + rule->cfa_off;
		return s->leaf ? 0 : WALK_NO_REG;
	case WALK_CFA_AT_SP:
	case WALK_CFA_AT_BP:
		at = s->regs.sp;
		if (rule->cfa == WALK_CFA_AT_BP) {
			err = walk__bp(s, env);
			if (err)
				return err;
			at = s->regs.bp;
		}
		if (walk__word(s, env, at + rule->cfa_off, &at))
			return WALK_FAULT;
		*ret = at + rule->cfa_add;
		return 0;
	case WALK_CFA_PLT:
		*ret = s->regs.sp + rule->cfa_off +
		       ((s->regs.ip & 15) >= (__u64)rule->cfa_add ? 8 : 0);
		return 0;
	default:
		return WALK_NO_CFI;
	}
}

/*
 * Only note where a register was saved: most frames never need it. For the same reason one that
 * cannot be told is lost, but does not end the walk.
 */
static WALK_INLINE void walk__saved(struct walk_state *s, void *env, __u32 kind, __s32 off,
				    __u64 cfa, __u64 *addr, __u32 lost)
{
	__u64 at;

	switch (kind) {
	case WALK_REG_SAME:
		return;
	case WALK_REG_CFA:
		at = cfa;
		break;
	case WALK_REG_BP:
		if (walk__bp(s, env)) {
			s->lost |= lost;
			return;
		}
		at = s->regs.bp;
		break;
	case WALK_REG_SP:
		at = s->regs.sp;
		break;
	default:
		s->lost |= lost;
		return;
	}
	s->lost &= ~lost;
	*addr = at + off;
}

/* To the caller of the frame at s->regs, by its rule. */
static WALK_INLINE int walk__leave(struct walk_state *s, void *env, const struct walk_rule *rule)
{
	__u64 cfa = 0, ip = 0, bp_addr, bx_addr;
	int err;

	if (rule->cfa == WALK_CFA_END)
		return WALK_END;
	if (rule->cfa == WALK_CFA_SIGNAL)
		return walk__leave_signal(s, env) ?: WALK_RUNNING;
	err = walk__cfa(s, env, rule, &cfa);
	if (err)
		return err;
	/* With the return address popped into a register, the caller's stack pointer is ours. */
	if (cfa < s->regs.sp || (cfa == s->regs.sp && rule->ra != WALK_RA_RDI))
		return WALK_STUCK;
	if (rule->ra == WALK_RA_RDI && s->leaf)
		ip = s->regs.rdi;
	else if (rule->ra != WALK_RA_CFA)
		return WALK_NO_REG;
	else if (walk__word(s, env, cfa + rule->ra_off, &ip))
		return WALK_FAULT;
	/* Both from this frame's rbp, before it is replaced. */
	bp_addr = s->bp_addr;
	bx_addr = s->bx_addr;
	walk__saved(s, env, rule->bx, rule->bx_off, cfa, &bx_addr, WALK_LOST_BX);
	walk__saved(s, env, rule->bp, rule->bp_off, cfa, &bp_addr, WALK_LOST_BP);
	/* walk__saved() may have read rbp itself: then it is in regs. */
	s->bp_addr = rule->bp == WALK_REG_SAME ? s->bp_addr : bp_addr;
	s->bx_addr = bx_addr;
	s->regs.sp = cfa;
	walk__set_ip(s, ip, cfa + rule->ra_off);
	return ip ? WALK_RUNNING : WALK_END;
}

/* The same where there is no CFI: rbp points at the caller's rbp and the return address. */
static WALK_INLINE int walk__leave_fp(struct walk_state *s, void *env)
{
	__u64 bp, ip;
	int err = walk__bp(s, env);

	if (err)
		return err;
	bp = s->regs.bp;
	if (!bp)
		return WALK_END;
	if (bp & 7 || bp < s->regs.sp)
		return WALK_STUCK;
	if (walk__word(s, env, bp + 8, &ip))
		return WALK_FAULT;
	s->bp_addr = bp;
	s->lost |= WALK_LOST_BX;	/* saved anywhere, or not */
	s->by_fp = 1;
	s->regs.sp = bp + 16;
	walk__set_ip(s, ip, bp + 8);
	return ip ? WALK_RUNNING : WALK_END;
}

/* A function's first instructions, in code without CFI: nothing is pushed yet. */
static WALK_INLINE int walk__leave_entry(struct walk_state *s, void *env)
{
	__u64 ip;

	if (walk__word(s, env, s->regs.sp, &ip))
		return WALK_FAULT;
	s->regs.sp += 8;
	walk__set_ip(s, ip, s->regs.sp - 8);
	return ip ? WALK_RUNNING : WALK_END;
}

/* Offsets in the kernel's uretprobe_trampoline_entry (6.11 on), and what it has pushed there. */
#define WALK_TRAMPOLINE_BYTES	0x11
#define WALK_TRAMPOLINE_DONE	0x0d	/* behind its system call */

static WALK_INLINE __u32 walk__pushed(__u32 at)
{
	if (at < 4)
		return at < 2 ? at * 8 : 16;
	if (at < 0xf)
		return 24;
	return at == 0xf ? 16 : 8;
}

/*
 * A function has returned into a uretprobe's trampoline: push rax, rcx, r11; a system call, which
 * puts the return address in place of rax; pop r11, rcx; ret.
 */
static WALK_INLINE int walk__leave_trampoline(struct walk_state *s, void *env)
{
	__u32 at = s->regs.ip - s->trampoline, pushed = walk__pushed(at);
	__u64 ip = 0;

	if (at >= WALK_TRAMPOLINE_DONE &&
	    walk__word(s, env, s->regs.sp + pushed - 8, &ip))
		return WALK_FAULT;
	s->regs.sp += pushed;
	/* In the kernel it may be rax yet, and the stack pointer be moved. */
	if (!ip || !walk__find_map(s, env, ip - 1)) {
		if (!s->return_sp)
			return WALK_NO_MAP;
		ip = s->trampoline;
		s->regs.sp = s->return_sp;
	}
	walk__set_ip(s, ip, s->regs.sp - 8);
	return WALK_RUNNING;
}

static WALK_INLINE bool walk__in_trampoline(const struct walk_state *s)
{
	return s->leaf && s->trampoline && s->regs.ip >= s->trampoline &&
	       s->regs.ip - s->trampoline < WALK_TRAMPOLINE_BYTES;
}

/**
 * walk__step() - One frame: note its address, go on to its caller.
 * @nr: Frames in @ips so far.
 *
 * Readers of callchains look a frame other than the first up at the byte before its address, that
 * of the call. So one that was interrupted, and the return from a signal handler, which nothing has
 * called, are noted one byte further.
 *
 * Return: WALK_RUNNING, or why the walk ended.
 */
static WALK_INLINE int walk__step(struct walk_state *s, void *env, __u64 *ips, __u32 *nr)
{
	const struct walk_rule *rule;
	bool was_exact;
	__u32 n = *nr;
	int err;

	if (!(s->leaf && s->skip_leaf)) {
		if (n >= s->max || n >= WALK_MAX_FRAMES)
			return WALK_MAX;
		ips[n & (WALK_MAX_FRAMES - 1)] = s->regs.ip + (s->exact && !s->leaf);
		*nr = n + 1;
	}
	if (walk__in_trampoline(s))
		return walk__leave_trampoline(s, env);
	if (!walk__find_map(s, env, s->regs.ip - !s->exact))
		return WALK_NO_MAP;
	if (s->map.kind == WALK_MAP_PENDING)
		return WALK_PENDING;
	if (s->map.kind == WALK_MAP_FP)
		return s->leaf && s->call_site ? walk__leave_entry(s, env) :
						 walk__leave_fp(s, env);
	rule = walk__find_rule(s, env);
	if (!rule || rule->cfa == WALK_CFA_UNKNOWN) {
		if (s->leaf && s->call_site)
			return walk__leave_entry(s, env);
		/* What code made at run time calls is of its kind, though it be in a file: V8's builtins. */
		return s->by_fp ? walk__leave_fp(s, env) : WALK_NO_CFI;
	}
	s->by_fp = 0;
	was_exact = s->exact;
	err = walk__leave(s, env, rule);
	if (err == WALK_RUNNING && rule->cfa == WALK_CFA_SIGNAL && !was_exact && n < *nr)
		ips[n & (WALK_MAX_FRAMES - 1)]++;
	return err;
}

#endif /* PERF_CHURN_BPF_WALK_H */
