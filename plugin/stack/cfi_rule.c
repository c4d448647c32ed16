// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the instructions said, as a rule of the walker. What a rule cannot say is unknown, never
 * nearly right.
 */
#include <dwarf.h>
#include <stdint.h>

#include "cfi_program.h"

static bool fits16(__s64 value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static bool fits32(__s64 value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* ------------------------------------------------------------------ expressions */

static bool read_breg(struct cfi_bytes *b, struct cfi_place *place)
{
	__u8 op = cfi_bytes__u8(b);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	place->reg = op - DW_OP_breg0;
	place->off = cfi_bytes__sleb(b);
	return !b->bad;
}

/* Nothing more, or one constant that is added. */
static bool read_added(struct cfi_bytes *b, __s64 *add)
{
	__u64 value;
	__u8 op;

	if (b->pos == b->end)
		return true;
	op = cfi_bytes__u8(b);
	if (op == DW_OP_plus_uconst)
		value = cfi_bytes__uleb(b);
	else if (op == DW_OP_consts)
		value = cfi_bytes__sleb(b);
	else if (op == DW_OP_constu)
		value = cfi_bytes__uleb(b);
	else if (op == DW_OP_const1s)
		value = (__s64)(__s8)cfi_bytes__u8(b);
	else if (op == DW_OP_const1u)
		value = cfi_bytes__u8(b);
	else if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		value = op - DW_OP_lit0;
	else
		return false;
	if (op != DW_OP_plus_uconst && cfi_bytes__u8(b) != DW_OP_plus)
		return false;
	*add = value;
	return !b->bad && b->pos == b->end;
}

/* rsp + off + ((rip & 15) >= N) * 8, as linkers write it for .plt. */
static bool read_plt(struct cfi_bytes b, struct cfi_place *place)
{
	static const __u8 head[] = { DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const __u8 tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	__u8 op;

	if (!read_breg(&b, place) || place->reg != CFI_SP ||
	    cfi_bytes__left(&b) != sizeof(head) + 1 + sizeof(tail) ||
	    memcmp(b.pos, head, sizeof(head)) ||
	    memcmp(b.pos + sizeof(head) + 1, tail, sizeof(tail)))
		return false;
	op = b.pos[sizeof(head)];
	if (op < DW_OP_lit0 || op > DW_OP_lit31)
		return false;
	place->add = op - DW_OP_lit0;
	place->kind = CFI_PLT;
	return true;
}

struct cfi_place cfi_place__read_cfa(struct cfi_bytes expr)
{
	struct cfi_place place = {};
	struct cfi_bytes b = expr;

	if (read_plt(expr, &place))
		return place;
	place = (struct cfi_place) {};
	if (!read_breg(&b, &place))
		return (struct cfi_place) { .kind = CFI_OTHER };
	if (b.pos == b.end)
		place.kind = CFI_REG;
	else if (cfi_bytes__u8(&b) == DW_OP_deref && read_added(&b, &place.add))
		place.kind = CFI_AT;
	return place;
}

struct cfi_place cfi_place__read_saved(struct cfi_bytes expr)
{
	struct cfi_place place = {};

	if (read_breg(&expr, &place) && expr.pos == expr.end)
		place.kind = CFI_AT_REG;
	return place;
}

/* ------------------------------------------------------------------ rules */

static __u8 cfa_of_reg(__u64 reg)
{
	switch (reg) {
	case CFI_SP:
		return WALK_CFA_SP;
	case CFI_BP:
		return WALK_CFA_BP;
	case CFI_BX:
		return WALK_CFA_BX;
	case CFI_RAX:
		return WALK_CFA_RAX;
	case CFI_R10:
		return WALK_CFA_R10;
	case CFI_R11:
		return WALK_CFA_R11;
	default:
		return WALK_CFA_UNKNOWN;
	}
}

static __u8 cfa_at_reg(__u64 reg)
{
	return reg == CFI_SP ? WALK_CFA_AT_SP : reg == CFI_BP ? WALK_CFA_AT_BP : WALK_CFA_UNKNOWN;
}

static void set_cfa(struct walk_rule *rule, const struct cfi_place *cfa)
{
	if (!fits32(cfa->off) || !fits16(cfa->add))
		return;
	rule->cfa_off = cfa->off;
	rule->cfa_add = cfa->add;
	if (cfa->kind == CFI_REG)
		rule->cfa = cfa_of_reg(cfa->reg);
	else if (cfa->kind == CFI_AT)
		rule->cfa = cfa_at_reg(cfa->reg);
	else if (cfa->kind == CFI_PLT)
		rule->cfa = WALK_CFA_PLT;
}

static void set_ra(struct walk_rule *rule, const struct cfi_place *ra)
{
	rule->ra = WALK_RA_UNKNOWN;
	if (ra->kind == CFI_IN_REG && ra->reg == CFI_RDI)
		rule->ra = WALK_RA_RDI;
	if (ra->kind != CFI_AT_CFA || !fits16(ra->off))
		return;
	rule->ra = WALK_RA_CFA;
	rule->ra_off = ra->off;
}

static void set_reg(__u8 *kind, __s16 *off, const struct cfi_place *place)
{
	*kind = WALK_REG_UNKNOWN;
	if (place->kind == CFI_SAME)
		*kind = WALK_REG_SAME;
	else if (place->kind == CFI_AT_CFA && fits16(place->off))
		*kind = WALK_REG_CFA;
	else if (place->kind == CFI_AT_REG && place->reg == CFI_BP && fits16(place->off))
		*kind = WALK_REG_BP;
	else if (place->kind == CFI_AT_REG && place->reg == CFI_SP && fits16(place->off))
		*kind = WALK_REG_SP;
	if (*kind != WALK_REG_SAME && *kind != WALK_REG_UNKNOWN)
		*off = place->off;
}

static bool is_at_sp(const struct cfi_place *place, __s64 off)
{
	return place->kind == CFI_AT_REG && place->reg == CFI_SP && place->off == off;
}

/* The kernel's rt_sigframe. Somebody's own kind of context would be read wrong. */
static bool is_sigframe(const struct cfi_state *state)
{
	return state->cfa.kind == CFI_AT && state->cfa.reg == CFI_SP &&
	       state->cfa.off == WALK_SIG_SP && !state->cfa.add &&
	       is_at_sp(&state->bp, WALK_SIG_BP) && is_at_sp(&state->bx, WALK_SIG_BX) &&
	       is_at_sp(&state->ra, WALK_SIG_IP) &&
	       (state->sp.kind == CFI_SAME || is_at_sp(&state->sp, WALK_SIG_SP));
}

struct walk_rule cfi_state__rule(const struct cfi_state *state, bool is_signal)
{
	struct walk_rule rule = {};

	if (state->ra.kind == CFI_UNDEFINED)
		return (struct walk_rule) { .cfa = WALK_CFA_END };
	if (is_signal)
		return (struct walk_rule) {
			.cfa = is_sigframe(state) ? WALK_CFA_SIGNAL : WALK_CFA_UNKNOWN
		};
	/* For the walker, the caller's rsp is the CFA. */
	if (state->sp.kind == CFI_SAME || (state->sp.kind == CFI_VAL_CFA && !state->sp.off))
		set_cfa(&rule, &state->cfa);
	if (rule.cfa == WALK_CFA_UNKNOWN)
		return (struct walk_rule) {};
	set_ra(&rule, &state->ra);
	set_reg(&rule.bp, &rule.bp_off, &state->bp);
	set_reg(&rule.bx, &rule.bx_off, &state->bx);
	return rule;
}
