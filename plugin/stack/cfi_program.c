// SPDX-License-Identifier: GPL-2.0-only
#include <dwarf.h>
#include <errno.h>
#include <stdint.h>

#include "cfi_program.h"

/* Compilers nest one or two. */
#define MAX_REMEMBERED	32
/* The operand is in the opcode's lower six bits. */
#define PRIMARY(op)	((op) & 0xc0)
#define OPERAND(op)	((op) & 0x3f)

/* Instructions under way. @prog: NULL for those of a CIE, which must not move. */
struct run {
	const struct cfi_program *prog;
	const struct cfi_cie *cie;
	struct cfi_bytes code;
	struct cfi_state state;
	struct cfi_state remembered[MAX_REMEMBERED];
	int nr_remembered;
	__u64 loc;
	bool done;			/* past the FDE's last address */
	cfi_emit_fn emit;
	void *ctx;
	int emitted;			/* what emit() has returned */
};

static struct cfi_place *place_of(struct cfi_state *state, __u64 reg)
{
	switch (reg) {
	case CFI_BX:
		return &state->bx;
	case CFI_BP:
		return &state->bp;
	case CFI_SP:
		return &state->sp;
	case CFI_RA:
		return &state->ra;
	default:
		return NULL;
	}
}

static void set_place(struct run *run, __u64 reg, struct cfi_place place)
{
	struct cfi_place *old = place_of(&run->state, reg);

	if (old)
		*old = place;
}

static void restore_place(struct run *run, __u64 reg)
{
	struct cfi_place *old = place_of(&run->state, reg);

	if (old)
		*old = *place_of((struct cfi_state *)&run->cie->initial, reg);
}

/* @factor times the data alignment; what overflows fits no rule anyway. */
static __s64 scaled(const struct run *run, __s64 factor)
{
	__s64 off;

	return __builtin_mul_overflow(factor, run->cie->data_align, &off) ? INT64_MAX : off;
}

static __s64 scaled_uleb(struct run *run)
{
	__u64 factor = cfi_bytes__uleb(&run->code);

	return factor > INT64_MAX ? INT64_MAX : scaled(run, factor);
}

static __s64 unscaled_uleb(struct run *run)
{
	__u64 off = cfi_bytes__uleb(&run->code);

	return off > INT64_MAX ? INT64_MAX : (__s64)off;
}

static struct cfi_bytes read_block(struct run *run)
{
	__u64 bytes = cfi_bytes__uleb(&run->code);

	return cfi_bytes__take(&run->code, bytes);
}

/* ------------------------------------------------------------------ addresses */

static void emit_rule(struct run *run, const struct walk_rule *rule)
{
	if (!run->emitted)
		run->emitted = run->emit(run->ctx, run->loc, rule);
}

static void emit_state(struct run *run)
{
	struct walk_rule rule = cfi_state__rule(&run->state, run->cie->is_signal);

	emit_rule(run, &rule);
}

static int move_to(struct run *run, __u64 loc)
{
	if (!run->prog || loc < run->loc)
		return -EINVAL;
	if (loc == run->loc)
		return 0;
	emit_state(run);
	run->loc = loc;
	run->done = loc >= run->prog->end;
	return 0;
}

static int advance(struct run *run, __u64 delta)
{
	__u64 loc;

	if (__builtin_mul_overflow(delta, run->cie->code_align, &loc) ||
	    __builtin_add_overflow(loc, run->loc, &loc))
		loc = UINT64_MAX;
	return run->code.bad ? -EINVAL : move_to(run, loc);
}

static int set_loc(struct run *run)
{
	__u64 loc;

	if (!run->prog)
		return -EINVAL;
	loc = cfi_bytes__pointer(&run->code, run->cie->encoding, &run->prog->base);
	return run->code.bad ? -EINVAL : move_to(run, loc);
}

/* ------------------------------------------------------------------ the CFA */

static void def_cfa(struct run *run, __u64 reg, __s64 off)
{
	run->state.cfa = (struct cfi_place) { .kind = CFI_REG, .reg = reg, .off = off };
}

static void def_cfa_register(struct run *run, __u64 reg)
{
	if (run->state.cfa.kind == CFI_REG)
		run->state.cfa.reg = reg;
	else
		run->state.cfa = (struct cfi_place) {};
}

static void def_cfa_offset(struct run *run, __s64 off)
{
	if (run->state.cfa.kind == CFI_REG)
		run->state.cfa.off = off;
	else
		run->state.cfa = (struct cfi_place) {};
}

static int remember(struct run *run)
{
	if (run->nr_remembered == MAX_REMEMBERED)
		return -EINVAL;
	run->remembered[run->nr_remembered++] = run->state;
	return 0;
}

static int restore(struct run *run)
{
	if (!run->nr_remembered)
		return -EINVAL;
	run->state = run->remembered[--run->nr_remembered];
	return 0;
}

/* ------------------------------------------------------------------ instructions */

static int step_cfa(struct run *run, __u8 op)
{
	struct cfi_bytes *code = &run->code;
	__u64 reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cfi_bytes__uleb(code);
		def_cfa(run, reg, unscaled_uleb(run));
		return 0;
	case DW_CFA_def_cfa_sf:
		reg = cfi_bytes__uleb(code);
		def_cfa(run, reg, scaled(run, cfi_bytes__sleb(code)));
		return 0;
	case DW_CFA_def_cfa_register:
		def_cfa_register(run, cfi_bytes__uleb(code));
		return 0;
	case DW_CFA_def_cfa_offset:
		def_cfa_offset(run, unscaled_uleb(run));
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		def_cfa_offset(run, scaled(run, cfi_bytes__sleb(code)));
		return 0;
	case DW_CFA_def_cfa_expression:
		run->state.cfa = cfi_place__read_cfa(read_block(run));
		return 0;
	default:
		return -EINVAL;
	}
}

/* Where a register is: its number, then what the instruction says of it. */
static int step_reg(struct run *run, __u8 op)
{
	struct cfi_bytes *code = &run->code;
	__u64 reg = cfi_bytes__uleb(code);
	struct cfi_place place = {};

	switch (op) {
	case DW_CFA_offset_extended:
		place = (struct cfi_place) { .kind = CFI_AT_CFA, .off = scaled_uleb(run) };
		break;
	case DW_CFA_offset_extended_sf:
		place.kind = CFI_AT_CFA;
		place.off = scaled(run, cfi_bytes__sleb(code));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		place.off = scaled_uleb(run);
		if (place.off != INT64_MIN) {
			place.kind = CFI_AT_CFA;
			place.off = -place.off;
		}
		break;
	case DW_CFA_val_offset:
		place = (struct cfi_place) { .kind = CFI_VAL_CFA, .off = scaled_uleb(run) };
		break;
	case DW_CFA_val_offset_sf:
		place.kind = CFI_VAL_CFA;
		place.off = scaled(run, cfi_bytes__sleb(code));
		break;
	case DW_CFA_undefined:
		place.kind = CFI_UNDEFINED;
		break;
	case DW_CFA_same_value:
		place.kind = CFI_SAME;
		break;
	case DW_CFA_register:
		place = (struct cfi_place) { .kind = CFI_IN_REG, .reg = cfi_bytes__uleb(code) };
		break;
	case DW_CFA_expression:
		place = cfi_place__read_saved(read_block(run));
		break;
	case DW_CFA_val_expression:
		read_block(run);
		break;
	case DW_CFA_restore_extended:
		restore_place(run, reg);
		return 0;
	default:
		return -EINVAL;
	}
	set_place(run, reg, place);
	return 0;
}

static int step_extended(struct run *run, __u8 op)
{
	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		return set_loc(run);
	case DW_CFA_advance_loc1:
		return advance(run, cfi_bytes__u8(&run->code));
	case DW_CFA_advance_loc2:
		return advance(run, cfi_bytes__u16(&run->code));
	case DW_CFA_advance_loc4:
		return advance(run, cfi_bytes__u32(&run->code));
	case DW_CFA_MIPS_advance_loc8:
		return advance(run, cfi_bytes__u64(&run->code));
	case DW_CFA_remember_state:
		return remember(run);
	case DW_CFA_restore_state:
		return restore(run);
	case DW_CFA_GNU_args_size:
		cfi_bytes__uleb(&run->code);
		return 0;
	case DW_CFA_def_cfa ... DW_CFA_def_cfa_expression:
	case DW_CFA_def_cfa_sf ... DW_CFA_def_cfa_offset_sf:
		return step_cfa(run, op);
	default:
		return step_reg(run, op);
	}
}

static int step(struct run *run)
{
	__u8 op = cfi_bytes__u8(&run->code);
	int err = 0;

	switch (PRIMARY(op)) {
	case DW_CFA_advance_loc:
		err = advance(run, OPERAND(op));
		break;
	case DW_CFA_offset:
		set_place(run, OPERAND(op), (struct cfi_place) {
			.kind = CFI_AT_CFA, .off = scaled_uleb(run) });
		break;
	case DW_CFA_restore:
		restore_place(run, OPERAND(op));
		break;
	default:
		err = step_extended(run, op);
		break;
	}
	return run->code.bad ? -EINVAL : err;
}

static int run_all(struct run *run)
{
	int err = 0;

	while (!err && !run->done && !run->emitted && run->code.pos < run->code.end)
		err = step(run);
	return err;
}

static void init_run(struct run *run, const struct cfi_program *prog, const struct cfi_cie *cie,
		     const struct cfi_bytes *code)
{
	run->prog = prog;
	run->cie = cie;
	run->code = *code;
	run->state = cie->initial;
	run->nr_remembered = 0;
	run->loc = prog ? prog->start : 0;
	run->done = false;
	run->emitted = 0;
}

int cfi_cie__run(struct cfi_cie *cie, struct cfi_bytes code)
{
	struct run run;
	int err;

	cie->initial = (struct cfi_state) {
		.bp.kind = CFI_SAME, .bx.kind = CFI_SAME, .sp.kind = CFI_SAME,
	};
	init_run(&run, NULL, cie, &code);
	err = run_all(&run);
	if (!err)
		cie->initial = run.state;
	return err;
}

int cfi_program__run(const struct cfi_program *prog, cfi_emit_fn emit, void *ctx)
{
	const struct walk_rule nothing = {};
	struct run run;
	int err;

	init_run(&run, prog, prog->cie, &prog->code);
	run.emit = emit;
	run.ctx = ctx;
	err = run_all(&run);
	if (err)
		emit_rule(&run, &nothing);
	else if (!run.done)
		emit_state(&run);
	return run.emitted;
}
