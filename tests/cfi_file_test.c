// SPDX-License-Identifier: GPL-2.0-only
/*
 * cfi_file_test.c - where CFI is in a file, and its entries byte by byte.
 */
#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "cfi_build.h"
#include "kselftest_harness.h"

FIXTURE(file) { struct built b; };
FIXTURE_SETUP(file) { memset(self, 0, sizeof(*self)); }
FIXTURE_TEARDOWN(file) { remove_built(&self->b); }

/* ------------------------------------------------------------------ sections */

#define TWO_ROWS	FN("a", NOPS(1) PUSH NOPS(14))

static void expect_two_rows(struct __test_metadata *_metadata, const struct cfi_table *t)
{
	ASSERT_EQ(3, t->nr_rows);
	EXPECT_RULE(t, TEXT, CALLED);
	EXPECT_RULE(t, TEXT + 2, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8,
		    .bp = WALK_REG_CFA, .bp_off = -16);
	EXPECT_RULE(t, TEXT + 16, 0);
}

TEST_F(file, debug_frame_will_do)
{
	ASSERT_EQ(0, compile(&self->b, ".cfi_sections .debug_frame\n" TWO_ROWS, ""));
	expect_two_rows(_metadata, self->b.table);
}

TEST_F(file, debug_frame_may_be_compressed_by_zlib)
{
	ASSERT_EQ(0, compile(&self->b, ".cfi_sections .debug_frame\n" TWO_ROWS FN("b", NOPS(1))
			     FN("c", NOPS(1)) FN("d", NOPS(1)) FN("e", NOPS(1)),
			     "--compress-debug-sections=zlib"));
	EXPECT_EQ(0, run("readelf -t %s/a | grep -q %s", self->b.dir, "ZLIB"));
	EXPECT_RULE(self->b.table, TEXT + 2, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8,
		    .bp = WALK_REG_CFA, .bp_off = -16);
	EXPECT_RULE(self->b.table, TEXT + 19, CALLED);
}

TEST_F(file, debug_frame_may_be_compressed_by_zstd)
{
	ASSERT_EQ(0, compile(&self->b, ".cfi_sections .debug_frame\n" TWO_ROWS FN("b", NOPS(1))
			     FN("c", NOPS(1)) FN("d", NOPS(1)) FN("e", NOPS(1)),
			     "--compress-debug-sections=zstd"));
	EXPECT_EQ(0, run("readelf -t %s/a | grep -q %s", self->b.dir, "ZSTD"));
	EXPECT_RULE(self->b.table, TEXT + 2, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8,
		    .bp = WALK_REG_CFA, .bp_off = -16);
	EXPECT_RULE(self->b.table, TEXT + 19, CALLED);
}

/* A Go program with C in it: each has its own section. */
TEST_F(file, debug_frame_fills_what_eh_frame_leaves)
{
	static const char raw[] =
		FN("a", NOPS(16)) "nop\nnop\n"
		".section .debug_frame,\"\",@progbits\n"
		"0: .long 3f - 1f\n1: .long -1\n.byte 1, 0, 1, 0x78, 16, 0x0c, 7, 16, 0x90, 1\n3:\n"
		".long 4f - 2f\n2: .long 0\n.quad 0x10008, 10, 0\n4:\n";

	ASSERT_EQ(0, compile(&self->b, raw, ""));
	EXPECT_RULE(self->b.table, TEXT + 15, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 16, .cfa = WALK_CFA_SP, .cfa_off = 16, .ra_off = -8);
	EXPECT_RULE(self->b.table, TEXT + 18, 0);
}

/* The file in memory, with its section headers gone. */
static __u8 *read_all(const struct built *b, size_t *bytes)
{
	struct stat st;
	__u8 *image;

	if (fstat(b->fd, &st))
		abort();
	image = malloc(st.st_size);
	if (!image || pread(b->fd, image, st.st_size, 0) != st.st_size)
		abort();
	*bytes = st.st_size;
	return image;
}

TEST_F(file, section_headers_are_not_needed)
{
	struct cfi_table *t = NULL;
	Elf64_Ehdr *ehdr;
	size_t bytes;
	__u8 *image;

	ASSERT_EQ(0, compile(&self->b, TWO_ROWS, ""));
	image = read_all(&self->b, &bytes);
	ehdr = (Elf64_Ehdr *)image;
	ehdr->e_shoff = ehdr->e_shnum = ehdr->e_shstrndx = 0;
	ASSERT_EQ(0, cfi_table__new_image(image, bytes, &t));
	expect_two_rows(_metadata, t);
	cfi_table__free(t);
	free(image);
}

TEST_F(file, memory_will_do)
{
	struct cfi_table *t = NULL;
	size_t bytes;
	__u8 *image;

	ASSERT_EQ(0, compile(&self->b, TWO_ROWS, ""));
	image = read_all(&self->b, &bytes);
	ASSERT_EQ(0, cfi_table__new_image(image, bytes, &t));
	expect_two_rows(_metadata, t);
	cfi_table__free(t);
	free(image);
}

TEST(the_vdso_has_cfi)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0, end = 0;
	struct cfi_table *t = NULL;
	char line[512];

	ASSERT_NE(NULL, maps);
	while (!end && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			sscanf(line, "%lx-%lx", &start, &end);
	fclose(maps);
	if (!end)
		SKIP(return, "no vDSO");
	ASSERT_EQ(0, cfi_table__new_image((const void *)start, end - start, &t));
	EXPECT_LT(2, t->nr_rows);
	EXPECT_RULE(t, t->rows[0].vaddr, CALLED);
	cfi_table__free(t);
}

TEST_F(file, files_cut_anywhere_are_survived)
{
	size_t bytes;
	__u8 *image;

	ASSERT_EQ(0, compile(&self->b, TWO_ROWS, ""));
	image = read_all(&self->b, &bytes);
	for (size_t cut = 0; cut < bytes; cut++) {
		__u8 *part = malloc(cut ?: 1);	/* of its own: ASan sees reads past its end */
		struct cfi_table *t = NULL;
		int err;

		memcpy(part, image, cut);
		err = cfi_table__new_image(part, cut, &t);
		EXPECT_TRUE(err == -ENOEXEC || err == -ENODATA || (!err && t));
		cfi_table__free(t);
		free(part);
	}
	free(image);
}

/* ------------------------------------------------------------------ entries, byte by byte */

/* In .debug_frame, so that no linker touches them. */
#define CODE		".globl a\na: " NOPS(64) ".section .debug_frame,\"\",@progbits\n"
#define ENTRY(id, ...)	".long 9f - 8f\n8: .long " id "\n" __VA_ARGS__ "\n9:\n"
#define CIE_HEAD(letters) ".byte 1\n.asciz \"" letters "\"\n.byte 1, 0x78, 16\n"
#define CIE_TAIL	".byte 0x0c, 7, 8, 0x90, 1\n"
#define CIE(letters, data) ENTRY("-1", CIE_HEAD(letters) data CIE_TAIL)

FIXTURE(raw) { struct built b; };
FIXTURE_VARIANT(raw) {
	const char *text;
	int err;			/* else code at TEXT, 16 bytes of it, has CFI */
};

FIXTURE_SETUP(raw) { memset(self, 0, sizeof(*self)); }
FIXTURE_TEARDOWN(raw) { remove_built(&self->b); }

TEST_F(raw, entries)
{
	ASSERT_EQ(variant->err, compile(&self->b, variant->text, ""));
	if (variant->err)
		return;
	ASSERT_EQ(2, self->b.table->nr_rows);
	EXPECT_RULE(self->b.table, TEXT, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 15, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 16, 0);
}

#define RAW(name, code, want)	FIXTURE_VARIANT_ADD(raw, name) { .text = CODE code, .err = want }

RAW(plain, CIE("", "") ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(udata2_cannot_reach, CIE("zR", ".byte 1, 0x02\n") ENTRY("0", ".short 0xff00, 16\n.byte 0"),
    -ENODATA);
RAW(udata4, CIE("zR", ".byte 1, 0x03\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"), 0);
RAW(sdata4, CIE("zR", ".byte 1, 0x0b\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"), 0);
RAW(udata8, CIE("zR", ".byte 1, 0x04\n") ENTRY("0", ".quad 0x10000, 16\n.byte 0"), 0);
RAW(uleb128, CIE("zR", ".byte 1, 0x01\n") ENTRY("0", ".byte 0x80, 0x80, 0x04, 16\n.byte 0"), 0);
RAW(sleb128, CIE("zR", ".byte 1, 0x09\n") ENTRY("0", ".byte 0x80, 0x80, 0x04, 16\n.byte 0"), 0);
RAW(pcrel, CIE("zR", ".byte 1, 0x1b\n")
    ENTRY("0", ".long 0x10000 - 0x1e, 16\n.byte 0"), 0);
RAW(lsda_and_personality, CIE("zPLR", ".byte 7, 0x9b\n.long 77\n.byte 0x1b, 0x03\n")
    ENTRY("0", ".long 0x10000, 16\n.byte 4\n.long 99"), 0);
RAW(unknown_letter_has_its_size, CIE("zRX", ".byte 2, 0x03, 0xff\n")
    ENTRY("0", ".long 0x10000, 16\n.byte 0"), 0);
RAW(letters_without_size, CIE("R", ".byte 0x03\n") ENTRY("0", ".long 0x10000, 16"), -ENODATA);
RAW(data_past_the_end, CIE("zR", ".byte 0x7f, 0x03\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"),
    -ENODATA);
RAW(indirect, CIE("zR", ".byte 1, 0x83\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"), -ENODATA);
RAW(datarel_of_nothing, CIE("zR", ".byte 1, 0x33\n") ENTRY("0", ".long 0x10000, 16\n.byte 0"),
    -ENODATA);
RAW(version_3, ENTRY("-1", ".byte 3, 0, 1, 0x78, 16\n" CIE_TAIL)
    ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(version_4, ENTRY("-1", ".byte 4, 0, 8, 0, 1, 0x78, 16\n" CIE_TAIL)
    ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(version_4_of_32_bit, ENTRY("-1", ".byte 4, 0, 4, 0, 1, 0x78, 16\n" CIE_TAIL)
    ENTRY("0", ".quad 0x10000, 16"), -ENODATA);
RAW(version_9, ENTRY("-1", ".byte 9, 0, 1, 0x78, 16\n" CIE_TAIL) ENTRY("0", ".quad 0x10000, 16"),
    -ENODATA);
RAW(another_return_address_column, ENTRY("-1", ".byte 1, 0, 1, 0x78, 15\n" CIE_TAIL)
    ENTRY("0", ".quad 0x10000, 16"), -ENODATA);
RAW(cie_that_moves, ENTRY("-1", CIE_HEAD("") CIE_TAIL ".byte 0x41\n")
    ENTRY("0", ".quad 0x10000, 16"), -ENODATA);
RAW(cie_behind_its_fde, ENTRY("24", ".quad 0x10000, 16") CIE("", ""), 0);
RAW(cie_that_is_none, CIE("", "") ENTRY("4", ".quad 0x10000, 16"), -ENODATA);
RAW(wide_entries, ".long -1\n.quad 2f - 1f\n1: .quad -1\n" CIE_HEAD("") CIE_TAIL "2:\n"
    ".long -1\n.quad 4f - 3f\n3: .quad 0, 0x10000, 16\n4:\n", 0);
RAW(terminator_is_skipped, CIE("", "") ".long 0, 0\n" ENTRY("0", ".quad 0x10000, 16"), 0);
RAW(length_past_the_end, CIE("", "") ENTRY("0", ".quad 0x10000, 16") ".long 1000\n", 0);
RAW(discarded_code, CIE("", "") ENTRY("0", ".quad 0, 16") ENTRY("0", ".quad 0x9000, 16")
    ENTRY("0", ".quad 0x10000, 16") ENTRY("0", ".quad 0x10000, 0") ENTRY("0", ".quad -1, 16"), 0);
RAW(set_loc, CIE("", "")
    ENTRY("0", ".quad 0x10000, 32\n.byte 1\n.quad 0x10010\n.byte 0x3c"), 0);
RAW(set_loc_backwards, CIE("", "")
    ENTRY("0", ".quad 0x10000, 32\n.byte 0x50, 0x01\n.quad 0x10001\n.byte 0x0e, 16"), 0);
RAW(rows_past_the_end, CIE("", "")
    ENTRY("0", ".quad 0x10000, 16\n.byte 0x50, 0x0e, 16, 0x04\n.long -1\n.byte 0x0e, 24"), 0);
RAW(equal_ones, CIE("", "") ENTRY("0", ".quad 0x10000, 16")
    ENTRY("0", ".quad 0x10000, 16\n.byte 0x0e, 16"), 0);
RAW(overlap_is_clipped, CIE("", "") ENTRY("0", ".quad 0x10004, 12\n.byte 0x48, 0x0e, 8")
    ENTRY("0", ".quad 0x10000, 12"), 0);

TEST_F(file, factors_may_overflow)
{
	ASSERT_EQ(0, compile(&self->b, CODE
			     ENTRY("-1", ".byte 3, 0\n.uleb128 -1\n.sleb128 -1 << 63\n.byte 16\n"
				   CIE_TAIL)
			     ENTRY("0", ".quad 0x10000, 16\n.byte 0x42, 0x0e, 16"), ""));
	EXPECT_RULE(self->b.table, TEXT + 15, .cfa = WALK_CFA_SP, .cfa_off = 8,
		    .ra = WALK_RA_UNKNOWN);
	EXPECT_RULE(self->b.table, TEXT + 16, 0);
}

TEST_F(file, the_later_of_two_that_overlap_is_cut)
{
	ASSERT_EQ(0, compile(&self->b, CODE CIE("", "")
			     ENTRY("0", ".quad 0x10008, 16\n.byte 0x0e, 16, 0x44, 0x0e, 24, 0x44\n"
				   ".byte 0x0e, 32")
			     ENTRY("0", ".quad 0x10000, 14"), ""));
	EXPECT_RULE(self->b.table, TEXT + 13, CALLED);
	EXPECT_RULE(self->b.table, TEXT + 14, .cfa = WALK_CFA_SP, .cfa_off = 24, .ra_off = -8);
	EXPECT_RULE(self->b.table, TEXT + 16, .cfa = WALK_CFA_SP, .cfa_off = 32, .ra_off = -8);
	EXPECT_RULE(self->b.table, TEXT + 24, 0);
	EXPECT_EQ(4, self->b.table->nr_rows);
}

/* ------------------------------------------------------------------ no tables */

TEST_F(file, no_cfi_is_said)
{
	EXPECT_EQ(-ENODATA, compile(&self->b, ".globl a\na: nop\n", ""));
}

TEST(other_files_are_refused)
{
	int dir = open("/tmp", O_RDONLY | O_DIRECTORY), text = open("/etc/passwd", O_RDONLY);
	struct cfi_table *t;

	EXPECT_EQ(-ENOEXEC, cfi_table__new(dir, &t));
	EXPECT_EQ(-ENOEXEC, cfi_table__new(text, &t));
	EXPECT_EQ(-EBADF, cfi_table__new(-1, &t));
	EXPECT_EQ(-ENOEXEC, cfi_table__new_image("", 0, &t));
	close(dir);
	close(text);
}

TEST_F(file, object_files_are_refused)
{
	char path[64];
	int fd;

	build_file(&self->b, TWO_ROWS, "");
	snprintf(path, sizeof(path), "%s/a.o", self->b.dir);
	fd = open(path, O_RDONLY);
	EXPECT_EQ(-ENOEXEC, cfi_table__new(fd, &self->b.table));
	close(fd);
}

TEST_HARNESS_MAIN
