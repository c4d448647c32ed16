// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of generated code. The map files are below a --symfs folder; those of living processes in
 * a /tmp of their own.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "perfdata/reader.h"
#include "stack/machine.h"
#include "stack/perfmap.h"
#include "stack/symtab.h"

#define PID	1000
#define CODE	0x7f0000000000ULL

/* A folder for --symfs with an empty /tmp in it; @path: of the map file. */
static int make_root(char *dir, char *path, size_t room)
{
	char tmp[96];

	strcpy(dir, "/tmp/perfmap_test_XXXXXX");
	if (!mkdtemp(dir))
		return -errno;
	snprintf(tmp, sizeof(tmp), "%s/tmp", dir);
	snprintf(path, room, "%s/perf-%d.map", tmp, PID);
	return mkdir(tmp, 0700);
}

static int remove_root(const char *dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

FIXTURE(perfmap) {
	char dir[64], path[128];
	struct symtab tab;
	struct machine *m;
};

FIXTURE_SETUP(perfmap)
{
	struct machine_opts opts = { .demangle = true, .symfs = self->dir };

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, make_root(self->dir, self->path, sizeof(self->path)));
	ASSERT_EQ(0, machine__new(&opts, &self->m));
}

FIXTURE_TEARDOWN(perfmap)
{
	machine__free(self->m);
	symtab__exit(&self->tab);
	EXPECT_EQ(0, remove_root(self->dir));
}

static int write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -errno;
	fputs(text, file);
	return fclose(file);
}

static const char *name_at(const struct symtab *tab, __u64 addr)
{
	const struct symbol *sym = symtab__find(tab, addr);

	return sym ? symtab__name(tab, sym) : "(none)";
}

/* ------------------------------------------------------------------ lines */

static const char long_line_start[] = "100 10 ";

FIXTURE(line) { struct symtab tab; char dir[64], path[128]; };
FIXTURE_VARIANT(line) { const char *text; __u64 addr; const char *want; };

FIXTURE_SETUP(line)
{
	memset(&self->tab, 0, sizeof(self->tab));
	ASSERT_EQ(0, make_root(self->dir, self->path, sizeof(self->path)));
}

FIXTURE_TEARDOWN(line)
{
	symtab__exit(&self->tab);
	EXPECT_EQ(0, remove_root(self->dir));
}

#define LINE(claim, text_, addr_, want_) \
	FIXTURE_VARIANT_ADD(line, claim) { .text = text_, .addr = addr_, .want = want_ }

LINE(first_byte, "100 10 f\n", 0x100, "f");
LINE(last_byte, "100 10 f\n", 0x10f, "f");
LINE(end_is_excluded, "100 10 f\n", 0x110, "(none)");
LINE(prefixed_numbers, "0x100 0x10 f\n", 0x105, "f");
LINE(name_with_blanks, "100 10 LazyCompile:~f app.js:12\n", 0x100, "LazyCompile:~f app.js:12");
LINE(last_line_without_an_end, "100 10 f", 0x100, "f");
LINE(carriage_return, "100 10 f\r\n", 0x100, "f");
LINE(garbage_is_skipped, "\n# x\n100\n100 10\n100 10 \nzz 1 a\n100 zz a\n200 10 g\n", 0x200, "g");
LINE(garbage_names_nothing, "\n# x\n100\n100 10\n100 10 \nzz 1 a\n100 zz a\n200 10 g\n", 0x100,
     "(none)");
LINE(size_zero_is_nothing, "100 0 f\n", 0x100, "(none)");
LINE(wrapping_size_ends_at_the_top, "ffffffffffffff00 1000 f\n", 0xfffffffffffffff0, "f");
LINE(later_line_replaces, "100 10 old\n100 10 new\n", 0x100, "new");
LINE(later_shorter_line_replaces, "100 40 old\n110 10 new\n", 0x100, "(none)");
LINE(later_longer_line_replaces, "110 10 old\n100 40 new\n", 0x115, "new");
LINE(neighbours_stay, "100 10 a\n110 10 b\n", 0x10f, "a");
LINE(replaced_by_many, "100 40 old\n100 10 a\n120 10 b\n", 0x125, "b");
LINE(huge_numbers, "fffffffffffffffff 10 f\n100 10 g\n", 0x100, "g");

TEST_F(line, name)
{
	ASSERT_EQ(0, write_file(self->path, variant->text));
	ASSERT_EQ(0, perfmap__load(PID, self->dir, false, &self->tab));
	EXPECT_STREQ(variant->want, name_at(&self->tab, variant->addr));
}

TEST_F(perfmap, long_lines_are_cut_and_the_next_one_is_whole)
{
	FILE *file = fopen(self->path, "w");

	ASSERT_NE(NULL, file);
	fputs(long_line_start, file);
	for (int i = 0; i < 1 << 20; i++)
		fputc('x', file);
	fputs("\n200 10 after\n", file);
	fclose(file);
	ASSERT_EQ(0, perfmap__load(PID, self->dir, false, &self->tab));
	EXPECT_EQ(2, self->tab.nr);
	EXPECT_EQ(16 * 1024 - 1 - strlen(long_line_start), strlen(name_at(&self->tab, 0x100)));
	EXPECT_STREQ("after", name_at(&self->tab, 0x200));
}

/* ------------------------------------------------------------------ files */

TEST_F(perfmap, missing_file)
{
	char path[PERFMAP_PATH_BYTES];

	EXPECT_FALSE(perfmap__path(PID, self->dir, path));
	EXPECT_EQ(-ENOENT, perfmap__load(PID, self->dir, false, &self->tab));
}

TEST_F(perfmap, path_tells_the_pid)
{
	char path[PERFMAP_PATH_BYTES];

	ASSERT_EQ(0, write_file(self->path, ""));
	EXPECT_TRUE(perfmap__path(PID, self->dir, path));
	EXPECT_STREQ("/tmp/perf-1000.map", path);
	EXPECT_EQ(PID, perfmap__pid(path));
	EXPECT_EQ(0, perfmap__pid("/tmp/perf-1000.map2"));
	EXPECT_EQ(0, perfmap__pid("/tmp/perf-01000.map"));
	EXPECT_EQ(0, perfmap__pid("/tmp/perf-.map"));
	EXPECT_EQ(0, perfmap__pid("/tmp/perf"));
}

TEST_F(perfmap, file_of_another_user_is_not_used_unless_forced)
{
	if (geteuid())
		SKIP(return, "needs root for chown(2)");
	ASSERT_EQ(0, write_file(self->path, "100 10 f\n"));
	ASSERT_EQ(0, chown(self->path, 65534, 65534));
	EXPECT_EQ(-EPERM, perfmap__load(PID, self->dir, false, &self->tab));
	EXPECT_EQ(0, self->tab.nr);
	EXPECT_EQ(0, perfmap__load(PID, self->dir, true, &self->tab));
	EXPECT_STREQ("f", name_at(&self->tab, 0x100));
}

TEST_F(perfmap, links_and_pipes_are_not_opened)
{
	char target[160];

	snprintf(target, sizeof(target), "%s.target", self->path);
	ASSERT_EQ(0, write_file(target, "100 10 f\n"));
	ASSERT_EQ(0, symlink(target, self->path));
	EXPECT_EQ(-ENOENT, perfmap__load(PID, self->dir, true, &self->tab));
	ASSERT_EQ(0, unlink(self->path));
	ASSERT_EQ(0, mkfifo(self->path, 0600));
	EXPECT_EQ(-ENOENT, perfmap__load(PID, self->dir, true, &self->tab));
}

/* A child in a root of its own has another /tmp. */
TEST_F(perfmap, living_process_in_a_container)
{
	char path[PERFMAP_PATH_BYTES], map[160];
	int fds[2];
	pid_t pid;
	char byte;

	if (geteuid())
		SKIP(return, "needs root for chroot(2)");
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	if (!pid) {
		if (chroot(self->dir) || write(fds[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(fds[1]);
	ASSERT_EQ(1, read(fds[0], &byte, 1));
	close(fds[0]);
	EXPECT_FALSE(perfmap__path(pid, "", path));
	snprintf(map, sizeof(map), "%s/tmp/perf-%d.map", self->dir, pid);
	ASSERT_EQ(0, write_file(map, "100 10 inside\n"));
	EXPECT_TRUE(perfmap__path(pid, "", path));
	EXPECT_EQ(0, perfmap__load(pid, "", false, &self->tab));
	EXPECT_STREQ("inside", name_at(&self->tab, 0x100));
	kill(pid, SIGKILL);
}

/* ------------------------------------------------------------------ frames */

static struct frame frame_in(struct machine *m, __u32 pid, const char *mapped, __u32 prot)
{
	struct pdmap map = {
		.cpumode = PERF_RECORD_MISC_USER, .pid = pid, .start = CODE, .len = 0x1000,
		.pgoff = 0x5000, .filename = mapped, .prot = prot,
	};
	struct pdsample s = { .pid = pid, .cpumode = PERF_RECORD_MISC_USER, .ip = CODE + 0x104 };
	struct frame f = {};

	machine__mmap(m, &map);
	machine__resolve(m, &s, &f, 1);
	return f;
}

FIXTURE(frame) { char dir[64], path[128]; struct machine *m; };
FIXTURE_VARIANT(frame) { const char *mapped; __u32 prot; const char *sym, *dso; };

FIXTURE_SETUP(frame)
{
	struct machine_opts opts = { .demangle = true, .symfs = self->dir };

	ASSERT_EQ(0, make_root(self->dir, self->path, sizeof(self->path)));
	ASSERT_EQ(0, machine__new(&opts, &self->m));
}

FIXTURE_TEARDOWN(frame)
{
	machine__free(self->m);
	EXPECT_EQ(0, remove_root(self->dir));
}

#define RX	(PROT_READ | PROT_EXEC)
#define JIT(claim, mapped_, prot_, sym_, dso_) \
	FIXTURE_VARIANT_ADD(frame, claim) { mapped_, prot_, sym_, dso_ }

JIT(anonymous, "//anon", RX, "jitted", "/tmp/perf-1000.map");
JIT(named_anonymous, "[anon:v8]", RX, "jitted", "/tmp/perf-1000.map");
JIT(heap, "[heap]", RX, "jitted", "/tmp/perf-1000.map");
JIT(memfd, "/memfd:doublemapper (deleted)", RX, "jitted", "/tmp/perf-1000.map");
JIT(old_record_without_prot, "//anon", 0, "jitted", "/tmp/perf-1000.map");
JIT(no_code, "//anon", PROT_READ, "(none)", "//anon");
JIT(a_file, "/no/such/file", RX, "(none)", "/no/such/file");
JIT(vdso, "[vsyscall]", RX, "(none)", "[vsyscall]");

TEST_F(frame, is)
{
	struct frame f;

	ASSERT_EQ(0, write_file(self->path, "7f0000000100 10 jitted\n"));
	f = frame_in(self->m, PID, variant->mapped, variant->prot);
	EXPECT_STREQ(variant->sym, f.sym ?: "(none)");
	EXPECT_STREQ(variant->dso, f.dso);
	EXPECT_EQ(NULL, machine__srcline(self->m, &f, false));
}

TEST_F(perfmap, each_process_has_its_own_names)
{
	ASSERT_EQ(0, write_file(self->path, "7f0000000100 10 mine\n"));
	EXPECT_STREQ("mine", frame_in(self->m, PID, "//anon", RX).sym);
	EXPECT_EQ(NULL, frame_in(self->m, PID + 1, "//anon", RX).sym);
	EXPECT_STREQ("//anon", frame_in(self->m, PID + 1, "//anon", RX).dso);
	EXPECT_EQ(2, machine__stats(self->m)->nr_unnamed);
}

TEST_F(perfmap, names_cannot_talk_to_the_terminal)
{
	struct frame f;

	ASSERT_EQ(0, write_file(self->path, "7f0000000100 10 a\033[2J\xff\xc2\x9b\n"));
	f = frame_in(self->m, PID, "//anon", RX);
	EXPECT_STREQ("a?[2J??", f.sym);
}

TEST_F(perfmap, names_are_not_demangled)
{
	ASSERT_EQ(0, write_file(self->path, "7f0000000100 10 _Z3foov\n"));
	EXPECT_STREQ("_Z3foov", frame_in(self->m, PID, "//anon", RX).sym);
}

TEST_HARNESS_MAIN
