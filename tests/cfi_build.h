/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfi_build.h - assembles CFI and looks at the rules that come of it.
 */
#ifndef PERF_CHURN_TESTS_CFI_BUILD_H
#define PERF_CHURN_TESTS_CFI_BUILD_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stack/cfi.h"

/* Where the linker is told to put code. */
#define TEXT	0x10000

#define RBP	"6"
#define RSP	"7"
#define RIP	"16"

struct built {
	char dir[32];
	struct cfi_table *table;
	int fd;
};

static inline int run(const char *fmt, const char *dir, const char *options)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, dir, options);
	return system(command);
}

static inline void write_source(const struct built *b, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/a.s", b->dir);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* Assemble and link; the file is open in b->fd. */
static inline void build_file(struct built *b, const char *text, const char *ld_options)
{
	char path[64];

	strcpy(b->dir, "/tmp/cfi_test.XXXXXX");
	if (!mkdtemp(b->dir))
		abort();
	write_source(b, text);
	if (run("cd %s && as -o a.o a.s && "
		"ld -shared -Ttext=0x10000 --eh-frame-hdr %s -o a a.o 2>log", b->dir, ld_options))
		abort();
	snprintf(path, sizeof(path), "%s/a", b->dir);
	b->fd = open(path, O_RDONLY);
	if (b->fd < 0)
		abort();
}

static inline int compile(struct built *b, const char *text, const char *ld_options)
{
	build_file(b, text, ld_options);
	return cfi_table__new(b->fd, &b->table);
}

static inline void remove_built(struct built *b)
{
	cfi_table__free(b->table);
	if (!*b->dir)
		return;
	close(b->fd);
	run("rm -r %s%s", b->dir, "");
}

static inline const struct cfi_row *find_row(const struct cfi_table *t, __u64 vaddr)
{
	const struct cfi_row *found = NULL;

	for (size_t i = 0; i < t->nr_rows && t->rows[i].vaddr <= vaddr; i++)
		found = &t->rows[i];
	return found;
}

static inline struct walk_rule rule_at(const struct cfi_table *t, __u64 vaddr)
{
	const struct cfi_row *row = find_row(t, vaddr);

	return t->rules[row ? row->rule : 0];
}

static inline bool starts_at(const struct cfi_table *t, __u64 vaddr)
{
	const struct cfi_row *row = find_row(t, vaddr);

	return row && row->vaddr == vaddr;
}

static inline const char *text_of(struct walk_rule r)
{
	static char texts[2][100];
	static int nth;

	nth ^= 1;
	snprintf(texts[nth], sizeof(texts[nth]), "cfa %d%+d%+d ra %d%+d bp %d%+d bx %d%+d", r.cfa,
		 r.cfa_off, r.cfa_add, r.ra, r.ra_off, r.bp, r.bp_off, r.bx, r.bx_off);
	return texts[nth];
}

#define EXPECT_RULE(table, vaddr, ...) do {					\
	const struct walk_rule want = { __VA_ARGS__ };				\
										\
	EXPECT_STREQ(text_of(want), text_of(rule_at(table, vaddr)));		\
} while (0)

#define CALLED	.cfa = WALK_CFA_SP, .cfa_off = 8, .ra_off = -8

#define NOPS(nr)	".skip " #nr ", 0x90\n"
#define PUSH		"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
#define FN(name, body)	".globl " name "\n" name ": .cfi_startproc\n" body ".cfi_endproc\n"

#endif /* PERF_CHURN_TESTS_CFI_BUILD_H */
