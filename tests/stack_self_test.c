// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stack room against this very program: its own mappings, functions, lines and stacks.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <asm/perf_regs.h>

#include "kselftest_harness.h"
#include "perfdata/reader.h"
#include "stack/machine.h"

#define NOINLINE	__attribute__((noinline, noclone))
#define STACK_BYTES	(256 * 1024)

static volatile int sink;

int NOINLINE global_function(int x)
{
	return sink += x;
}

static int NOINLINE static_function(int x)
{
	return sink -= x;
}

enum { KNOWN_LINE = __LINE__ + 1 };
static int NOINLINE known_line(int x) { return sink ^= x; }

/* ------------------------------------------------------------------ feeding it */

static int map_line(struct machine *m, const char *line)
{
	struct pdmap map = { .cpumode = PERF_RECORD_MISC_USER, .pid = getpid(), .tid = getpid() };
	char prot[8], name[512] = "//anon";
	__u64 end;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %511[^\n]", &map.start, &end, prot,
		   &map.pgoff, &map.maj, &map.min, &map.ino, name) < 7)
		return -1;
	map.len = end - map.start;
	map.filename = name;
	return machine__mmap(m, &map);
}

static int map_self(struct machine *m)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024];
	int err = maps ? 0 : -1;

	while (!err && fgets(line, sizeof(line), maps))
		err = map_line(m, line);
	if (maps)
		fclose(maps);
	return err;
}

FIXTURE(own) { struct machine *m; };
FIXTURE_VARIANT(own) { bool inlines; };
FIXTURE_VARIANT_ADD(own, plain) { .inlines = false };
FIXTURE_VARIANT_ADD(own, inlines) { .inlines = true };

FIXTURE_SETUP(own)
{
	struct machine_opts opts = { .demangle = true, .inlines = variant->inlines };

	ASSERT_EQ(0, machine__new(&opts, &self->m));
	ASSERT_EQ(0, map_self(self->m));
}

FIXTURE_TEARDOWN(own)
{
	machine__free(self->m);
}

static struct frame resolve_exact(struct machine *m, const void *addr)
{
	struct pdsample s = {
		.pid = getpid(), .cpumode = PERF_RECORD_MISC_USER, .ip = (__u64)addr,
	};
	struct frame f[32] = {};
	size_t nr = machine__resolve(m, &s, f, 32);

	return f[nr - 1];
}

static const char *name_of(struct machine *m, const void *addr)
{
	return resolve_exact(m, addr).sym ?: "(none)";
}

/* ------------------------------------------------------------------ names */

TEST_F(own, functions)
{
	struct frame f = resolve_exact(self->m, global_function);

	EXPECT_STREQ("global_function", f.sym);
	EXPECT_EQ(f.sym_start, f.rel_ip);
	EXPECT_NE(NULL, strstr(f.dso, "stack_self_test"));
	EXPECT_STREQ("global_function", name_of(self->m, (char *)global_function + 1));
	EXPECT_STREQ("static_function", name_of(self->m, static_function));
	EXPECT_EQ(5, global_function(5));
	EXPECT_EQ(3, static_function(2));
}

TEST_F(own, same_function_same_strings)
{
	struct frame a = resolve_exact(self->m, global_function);
	struct frame b = resolve_exact(self->m, (char *)global_function + 1);

	EXPECT_EQ(a.sym, b.sym);
	EXPECT_EQ(a.dso, b.dso);
	EXPECT_EQ(a.sym_start, b.sym_start);
	EXPECT_EQ(a.rel_ip + 1, b.rel_ip);
}

TEST_F(own, libc_names_as_perf_chooses_them)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);	/* not what a sanitizer put before it */
	void *fn_malloc = libc ? dlsym(libc, "malloc") : NULL;
	void *fn_free = libc ? dlsym(libc, "free") : NULL;
	const char *name;

	ASSERT_NE(NULL, fn_free);

	EXPECT_STREQ("malloc", name_of(self->m, fn_malloc));
	EXPECT_NE(NULL, strstr(resolve_exact(self->m, fn_malloc).dso, "libc"));
	/* cfree, an alias of free, is the longer name; a debug file adds the version */
	name = name_of(self->m, fn_free);
	EXPECT_EQ(0, strncmp("cfree", name, 5) && strcmp("free", name)) TH_LOG("%s", name);
}

TEST_F(own, plt_entries)
{
	/* the first instruction of some PLT entry: scan the text before the first function */
	const char *at = (const char *)((__u64)global_function & ~4095ULL);
	bool found = false;

	for (int page = 0; page < 256 && !found; page++, at -= 4096) {
		struct frame f;

		for (int i = 0; i < 4096 && !found; i += 16) {
			f = resolve_exact(self->m, at + i);
			found = f.sym && strstr(f.sym, "@plt");
		}
		f = resolve_exact(self->m, at - 1);
		if (!f.dso || !strstr(f.dso, "stack_self_test"))
			break;
	}
	EXPECT_TRUE(found);
}

TEST_F(own, vdso)
{
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
	bool found = false;

	ASSERT_NE(NULL, base);
	EXPECT_STREQ("[vdso]", resolve_exact(self->m, base).dso);
	for (int i = 0; i < 8192 && !found; i++)
		found = strstr(name_of(self->m, base + i), "clock_gettime") != NULL;
	EXPECT_TRUE(found);
}

/* ------------------------------------------------------------------ lines */

TEST_F(own, source_line_of_a_function)
{
	struct frame f = resolve_exact(self->m, known_line);
	char want[64];

	snprintf(want, sizeof(want), "stack_self_test.c:%d", KNOWN_LINE);
	EXPECT_STREQ(want, machine__srcline(self->m, &f, false) ?: "(none)");
	EXPECT_EQ(machine__srcline(self->m, &f, false), machine__srcline(self->m, &f, false));
	EXPECT_NE(12345, known_line(1));
}

TEST_F(own, no_line_in_a_hole)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct frame f = resolve_exact(self->m, page);
	struct frame foreign = { .ip = 1, .rel_ip = 1, .dso = "[vdso]" }, none = { .ip = 1 };

	EXPECT_EQ(NULL, machine__srcline(self->m, &f, true));
	EXPECT_EQ(NULL, machine__srcline(self->m, &foreign, true));
	EXPECT_EQ(NULL, machine__srcline(self->m, &none, true));
}

/* ------------------------------------------------------------------ inlining */

enum { INNER_LINE = __LINE__ + 4, MIDDLE_LINE = __LINE__ + 11, OUTER_LINE = __LINE__ + 19 };
static inline __attribute__((always_inline)) const void *inner(void)
{
	const void *ip;
	asm volatile("0: lea 0b(%%rip), %0" : "=r"(ip));
	sink++;
	return ip;
}

static inline __attribute__((always_inline)) const void *middle(void)
{
	const void *ip = inner();

	sink--;
	return ip;
}

static const void *NOINLINE outer(void)
{
	const void *ip = middle();

	sink--;
	return ip;
}

TEST_F(own, inlined_functions)
{
	struct pdsample s = { .pid = getpid(), .cpumode = PERF_RECORD_MISC_USER };
	static const int lines[] = { INNER_LINE, MIDDLE_LINE, OUTER_LINE };
	static const char *const names[] = { "inner", "middle", "outer" };
	struct frame f[8];
	char want[64];
	size_t nr;

	s.ip = (__u64)outer();
	nr = machine__resolve(self->m, &s, f, 8);
	if (!variant->inlines) {
		ASSERT_EQ(1, nr);
		EXPECT_STREQ("outer", f[0].sym);
		snprintf(want, sizeof(want), "stack_self_test.c:%d", INNER_LINE);
		EXPECT_STREQ(want, machine__srcline(self->m, &f[0], false) ?: "(none)");
		return;
	}
	ASSERT_EQ(3, nr);
	for (size_t i = 0; i < 3; i++) {
		EXPECT_STREQ(names[i], f[i].sym);
		EXPECT_EQ(i < 2, f[i].inlined);
		EXPECT_EQ(s.ip, f[i].ip);
		snprintf(want, sizeof(want), "stack_self_test.c:%d", lines[i]);
		EXPECT_STREQ(want, machine__srcline(self->m, &f[i], false) ?: "(none)");
	}
	EXPECT_NE(0, f[0].sym_start >> 63);
	EXPECT_EQ(2, machine__resolve(self->m, &s, f, 2));
}

/* ------------------------------------------------------------------ unwinding */

struct capture {
	__u64 regs[PERF_REG_X86_64_MAX];
	char stack[STACK_BYTES];
	size_t stack_bytes;
};

#define REGS_MASK	0xff0fffULL	/* what perf record asks for */

static void NOINLINE capture_stack(struct capture *c)
{
	/* REG_R8 is 0: the order of ucontext, by the bit of perf's mask */
	static const int order[] = {
		REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_RIP,
		REG_EFL, REG_CSGSFS, REG_CSGSFS, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
		REG_R14, REG_R15,
	};
	extern char **environ;
	ucontext_t uc;
	char *sp;

	getcontext(&uc);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		c->regs[i] = uc.uc_mcontext.gregs[order[i]];
	sp = (char *)uc.uc_mcontext.gregs[REG_RSP];
	c->stack_bytes = (char *)environ - sp;
	if (c->stack_bytes > STACK_BYTES)
		c->stack_bytes = STACK_BYTES;
	for (size_t i = 0; i < c->stack_bytes; i += 8)	/* no memcpy: ASan knows our frames */
		asm volatile("movq (%1), %%rax; movq %%rax, (%0)"
			     : : "r"(c->stack + i), "r"(sp + i) : "rax", "memory");
}

enum { CALL_LINE = __LINE__ + 3 };
static void NOINLINE leaf(struct capture *c)
{
	capture_stack(c);
	sink++;
}

static void NOINLINE recursive(struct capture *c, int depth)
{
	if (depth)
		recursive(c, depth - 1);
	else
		leaf(c);
	sink++;
}

static size_t resolve_capture(struct machine *m, const struct capture *c, struct frame *f,
			      size_t max)
{
	struct pdsample s = {
		.pid = getpid(), .cpumode = PERF_RECORD_MISC_USER, .regs = c->regs,
		.regs_abi = PERF_SAMPLE_REGS_ABI_64, .regs_mask = REGS_MASK, .stack = c->stack,
		.stack_bytes = c->stack_bytes,
	};

	return machine__resolve(m, &s, f, max);
}

/* Drop inlined frames: what the compiler inlines is its affair. */
static size_t only_real(struct frame *f, size_t nr)
{
	size_t nr_real = 0;

	for (size_t i = 0; i < nr; i++)
		if (!f[i].inlined)
			f[nr_real++] = f[i];
	return nr_real;
}

TEST_F(own, stack_copy_is_walked_to_its_start)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct frame f[256];
	char want[64];
	size_t nr;

	ASSERT_NE(NULL, c);
	recursive(c, 11);
	nr = only_real(f, resolve_capture(self->m, c, f, 256));
	ASSERT_LT(16, nr);
	EXPECT_STREQ("capture_stack", f[0].sym);
	EXPECT_STREQ("leaf", f[1].sym);
	snprintf(want, sizeof(want), "stack_self_test.c:%d", CALL_LINE);
	EXPECT_STREQ(want, machine__srcline(self->m, &f[1], true) ?: "(none)");
	for (size_t i = 2; i < 14; i++)
		EXPECT_STREQ("recursive", f[i].sym);
	/* the compiler may have made a clone of it, NAME.constprop.0 */
	EXPECT_EQ(f[14].sym, strstr(f[14].sym, "own_stack_copy_is_walked_to_its_start"));
	EXPECT_STREQ("_start", f[nr - 1].sym);
	EXPECT_EQ(1, machine__stats(self->m)->nr_unwound);
	EXPECT_EQ(0, machine__stats(self->m)->nr_unwind_cut);
	free(c);
}

TEST_F(own, the_same_stack_twice_and_after_a_new_mapping)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct frame f[256], again[256];
	size_t nr;

	ASSERT_NE(NULL, c);
	recursive(c, 3);
	nr = resolve_capture(self->m, c, f, 256);
	EXPECT_EQ(nr, resolve_capture(self->m, c, again, 256));
	EXPECT_EQ(0, memcmp(f, again, nr * sizeof(*f)));
	ASSERT_EQ(0, map_self(self->m));
	EXPECT_EQ(nr, resolve_capture(self->m, c, again, 256));
	EXPECT_EQ(0, memcmp(f, again, nr * sizeof(*f)));
	EXPECT_EQ(2, resolve_capture(self->m, c, again, 2));
	free(c);
}

TEST_F(own, short_copy_is_counted_as_cut)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct frame f[256];
	size_t nr;

	ASSERT_NE(NULL, c);
	recursive(c, 11);
	c->stack_bytes = c->stack_bytes / 4 & ~7UL;
	nr = only_real(f, resolve_capture(self->m, c, f, 256));
	EXPECT_STRNE("_start", f[nr - 1].sym ?: "(none)");
	EXPECT_EQ(1, machine__stats(self->m)->nr_unwind_cut);
	free(c);
}

TEST_F(own, callchain_goes_before_a_stack_copy)
{
	const __u64 ips[] = { PERF_CONTEXT_USER, (__u64)global_function };
	struct pdsample s = {
		.pid = getpid(), .cpumode = PERF_RECORD_MISC_USER, .ips = ips, .nr_ips = 2,
		.regs = ips, .regs_abi = 2, .stack = ips, .stack_bytes = 8,
	};
	struct frame f[8];

	ASSERT_EQ(1, only_real(f, machine__resolve(self->m, &s, f, 8)));
	EXPECT_STREQ("global_function", f[0].sym);
	EXPECT_EQ(0, machine__stats(self->m)->nr_unwound);
}

TEST_F(own, kernel_frames_come_before_the_walked_ones)
{
	const __u64 ips[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020 };
	struct capture *c = calloc(1, sizeof(*c));
	struct frame f[256];
	struct pdsample s = {
		.pid = getpid(), .cpumode = PERF_RECORD_MISC_KERNEL, .ips = ips, .nr_ips = 3,
		.regs_abi = PERF_SAMPLE_REGS_ABI_64, .regs_mask = REGS_MASK,
	};
	size_t nr;

	ASSERT_NE(NULL, c);
	recursive(c, 0);
	s.regs = c->regs;
	s.stack = c->stack;
	s.stack_bytes = c->stack_bytes;
	nr = only_real(f, machine__resolve(self->m, &s, f, 256));
	ASSERT_LT(5, nr);
	EXPECT_TRUE(f[0].kernel && f[1].kernel);
	EXPECT_STREQ("capture_stack", f[2].sym);
	EXPECT_STREQ("_start", f[nr - 1].sym);
	free(c);
}

TEST_HARNESS_MAIN
