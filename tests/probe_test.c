// SPDX-License-Identifier: GPL-2.0-only
/*
 * The allocator in an object file: this machine's libc, small objects assembled here, damaged ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/churn.h"
#include "kselftest_harness.h"
#include "probe/families.h"
#include "probe/probe.h"
#include "probe/site.h"

#define LIBC	"/lib/x86_64-linux-gnu/libc.so.6"

/* ------------------------------------------------------------------ this machine's libc */

static const struct probe_site *find_site(const struct probe_image *img, const char *symbol)
{
	for (size_t i = 0; i < img->nr_sites; i++) {
		if (!strcmp(img->sites[i].symbol, symbol))
			return &img->sites[i];
	}
	return NULL;
}

FIXTURE(libc) { struct probe_image *img; };

FIXTURE_SETUP(libc)
{
	ASSERT_EQ(0, probe_image__new(LIBC, LIBC, &self->img));
}

FIXTURE_TEARDOWN(libc)
{
	probe_image__free(self->img);
}

TEST_F(libc, is_glibc)
{
	EXPECT_STREQ("glibc", self->img->family);
	EXPECT_STREQ(LIBC, self->img->path);
}

TEST_F(libc, every_site_is_emulated)
{
	ASSERT_LE(8, self->img->nr_sites);
	for (size_t i = 0; i < self->img->nr_sites; i++) {
		EXPECT_TRUE(self->img->sites[i].emulated)
			TH_LOG("%s: %s", self->img->sites[i].symbol, self->img->sites[i].insn);
	}
}

TEST_F(libc, no_offset_twice)
{
	for (size_t i = 0; i < self->img->nr_sites; i++) {
		for (size_t j = 0; j < i; j++)
			EXPECT_NE(self->img->sites[j].offset, self->img->sites[i].offset);
	}
}

TEST_F(libc, functions_are_told_apart)
{
	EXPECT_EQ(CHURN_FN_MALLOC, find_site(self->img, "malloc")->fn);
	EXPECT_EQ(CHURN_FN_CALLOC, find_site(self->img, "calloc")->fn);
	EXPECT_EQ(CHURN_FN_REALLOC, find_site(self->img, "realloc")->fn);
	EXPECT_EQ(CHURN_FN_MEMALIGN, find_site(self->img, "memalign")->fn);
	EXPECT_EQ(CHURN_FN_POSIX_MEMALIGN, find_site(self->img, "posix_memalign")->fn);
	EXPECT_EQ(CHURN_FN_VALLOC, find_site(self->img, "valloc")->fn);
	EXPECT_EQ(CHURN_FN_PVALLOC, find_site(self->img, "pvalloc")->fn);
	EXPECT_EQ(CHURN_FN_FREE, find_site(self->img, "free")->fn);
}

TEST_F(libc, aliases_and_relays_are_left_out)
{
	EXPECT_EQ(NULL, find_site(self->img, "cfree"));
	EXPECT_EQ(NULL, find_site(self->img, "reallocarray"));
}

/* Instructions of one build of glibc; other versions are judged by the tests above. */
TEST_F(libc, sites_of_debian_12)
{
	static const struct {
		const char *symbol, *insn;
		__u32 delta;
	} rows[] = {
		{ "malloc", "push ", 0 }, { "calloc", "push ", 0 }, { "realloc", "push ", 0 },
		{ "memalign", "jz ", 7 }, { "posix_memalign", "push ", 7 }, { "valloc", "push ", 7 },
		{ "pvalloc", "push ", 7 }, { "free", "jz ", 3 },
	};

	if (strcmp(gnu_get_libc_version(), "2.36"))
		return;
	EXPECT_EQ(sizeof(rows) / sizeof(rows[0]), self->img->nr_sites);
	EXPECT_EQ(NULL, find_site(self->img, "aligned_alloc"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct probe_site *site = find_site(self->img, rows[i].symbol);

		ASSERT_NE(NULL, site);
		EXPECT_EQ(rows[i].delta, site->delta) TH_LOG("%s", rows[i].symbol);
		EXPECT_EQ(0, strncmp(rows[i].insn, site->insn, strlen(rows[i].insn)))
			TH_LOG("%s: %s", rows[i].symbol, site->insn);
	}
	EXPECT_EQ(3, self->img->nr_internal_free);
}

TEST_F(libc, internal_frees_are_calls_of_free)
{
	const struct probe_site *site = find_site(self->img, "free");
	int fd = open(LIBC, O_RDONLY);

	ASSERT_NE(0, self->img->nr_internal_free);
	for (size_t i = 0; i < self->img->nr_internal_free; i++) {
		__u64 ra = site->offset + self->img->internal_free[i];
		__u8 call[5];
		__s32 rel;

		ASSERT_EQ(5, pread(fd, call, sizeof(call), ra - sizeof(call)));
		memcpy(&rel, call + 1, sizeof(rel));
		EXPECT_EQ(0xe8, call[0]);
		EXPECT_EQ(site->offset - site->delta, ra + rel);
	}
	close(fd);
}

TEST(the_loader_is_no_allocator)
{
	struct probe_image *img;

	EXPECT_EQ(-ENOENT, probe_image__new("/lib64/ld-linux-x86-64.so.2", "ld.so", &img));
	EXPECT_TRUE(family__is_loader("ld-linux-x86-64.so.2"));
	EXPECT_FALSE(family__is_loader("libc.so.6"));
	EXPECT_FALSE(family__is_loader(NULL));
}

TEST(a_program_that_imports_malloc_is_no_allocator)
{
	struct probe_image *img;

	EXPECT_EQ(-ENOENT, probe_image__new("/bin/bash", "bash", &img));
}

/* Those of C++ go by mangled names. */
static const char *described_as(const char *symbol)
{
	return !strncmp(symbol, "_Zn", 3) || !strncmp(symbol, "_Zd", 3) ? "operator new and delete" : symbol;
}

TEST(every_function_is_described)
{
	const struct family *family;

	for (size_t i = 0; (family = family__get(i)); i++) {
		for (size_t j = 0; j < family->nr_functions; j++)
			EXPECT_NE(NULL, strstr(probe_families__describe(),
					       described_as(family->functions[j].symbol)));
	}
	EXPECT_NE(NULL, strstr(probe_families__describe(), "glibc"));
}

/* ------------------------------------------------------------------ objects made here */

FIXTURE(object) {
	char dir[64];
	char path[96];
	struct probe_image *img;
};

FIXTURE_SETUP(object)
{
	strcpy(self->dir, "/tmp/probe_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/object", self->dir);
	self->img = NULL;
}

FIXTURE_TEARDOWN(object)
{
	char command[128];

	probe_image__free(self->img);
	snprintf(command, sizeof(command), "/bin/rm -rf %s", self->dir);
	EXPECT_EQ(0, system(command));
}

static int run_gcc(const char *dir, const char *path, const char *suffix, const char *source,
		   const char *options)
{
	char source_path[128], command[512];
	FILE *file;

	snprintf(source_path, sizeof(source_path), "%s/source.%s", dir, suffix);
	file = fopen(source_path, "w");
	if (!file)
		return -errno;
	fputs(source, file);
	fclose(file);
	/* -w: what we write here are the odd cases. */
	snprintf(command, sizeof(command), "gcc -w -o %s %s %s", path, options, source_path);
	return system(command);
}

#define SHARED	"-shared -nostdlib"

/* A function in assembler. */
#define FN(name, code) \
	".globl " name "\n.type " name ",@function\n" name ":\n" code "\n.size " name ",.-" name "\n"
#define LOCAL_FN(name, code) \
	".type " name ",@function\n" name ":\n" code "\n.size " name ",.-" name "\n"
#define PLAIN_FREE	FN("free", "push %rbx\npop %rbx\nret")
#define PLAIN_MALLOC	FN("malloc", "push %rbx\npop %rbx\nret")

static int assemble(const char *dir, const char *path, const char *source, const char *options)
{
	return run_gcc(dir, path, "s", source, options);
}

TEST_F(object, functions_with_endbr64)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      FN("malloc", "endbr64\npush %rbp\npop %rbp\nret")
			      FN("free", "endbr64\ntest %rdi,%rdi\nje 1f\npush %rbx\npop %rbx\n1:ret"),
			      SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_STREQ("generic", self->img->family);
	EXPECT_EQ(4, find_site(self->img, "malloc")->delta);
	EXPECT_EQ(7, find_site(self->img, "free")->delta);
}

TEST_F(object, offset_is_in_the_file_and_vaddr_in_memory)
{
	const struct probe_site *site;
	__u8 byte = 0;
	int fd;

	ASSERT_EQ(0, assemble(self->dir, self->path,
			      ".skip 4096\n" PLAIN_FREE FN("malloc", "mov %rdi,%rax\npush %rbx\nret"),
			      SHARED " -Wl,-Ttext=0x1234560"));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	site = find_site(self->img, "malloc");
	EXPECT_EQ(3, site->delta);
	EXPECT_LE(0x1234560, site->vaddr);
	EXPECT_NE(site->vaddr, site->offset);
	fd = open(self->path, O_RDONLY);
	ASSERT_EQ(1, pread(fd, &byte, 1, site->offset));
	EXPECT_EQ(0x53, byte);
	close(fd);
}

TEST_F(object, site_that_costs_more_is_marked)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      PLAIN_FREE FN("malloc", "sub $8,%rsp\nadd $8,%rsp\nret"), SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_FALSE(find_site(self->img, "malloc")->emulated);
	EXPECT_EQ(0, find_site(self->img, "malloc")->delta);
	EXPECT_TRUE(find_site(self->img, "free")->emulated);
}

TEST_F(object, long_nops_are_never_probed)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      PLAIN_FREE FN("malloc", "sub $8,%rsp\nadd $8,%rsp\nret")
			      FN("calloc", ".byte 0x0f,0x1f,0x44,0,0\nsub $8,%rsp\nadd $8,%rsp\nret"),
			      SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_EQ(5, find_site(self->img, "calloc")->delta);
	EXPECT_FALSE(find_site(self->img, "calloc")->emulated);
}

TEST_F(object, free_alone_is_no_allocator)
{
	ASSERT_EQ(0, assemble(self->dir, self->path, PLAIN_FREE, SHARED));
	EXPECT_EQ(-ENOENT, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, data_named_malloc_is_no_function)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      PLAIN_FREE ".globl malloc\n.type malloc,@object\nmalloc: .quad 0\n"
			      ".size malloc,8\n", SHARED));
	EXPECT_EQ(-ENOENT, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, static_functions_named_so_are_no_allocator)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      LOCAL_FN("malloc", "push %rbx\nret") LOCAL_FN("free", "push %rbx\nret"),
			      SHARED));
	EXPECT_EQ(-ENOENT, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, static_functions_beside_the_marker_are_glibc)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      LOCAL_FN("_int_malloc", "ret") LOCAL_FN("malloc", "push %rbx\nret")
			      PLAIN_FREE, SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_STREQ("glibc", self->img->family);
	EXPECT_NE(NULL, find_site(self->img, "malloc"));
}

TEST_F(object, loader_with_a_malloc_of_its_own)
{
	ASSERT_EQ(0, assemble(self->dir, self->path, PLAIN_MALLOC PLAIN_FREE,
			      SHARED " -Wl,-soname,ld-linux-x86-64.so.2"));
	EXPECT_EQ(-ENOENT, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, alias_by_jump_is_counted_once)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      PLAIN_MALLOC ".hidden hfree\n.set hfree,free\n" PLAIN_FREE
			      FN("cfree", "endbr64\njmp hfree"), SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_NE(NULL, find_site(self->img, "free"));
	EXPECT_EQ(NULL, find_site(self->img, "cfree"));
}

TEST_F(object, alias_through_the_plt_is_counted_once)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      PLAIN_MALLOC PLAIN_FREE FN("cfree", "jmp free@PLT")
			      FN("memalign", "jmp *aligned_alloc@GOTPCREL(%rip)")
			      FN("aligned_alloc", "push %rbx\nret"), SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_EQ(NULL, find_site(self->img, "cfree"));
	EXPECT_EQ(NULL, find_site(self->img, "memalign"));
	EXPECT_NE(NULL, find_site(self->img, "aligned_alloc"));
	EXPECT_EQ(3, self->img->nr_sites);
}

TEST_F(object, jump_to_the_real_work_is_no_alias)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      LOCAL_FN("work", "ret") PLAIN_FREE FN("malloc", "jmp work"), SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_TRUE(find_site(self->img, "malloc")->emulated);
}

#define CALL	"call hfree\n"
#define SOME_CALLS(calls) \
	LOCAL_FN("_int_malloc", calls "ret") PLAIN_MALLOC ".hidden hfree\n.set hfree,free\n" PLAIN_FREE

TEST_F(object, internal_frees_are_found)
{
	ASSERT_EQ(0, assemble(self->dir, self->path, SOME_CALLS(CALL CALL CALL), SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_EQ(3, self->img->nr_internal_free);
	EXPECT_EQ(5, self->img->internal_free[1] - self->img->internal_free[0]);
}

TEST_F(object, too_many_internal_frees_are_none)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      SOME_CALLS(CALL CALL CALL CALL CALL CALL CALL CALL CALL), SHARED));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_EQ(0, self->img->nr_internal_free);
}

TEST_F(object, programs_have_no_internal_frees)
{
	ASSERT_EQ(0, assemble(self->dir, self->path,
			      FN("_start", "call free") SOME_CALLS(CALL), "-static -nostdlib"));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_STREQ("glibc", self->img->family);
	EXPECT_EQ(0, self->img->nr_internal_free);
}

#define PROGRAM \
	"#include <stdlib.h>\nint main(int argc, char **argv) { free(realloc(malloc(argc), 2)); }\n"

TEST_F(object, static_program)
{
	ASSERT_EQ(0, run_gcc(self->dir, self->path, "c", PROGRAM, "-static"));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_STREQ("glibc", self->img->family);
	EXPECT_TRUE(find_site(self->img, "malloc")->emulated);
	EXPECT_TRUE(find_site(self->img, "free")->emulated);
}

TEST_F(object, static_pie_program)
{
	ASSERT_EQ(0, run_gcc(self->dir, self->path, "c", PROGRAM, "-static-pie"));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_STREQ("glibc", self->img->family);
	EXPECT_NE(NULL, find_site(self->img, "malloc"));
	EXPECT_EQ(0, self->img->nr_internal_free);
}

TEST_F(object, stripped_static_program_has_no_names)
{
	ASSERT_EQ(0, run_gcc(self->dir, self->path, "c", PROGRAM, "-static -s"));
	EXPECT_EQ(-ENOENT, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, program_with_its_own_malloc)
{
	ASSERT_EQ(0, run_gcc(self->dir, self->path, "c",
			     "#include <stddef.h>\nstatic char heap[99];\n"
			     "void *malloc(size_t n) { return heap; }\nvoid free(void *p) { }\n"
			     "int main(void) { return 0; }\n", "-O0"));
	ASSERT_EQ(0, probe_image__new(self->path, "object", &self->img));
	EXPECT_STREQ("generic", self->img->family);
	EXPECT_EQ(2, self->img->nr_sites);
}

/* ------------------------------------------------------------------ files that are none */

TEST_F(object, missing_file)
{
	EXPECT_EQ(-ENOENT, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, empty_file)
{
	close(open(self->path, O_CREAT | O_WRONLY, 0600));
	EXPECT_EQ(-ENOEXEC, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, folder)
{
	EXPECT_EQ(-ENOEXEC, probe_image__new(self->dir, "object", &self->img));
}

TEST_F(object, fifo_does_not_block)
{
	ASSERT_EQ(0, mkfifo(self->path, 0600));
	EXPECT_EQ(-ENOEXEC, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, device)
{
	EXPECT_EQ(-ENOEXEC, probe_image__new("/dev/zero", "zero", &self->img));
}

TEST_F(object, object_for_another_machine)
{
	__u16 aarch64 = 183;
	int fd;

	ASSERT_EQ(0, assemble(self->dir, self->path, PLAIN_MALLOC PLAIN_FREE, SHARED));
	fd = open(self->path, O_WRONLY);
	ASSERT_EQ(2, pwrite(fd, &aarch64, sizeof(aarch64), 18));
	close(fd);
	EXPECT_EQ(-ENOEXEC, probe_image__new(self->path, "object", &self->img));
}

TEST_F(object, relocatable_object)
{
	ASSERT_EQ(0, assemble(self->dir, self->path, PLAIN_MALLOC PLAIN_FREE, "-c"));
	EXPECT_EQ(-ENOEXEC, probe_image__new(self->path, "object", &self->img));
}

/* An object that has it all: symbols, PLT, relocations, internal frees, a soname. */
#define RICH \
	SOME_CALLS(CALL) FN("realloc", "push %r12\npop %r12\nret") FN("cfree", "jmp free@PLT") \
	FN("reallocarray", "mov %rsi,%rax\nmul %rdx\njo 1f\njmp realloc@PLT\n1:ret") \
	FN("memalign", "test %rsi,%rsi\nje 1f\n1:ret")

static size_t read_whole(const char *path, char *buf, size_t nr_bytes)
{
	int fd = open(path, O_RDONLY);
	ssize_t nr_read = read(fd, buf, nr_bytes);

	close(fd);
	return nr_read > 0 ? nr_read : 0;
}

static void write_whole(const char *path, const char *buf, size_t nr_bytes)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	if (write(fd, buf, nr_bytes) != (ssize_t)nr_bytes)
		abort();
	close(fd);
}

/* Whatever comes out, it must be whole or an error. */
static bool is_sane(const char *path)
{
	struct probe_image *img;
	int err = probe_image__new(path, "damaged", &img);
	bool sane = true;

	if (err)
		return err == -ENOENT || err == -ENOEXEC;
	for (size_t i = 0; i < img->nr_sites; i++)
		sane = sane && img->sites[i].delta < SITE_MAX_DELTA && img->sites[i].symbol &&
		       memchr(img->sites[i].insn, '\0', sizeof(img->sites[i].insn));
	sane = sane && img->nr_sites && img->nr_internal_free <= PROBE_MAX_INTERNAL;
	probe_image__free(img);
	return sane;
}

#define MAX_RICH_BYTES	(64 * 1024)

TEST_F(object, truncated_anywhere)
{
	static char buf[MAX_RICH_BYTES];
	size_t nr_bytes;

	ASSERT_EQ(0, assemble(self->dir, self->path, RICH, SHARED " -Wl,-soname,libc.so.6"));
	EXPECT_TRUE(is_sane(self->path));
	nr_bytes = read_whole(self->path, buf, sizeof(buf));
	ASSERT_LT(0, nr_bytes);
	for (size_t cut = 0; cut < nr_bytes; cut += 13) {
		write_whole(self->path, buf, cut);
		ASSERT_TRUE(is_sane(self->path)) TH_LOG("cut at %zu", cut);
	}
}

/* Half of the damage goes where it hurts: the headers. */
static size_t damage_at(size_t nr_bytes)
{
	return random() % (random() & 1 ? 1024 : nr_bytes);
}

TEST_F_TIMEOUT(object, damaged_anywhere, 120)
{
	static char buf[MAX_RICH_BYTES], damaged[MAX_RICH_BYTES];
	size_t nr_bytes;

	ASSERT_EQ(0, assemble(self->dir, self->path, RICH, SHARED " -Wl,-soname,libc.so.6"));
	nr_bytes = read_whole(self->path, buf, sizeof(buf));
	ASSERT_LT(1024, nr_bytes);
	srandom(23);
	for (int round = 0; round < 4000; round++) {
		memcpy(damaged, buf, nr_bytes);
		for (int i = 0; i <= round % 8; i++)
			damaged[damage_at(nr_bytes)] ^= round & 1 ? 1 << (random() % 8) : random();
		write_whole(self->path, damaged, nr_bytes);
		ASSERT_TRUE(is_sane(self->path)) TH_LOG("round %d", round);
	}
}

/* Every field of the headers and tables at its extremes. */
TEST_F_TIMEOUT(object, extreme_header_fields, 120)
{
	static const __u64 values[] = { 0, 1, 0xffff, 0x7fffffff, ~0ULL, 1ULL << 63, 0xfffffffffffff000 };
	static char buf[MAX_RICH_BYTES], damaged[MAX_RICH_BYTES];
	__u64 shoff;
	size_t nr_bytes;

	ASSERT_EQ(0, assemble(self->dir, self->path, RICH, SHARED " -Wl,-soname,libc.so.6"));
	nr_bytes = read_whole(self->path, buf, sizeof(buf));
	ASSERT_LT(1024, nr_bytes);
	memcpy(&shoff, buf + 40, sizeof(shoff));
	for (size_t pos = 16; pos + 8 <= nr_bytes; pos += pos == 720 ? shoff - 720 : 8) {
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			memcpy(damaged, buf, nr_bytes);
			memcpy(damaged + pos, &values[i], sizeof(values[i]));
			write_whole(self->path, damaged, nr_bytes);
			ASSERT_TRUE(is_sane(self->path)) TH_LOG("%#llx at %zu", values[i], pos);
		}
	}
}

TEST_HARNESS_MAIN
