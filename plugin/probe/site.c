// SPDX-License-Identifier: GPL-2.0-only
/*
 * A uprobe replaces an instruction by int3. What the kernel then cannot emulate it single-steps out
 * of line, which costs ten times as much. It emulates (arch/x86/kernel/uprobes.c, the same in 6.1
 * and 6.12; later ones know multi-byte nops, too):
 *
 *	branch_setup_xol_ops: jmp rel, call rel32, jcc rel, nop (opcode 90 with any prefix); branches
 *			      not with the prefix 66
 *	push_setup_xol_ops:   push r64, with no prefix but REX.B
 *
 * So from the entry we walk over instructions that leave the arguments and the stack pointer alone,
 * up to the first of these. It may be the branch that ends the unconditional path, as in glibc's
 * free: test %rdi,%rdi; je.
 */
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "site.h"

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const ZydisDecoder *decoder, const struct site_code *code, size_t pos,
		   struct decoded *ret)
{
	return pos < code->nr_bytes &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code->bytes + pos,
						   code->nr_bytes - pos, &ret->insn, ret->ops));
}

static void init_decoder(ZydisDecoder *decoder)
{
	/* Cannot fail with these constants. */
	ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static bool has_prefix(const ZydisDecodedInstruction *insn, ZyanU8 prefix)
{
	for (unsigned int i = 0; i < insn->raw.prefix_count; i++) {
		if (insn->raw.prefixes[i].value == prefix)
			return true;
	}
	return false;
}

static bool is_jcc(const ZydisDecodedInstruction *insn)
{
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return (insn->opcode & 0xf0) == 0x70;
	return insn->opcode_map == ZYDIS_OPCODE_MAP_0F && (insn->opcode & 0xf0) == 0x80;
}

static bool is_emulated_branch(const ZydisDecodedInstruction *insn)
{
	bool plain = insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
		     (insn->opcode == 0xe8 || insn->opcode == 0xe9 || insn->opcode == 0xeb);

	return (plain || is_jcc(insn)) && !has_prefix(insn, 0x66);
}

static bool is_emulated_push(const ZydisDecodedInstruction *insn, const __u8 *bytes)
{
	if (insn->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || (insn->opcode & 0xf8) != 0x50)
		return false;
	return insn->length == 1 || (insn->length == 2 && bytes[0] == 0x41);
}

static bool is_emulated(const ZydisDecodedInstruction *insn, const __u8 *bytes)
{
	/* 41 90 is xchg %r8d,%eax, which the kernel would take for a nop: the mnemonic decides. */
	bool nop = insn->mnemonic == ZYDIS_MNEMONIC_NOP && insn->opcode == 0x90 &&
		   insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;

	return nop || is_emulated_branch(insn) || is_emulated_push(insn, bytes);
}

static ZydisRegister whole_register(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

static bool writes_register(const struct decoded *d, ZydisRegister reg)
{
	for (unsigned int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *op = &d->ops[i];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    whole_register(op->reg.value) == reg)
			return true;
	}
	return false;
}

/* Bit n: it writes argument n. */
static unsigned int written_args(const struct decoded *d)
{
	static const ZydisRegister args[] = {
		ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
	};
	unsigned int written = 0;

	for (unsigned int i = 0; i < sizeof(args) / sizeof(args[0]); i++)
		written |= writes_register(d, args[i]) << i;
	return written;
}

/* Does this change what the caller put there? */
static bool writes_kept_register(const struct decoded *d, unsigned int nr_args)
{
	return writes_register(d, ZYDIS_REGISTER_RSP) || written_args(d) & ((1U << nr_args) - 1);
}

/* Does the next instruction in memory always follow? */
static bool falls_through(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
		return false;
	default:
		return insn->mnemonic != ZYDIS_MNEMONIC_UD0 &&
		       insn->mnemonic != ZYDIS_MNEMONIC_UD1 &&
		       insn->mnemonic != ZYDIS_MNEMONIC_UD2;
	}
}

/* Bytes from the entry to the first emulated instruction that will do, or -1. */
static int find_emulated(const ZydisDecoder *decoder, const struct site_code *code,
			 unsigned int nr_args)
{
	size_t end = code->fn_bytes ? code->fn_bytes : code->nr_bytes;
	struct decoded d;

	for (size_t pos = 0; pos < SITE_MAX_DELTA && pos < end; pos += d.insn.length) {
		if (!decode(decoder, code, pos, &d))
			return -1;
		if (is_emulated(&d.insn, code->bytes + pos))
			return pos;
		if (!falls_through(&d.insn) || writes_kept_register(&d, nr_args))
			return -1;
	}
	return -1;
}

static bool branch_target(const struct decoded *d, __u64 insn_vaddr, __u64 *ret, bool *is_slot)
{
	const ZydisDecodedOperand *op = &d->ops[0];
	ZyanU64 target;

	if (d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE || !d->insn.operand_count)
		return false;
	*is_slot = op->type == ZYDIS_OPERAND_TYPE_MEMORY;
	if (*is_slot && op->mem.base != ZYDIS_REGISTER_RIP)
		return false;
	if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d->insn, op, insn_vaddr, &target)))
		return false;
	*ret = target;
	return true;
}

static bool taken_address(const struct decoded *d, __u64 insn_vaddr, __u64 *ret)
{
	ZyanU64 target;

	if (d->insn.mnemonic != ZYDIS_MNEMONIC_LEA || d->ops[1].mem.base != ZYDIS_REGISTER_RIP ||
	    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d->insn, &d->ops[1], insn_vaddr, &target)))
		return false;
	*ret = target;
	return true;
}

static bool find_reference(const struct decoded *d, __u64 insn_vaddr, __u64 *target,
			   enum site_reference *kind)
{
	bool is_slot;

	if (branch_target(d, insn_vaddr, target, &is_slot)) {
		*kind = is_slot ? SITE_SLOT : SITE_BRANCH;
		return true;
	}
	*kind = SITE_ADDRESS;
	return taken_address(d, insn_vaddr, target);
}

bool site__each_reference(const struct site_code *code,
			  bool (*visit)(void *ctx, __u64 target, enum site_reference kind),
			  void *ctx)
{
	size_t end = code->fn_bytes ? code->fn_bytes : code->nr_bytes;
	enum site_reference kind;
	ZydisDecoder decoder;
	struct decoded d;
	__u64 target;

	init_decoder(&decoder);
	for (size_t pos = 0; pos < end && decode(&decoder, code, pos, &d); pos += d.insn.length) {
		if (find_reference(&d, code->vaddr + pos, &target, &kind) &&
		    visit(ctx, target, kind))
			return true;
	}
	return false;
}

struct branch_visit {
	bool (*visit)(void *ctx, __u64 target, bool is_slot);
	void *ctx;
};

static bool visit_branch(void *ctx, __u64 target, enum site_reference kind)
{
	const struct branch_visit *v = ctx;

	return kind != SITE_ADDRESS && v->visit(v->ctx, target, kind == SITE_SLOT);
}

bool site__each_branch(const struct site_code *code,
		       bool (*visit)(void *ctx, __u64 target, bool is_slot), void *ctx)
{
	struct branch_visit v = { visit, ctx };

	return site__each_reference(code, visit_branch, &v);
}

bool site__sets_args(const struct site_code *code, __u64 target, unsigned int nr_args)
{
	unsigned int wanted = (1U << nr_args) - 1, set = 0;
	ZydisDecoder decoder;
	struct decoded d;

	init_decoder(&decoder);
	for (size_t pos = 0; decode(&decoder, code, pos, &d); pos += d.insn.length) {
		bool is_slot;
		__u64 to;

		if (falls_through(&d.insn)) {
			set |= written_args(&d);
			continue;
		}
		if ((set & wanted) == wanted &&
		    branch_target(&d, code->vaddr + pos, &to, &is_slot) && !is_slot && to == target)
			return true;
		set = 0;
	}
	return false;
}

bool site__tail_jump(const struct site_code *code, __u64 *ret, bool *is_slot)
{
	size_t end = code->fn_bytes ? code->fn_bytes : code->nr_bytes;
	ZydisDecoder decoder;
	struct decoded d;

	init_decoder(&decoder);
	for (size_t pos = 0; pos < end && decode(&decoder, code, pos, &d); pos += d.insn.length) {
		if (!falls_through(&d.insn))
			return d.insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
			       branch_target(&d, code->vaddr + pos, ret, is_slot);
	}
	return false;
}

struct range {
	__u64 first, last;
};

static bool is_in_range(void *ctx, __u64 target, bool is_slot)
{
	const struct range *range = ctx;

	return !is_slot && target >= range->first && target <= range->last;
}

/* A loop back to behind the entry would make one call hit the site twice. */
static bool is_loop_target(const struct site_code *code, size_t delta)
{
	struct range behind_entry = { code->vaddr + 1, code->vaddr + delta };

	return delta && code->fn_bytes && site__each_branch(code, is_in_range, &behind_entry);
}

static bool init_formatter(ZydisFormatter *formatter)
{
	return ZYAN_SUCCESS(ZydisFormatterInit(formatter, ZYDIS_FORMATTER_STYLE_ATT)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(formatter,
						      ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
						      ZYDIS_PADDING_DISABLED)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(formatter,
						      ZYDIS_FORMATTER_PROP_HEX_UPPERCASE,
						      ZYAN_FALSE));
}

static void describe_insn(const ZydisDecoder *decoder, const struct site_code *code, struct site *site)
{
	ZydisFormatter formatter;
	struct decoded d;

	snprintf(site->insn, sizeof(site->insn), "?");
	if (!decode(decoder, code, site->delta, &d))
		return;
	if (!init_formatter(&formatter))
		return;
	/* Text that does not fit is cut, but always terminated. */
	ZydisFormatterFormatInstruction(&formatter, &d.insn, d.ops, d.insn.operand_count_visible,
					site->insn, sizeof(site->insn), code->vaddr + site->delta,
					NULL);
	site->insn[sizeof(site->insn) - 1] = '\0';
}

/*
 * Newer kernels replace a probed nop of 5 bytes (and later of 10) by a call into a page that a forked
 * child does not have: it crashes at its first hit (seen on 6.18, with perf's own uprobes, too).
 */
static size_t behind_long_nops(const ZydisDecoder *decoder, const struct site_code *code)
{
	size_t pos = 0;
	struct decoded d;

	while (decode(decoder, code, pos, &d) && d.insn.mnemonic == ZYDIS_MNEMONIC_NOP &&
	       d.insn.length >= 5)
		pos += d.insn.length;
	return decode(decoder, code, pos, &d) ? pos : 0;
}

void site__choose(const struct site_code *code, unsigned int nr_args, struct site *ret)
{
	ZydisDecoder decoder;
	int delta;

	memset(ret, 0, sizeof(*ret));
	init_decoder(&decoder);
	delta = find_emulated(&decoder, code, nr_args);
	if (delta >= 0 && !is_loop_target(code, delta)) {
		ret->delta = delta;
		ret->emulated = true;
	} else {
		ret->delta = behind_long_nops(&decoder, code);
	}
	describe_insn(&decoder, code, ret);
}
