/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * walk_tables.h - what the stack walker (walk.h) reads, and what it leaves.
 *
 * A file's code is cut into pages of 64 KB of virtual address. Each page has sorted rows {low 16
 * bits of the address, rule}, the first of which stands at 0: the rule in force there. Rules are
 * shared by all files. A process has mappings, sorted, without overlap.
 *
 *   mapping --bias--> virtual address --page base--> page --> rows --> rule
 *
 * Only what most code needs is followed: the stack pointer, rbp and rbx. Of the others a rule may
 * use some in the leaf frame only, where the registers are those of the thread.
 *
 * It needs the types __u8 ... __u64, __s16, __s32.
 */
#ifndef PERF_CHURN_BPF_WALK_TABLES_H
#define PERF_CHURN_BPF_WALK_TABLES_H

#define WALK_PAGE_SHIFT		16
#define WALK_CHUNK_ROWS		16384		/* 64 KB */
#define WALK_MAX_PAGE_ROWS	WALK_CHUNK_ROWS
#define WALK_SEARCH_ROWS	15		/* 2^15 > WALK_MAX_PAGE_ROWS */
#define WALK_SEARCH_MAPS	17		/* 2^17 > WALK_MAX_MAPS */
#define WALK_MAX_MAPS		65536		/* mappings of all processes together */
#define WALK_MAX_RULES		65536
#define WALK_MAX_PAGES		131072
#define WALK_MAX_FRAMES		512
#define WALK_WINDOW		64		/* words of stack read at a time */
#define WALK_NR_RETURNS		4

/* One row: the address in the upper half, so that rows sort as numbers. */
#define WALK_ROW(addr16, rule)	((__u32)(addr16) << 16 | (rule))
#define WALK_ROW_ADDR(row)	((row) >> 16)
#define WALK_ROW_RULE(row)	((row) & 0xffff)

/* Where the canonical frame address (CFA: the caller's stack pointer) is. */
enum walk_cfa {
	WALK_CFA_UNKNOWN	= 0,	/* no CFI for this code */
	WALK_CFA_SP,			/* rsp + cfa_off */
	WALK_CFA_BP,
	WALK_CFA_BX,
	WALK_CFA_RAX,			/* these three in the leaf frame only */
	WALK_CFA_R10,
	WALK_CFA_R11,
	WALK_CFA_AT_SP,			/* *(rsp + cfa_off) + cfa_add */
	WALK_CFA_AT_BP,
	WALK_CFA_PLT,			/* rsp + cfa_off, and 8 more where (rip & 15) >= cfa_add */
	WALK_CFA_SIGNAL,		/* rt_sigframe at rsp: all registers from there */
	WALK_CFA_END,			/* the thread starts here: the return address is undefined */
};

/* x86-64 rt_sigframe, from the stack pointer at the return to __restore_rt. */
#define WALK_SIG_BP	120
#define WALK_SIG_BX	128
#define WALK_SIG_SP	160
#define WALK_SIG_IP	168

/* Where the return address is. */
enum walk_ra {
	WALK_RA_CFA		= 0,	/* at CFA + ra_off; nearly always -8 */
	WALK_RA_RDI,			/* in rdi, leaf frame only (glibc's vfork) */
	WALK_RA_UNKNOWN,
};

/* Where the caller's rbp or rbx is. */
enum walk_reg {
	WALK_REG_SAME		= 0,
	WALK_REG_CFA,			/* at CFA + off */
	WALK_REG_BP,			/* at rbp + off (realigned frames) */
	WALK_REG_SP,			/* at rsp + off */
	WALK_REG_UNKNOWN,
};

/* x86-64 rt_sigframe, from the stack pointer at the return to __restore_rt. */
#define WALK_SIG_BP	120
#define WALK_SIG_BX	128
#define WALK_SIG_SP	160
#define WALK_SIG_IP	168

/* Rule 0 is all zero: no CFI. */
struct walk_rule {
	__u8 cfa;			/* enum walk_cfa */
	__u8 ra;			/* enum walk_ra */
	__u8 bp, bx;			/* enum walk_reg */
	__s32 cfa_off;
	__s16 cfa_add;			/* of WALK_CFA_END not 0: see walk__find_rule() */
	__s16 ra_off;
	__s16 bp_off, bx_off;
};
_Static_assert(sizeof(struct walk_rule) == 16, "rules are compared as bytes");

/* Rows of 64 KB of code; count 0: no CFI in there. */
struct walk_page {
	__u32 chunk;
	__u16 start;			/* first row, in the chunk */
	__u16 count;
};

enum walk_map_kind {
	WALK_MAP_PENDING	= 0,	/* its table is still to come */
	WALK_MAP_TABLE,
	WALK_MAP_FP,			/* no CFI at all (JIT, assembly): chain of frame pointers */
};

/* An executable mapping. */
struct walk_map {
	__u64 start, end;		/* [start, end) in the process */
	__u64 bias;			/* address in the process - virtual address in the file */
	__u32 kind;			/* enum walk_map_kind */
	__u32 first_page;		/* virtual address >> 16 of the table's first page */
	__u32 page_base;		/* index of that page among all */
	__u32 nr_pages;
};
_Static_assert(sizeof(struct walk_map) == 40, "both sides lay it out alike");

/* A process: its mappings are [first, first + nr) among all. */
struct walk_proc {
	__u32 first, nr;
	__u64 since_ns;			/* CLOCK_MONOTONIC of the exec that began it; 0: from before */
};

/* Why the walk ended. Append only: counted in the file. */
enum walk_status {
	WALK_END		= 0,	/* at the thread's start */
	WALK_RUNNING,			/* not ended */
	WALK_MAX,			/* as deep as was asked for */
	WALK_NO_MAP,			/* an address in no mapping that is known */
	WALK_PENDING,			/* in a file whose table is not there yet */
	WALK_NO_CFI,			/* in code without CFI, of a file that has some */
	WALK_FAULT,			/* the stack could not be read */
	WALK_STUCK,			/* a frame at or below its callee's */
	WALK_NO_REG,			/* a frame found by a register that is not followed */
	WALK_NO_USER,			/* a kernel thread: nothing to walk */
	WALK_STATUS_NR,
};

/* Registers to start from. */
struct walk_regs {
	__u64 ip, sp, bp, bx;
	__u64 rax, rdi, r10, r11;
};

/* What a walk leaves in a ring: this, then its addresses. */
struct walk_head {
	__u64 event_id;			/* CPU samples: id of the event; 0 for others */
	__u64 period;			/* CPU samples */
	__u32 nr;			/* addresses that follow */
	__u16 status;			/* enum walk_status */
	__u16 is_copy;			/* not addresses follow, but a struct walk_copy */
};
_Static_assert(sizeof(struct walk_head) == 24, "both sides lay it out alike");

/* A stack that is yet to be walked: registers, then bytes of the stack from regs.sp on. */
struct walk_copy {
	struct walk_regs regs;
	__u64 trampoline;
	__u64 returns[WALK_NR_RETURNS];
	__u64 return_sp;
	__u64 hint_sp, hint_ip;
	__u32 bytes;
	__u8 exact, skip_leaf, call_site, pad;
};
_Static_assert(sizeof(struct walk_copy) == 136, "both sides lay it out alike");

#endif /* PERF_CHURN_BPF_WALK_TABLES_H */
