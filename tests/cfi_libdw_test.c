// SPDX-License-Identifier: GPL-2.0-only
// timeout: 300
/*
 * cfi_libdw_test.c - the rules of real files are what libdw makes of the same CFI.
 *
 * All of the address space is compared: each row of ours, at each place where libdw sees a new one.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "stack/cfi.h"

#define LIBS	"/lib/x86_64-linux-gnu/"
/* In code without CFI libdw cannot say how far that goes. */
#define GAP_STEP	64

struct compared {
	const struct cfi_table *table;
	Dwarf_CFI *cfi;
	__u64 entry;
	size_t nr_places, nr_unknown, nr_lost_regs, nr_wrong;
};

/* ------------------------------------------------------------------ what libdw says, as a rule */

static bool is_op(const Dwarf_Op *op, __u8 atom, __u64 number)
{
	return op->atom == atom && op->number == number;
}

/* Its linker writes only this one. */
static bool is_plt(const Dwarf_Op *ops, size_t nr)
{
	return nr == 9 && is_op(&ops[0], DW_OP_breg7, 8) && is_op(&ops[1], DW_OP_breg16, 0) &&
	       ops[2].atom == DW_OP_lit15 && ops[3].atom == DW_OP_and &&
	       ops[4].atom == DW_OP_lit11 && ops[5].atom == DW_OP_ge &&
	       ops[6].atom == DW_OP_lit3 && ops[7].atom == DW_OP_shl && ops[8].atom == DW_OP_plus;
}

static int cfa_of_reg(__u64 reg)
{
	return reg == 7 ? WALK_CFA_SP : reg == 6 ? WALK_CFA_BP : reg == 3 ? WALK_CFA_BX :
	       reg == 0 ? WALK_CFA_RAX : reg == 10 ? WALK_CFA_R10 : reg == 11 ? WALK_CFA_R11 :
	       WALK_CFA_UNKNOWN;
}

static int cfa_at_reg(__u64 reg)
{
	return reg == 7 ? WALK_CFA_AT_SP : reg == 6 ? WALK_CFA_AT_BP : WALK_CFA_UNKNOWN;
}

static void want_cfa(const Dwarf_Op *ops, size_t nr, struct walk_rule *want)
{
	bool adds = nr == 3 && ops[2].atom == DW_OP_plus_uconst;

	if (is_plt(ops, nr)) {
		want->cfa = WALK_CFA_PLT;
		want->cfa_off = 8;
		want->cfa_add = 11;
	} else if (nr == 1 && ops[0].atom == DW_OP_bregx) {
		want->cfa = cfa_of_reg(ops[0].number);
		want->cfa_off = (int)ops[0].number2;
	} else if ((nr == 2 || adds) && ops[1].atom == DW_OP_deref) {
		want->cfa = cfa_at_reg((__u64)ops[0].atom - DW_OP_breg0);
		want->cfa_off = (int)ops[0].number;
		want->cfa_add = adds ? ops[2].number : 0;
	}
}

/* @where: enum walk_reg; WALK_REG_UNKNOWN also for what only the return address may be. */
static void want_saved(const Dwarf_Op *ops, size_t nr, __u8 *where, __s16 *off)
{
	*where = WALK_REG_UNKNOWN;
	if (!ops) {
		*where = WALK_REG_SAME;
	} else if (nr == 1 && ops[0].atom == DW_OP_call_frame_cfa) {
		*where = WALK_REG_CFA;
	} else if (nr == 2 && ops[0].atom == DW_OP_call_frame_cfa) {
		*where = ops[1].atom == DW_OP_plus_uconst ? WALK_REG_CFA :
			 ops[1].atom == DW_OP_breg6 ? WALK_REG_BP :
			 ops[1].atom == DW_OP_breg7 ? WALK_REG_SP : WALK_REG_UNKNOWN;
		*off = *where == WALK_REG_UNKNOWN ? 0 : ops[1].number;
	}
}

static void want_ra(const Dwarf_Op *ops, size_t nr, struct walk_rule *want)
{
	__s16 off = 0;
	__u8 where;

	want_saved(ops, nr, &where, &off);
	want->ra = where == WALK_REG_CFA ? WALK_RA_CFA : WALK_RA_UNKNOWN;
	want->ra_off = where == WALK_REG_CFA ? off : 0;
	if (ops && nr == 1 && is_op(&ops[0], DW_OP_regx, 5))
		want->ra = WALK_RA_RDI;
	if (ops && !nr)
		want->cfa = WALK_CFA_END;
}

static bool is_caller_sp(const Dwarf_Op *ops, size_t nr)
{
	return nr == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value;
}

static void want_rule(Dwarf_Frame *frame, bool is_signal, struct walk_rule *want)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	*want = (struct walk_rule) {};
	if (dwarf_frame_cfa(frame, &ops, &nr))
		return;
	want_cfa(ops, nr, want);
	dwarf_frame_register(frame, 7, mem, &ops, &nr);
	if (is_signal)
		want->cfa = WALK_CFA_SIGNAL;
	else if (!is_caller_sp(ops, nr))
		want->cfa = WALK_CFA_UNKNOWN;
	dwarf_frame_register(frame, 16, mem, &ops, &nr);
	want_ra(ops, nr, want);
	if (want->cfa == WALK_CFA_UNKNOWN || want->cfa >= WALK_CFA_SIGNAL) {
		*want = (struct walk_rule) { .cfa = want->cfa };
		return;
	}
	dwarf_frame_register(frame, 6, mem, &ops, &nr);
	want_saved(ops, nr, &want->bp, &want->bp_off);
	/* Unless told, libdw takes rbx for lost: its table of saved registers has rax instead. */
	if (dwarf_frame_register(frame, 3, mem, &ops, &nr) || (ops && !nr))
		return;
	want_saved(ops, nr, &want->bx, &want->bx_off);
}

/* ------------------------------------------------------------------ comparison */

static void show(const char *who, const struct walk_rule *rule)
{
	printf("#   %s: cfa %d %d %d ra %d %d bp %d %d bx %d %d\n", who, rule->cfa, rule->cfa_off,
	       rule->cfa_add, rule->ra, rule->ra_off, rule->bp, rule->bp_off, rule->bx,
	       rule->bx_off);
}

static void compare_rule(struct compared *c, __u64 pc, const struct walk_rule *got,
			 const struct walk_rule *want)
{
	struct walk_rule masked = *got;

	/* FDEs' first instructions are cfi_test.c's. */
	if (masked.cfa == WALK_CFA_END)
		masked.cfa_add = 0;
	if (!memcmp(&masked, want, sizeof(*want)))
		return;
	if (c->nr_wrong++ < 10) {
		printf("# at %#llx\n", (unsigned long long)pc);
		show("libdw", want);
		show("  we", got);
	}
}

/* One place; returns how far libdw's answer holds. */
static __u64 compare_at(struct compared *c, __u64 pc, const struct walk_rule *got)
{
	Dwarf_Addr start, end = pc + GAP_STEP;
	struct walk_rule want = {};
	Dwarf_Frame *frame;
	bool is_signal;

	c->nr_places++;
	if (!dwarf_cfi_addrframe(c->cfi, pc, &frame)) {
		dwarf_frame_info(frame, &start, &end, &is_signal);
		want_rule(frame, is_signal, &want);
		c->nr_unknown += want.cfa == WALK_CFA_UNKNOWN;
		c->nr_lost_regs += want.cfa && (want.ra == WALK_RA_UNKNOWN ||
						want.bp == WALK_REG_UNKNOWN ||
						want.bx == WALK_REG_UNKNOWN);
		free(frame);
	} else if (c->entry && pc >= c->entry && pc < c->entry + 4096 && got->cfa) {
		want.cfa = WALK_CFA_END;
	}
	compare_rule(c, pc, got, &want);
	return end > pc ? end : pc + 1;
}

static void compare_row(struct compared *c, size_t nth)
{
	const struct cfi_row *row = &c->table->rows[nth];
	__u64 end = nth + 1 < c->table->nr_rows ? row[1].vaddr : row->vaddr + 4096;
	__u64 pc = row->vaddr;

	while (pc < end)
		pc = compare_at(c, pc, &c->table->rules[row->rule]);
	compare_at(c, end - 1, &c->table->rules[row->rule]);
}

FIXTURE(libdw) {
	struct compared c;
	struct cfi_table *table;
	Dwfl *dwfl;
	glob_t files;
	int fd;
};

FIXTURE_VARIANT(libdw) {
	const char *pattern;		/* its first match */
	int every;			/* compare each N-th row */
};

#define FILE_TO_COMPARE(name, ...) FIXTURE_VARIANT_ADD(libdw, name) { __VA_ARGS__ }

FILE_TO_COMPARE(libc, LIBS "libc.so.6", 1);
FILE_TO_COMPARE(loader, LIBS "ld-linux-x86-64.so.2", 1);
FILE_TO_COMPARE(libstdcxx, LIBS "libstdc++.so.6", 1);
FILE_TO_COMPARE(libm, LIBS "libm.so.6", 1);
FILE_TO_COMPARE(libcrypto, LIBS "libcrypto.so.*", 1);
FILE_TO_COMPARE(python, "/usr/bin/python3", 1);
FILE_TO_COMPARE(clang, LIBS "libclang-cpp.so*", 64);

/* For registers that CFI does not mention, libdw knows the ABI, which libdwfl tells it. */
FIXTURE_SETUP(libdw)
{
	static const Dwfl_Callbacks callbacks = {
		.section_address = dwfl_offline_section_address,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	GElf_Ehdr ehdr;
	Dwfl_Module *mod;
	GElf_Addr bias;

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, glob(variant->pattern, 0, NULL, &self->files));
	self->fd = open(self->files.gl_pathv[0], O_RDONLY);
	ASSERT_LE(0, self->fd);
	self->dwfl = dwfl_begin(&callbacks);
	mod = dwfl_report_offline(self->dwfl, "", self->files.gl_pathv[0], -1);
	dwfl_report_end(self->dwfl, NULL, NULL);
	ASSERT_NE(NULL, mod);
	self->c.cfi = dwfl_module_eh_cfi(mod, &bias);
	ASSERT_NE(NULL, self->c.cfi);
	ASSERT_NE(NULL, gelf_getehdr(dwfl_module_getelf(mod, &bias), &ehdr));
	self->c.entry = ehdr.e_entry;
	ASSERT_EQ(0, cfi_table__new(self->fd, &self->table));
	self->c.table = self->table;
}

FIXTURE_TEARDOWN(libdw)
{
	cfi_table__free(self->table);
	dwfl_end(self->dwfl);
	globfree(&self->files);
	close(self->fd);
}

TEST_F_TIMEOUT(libdw, says_the_same, 250)
{
	struct compared *c = &self->c;
	const struct cfi_table *t = c->table;

	ASSERT_LT(0, t->nr_rows);
	compare_at(c, t->rows[0].vaddr - 1, &t->rules[0]);
	for (size_t i = 0; i < t->nr_rows; i += variant->every)
		compare_row(c, i);
	printf("# %s: %zu rows, %zu rules; of %zu places, no rule can say %zu, and part of %zu\n",
	       self->files.gl_pathv[0], t->nr_rows, t->nr_rules, c->nr_places, c->nr_unknown,
	       c->nr_lost_regs);
	EXPECT_EQ(0, c->nr_wrong);
	EXPECT_LT(10 * c->nr_unknown, c->nr_places);
}

TEST_F(libdw, rows_are_sorted_and_each_says_something_new)
{
	const struct cfi_table *t = self->table;
	const struct walk_rule nothing = {};

	EXPECT_EQ(0, memcmp(&nothing, &t->rules[0], sizeof(nothing)));
	EXPECT_NE(0, t->rows[0].rule);
	EXPECT_EQ(0, t->rows[t->nr_rows - 1].rule);
	for (size_t i = 1; i < t->nr_rows; i++) {
		ASSERT_GT(t->rows[i].vaddr, t->rows[i - 1].vaddr);
		ASSERT_NE(t->rows[i].rule, t->rows[i - 1].rule);
		ASSERT_LT(t->rows[i].rule, t->nr_rules);
	}
}

TEST_HARNESS_MAIN
