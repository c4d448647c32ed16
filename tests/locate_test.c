// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where symbols come from: stripped programs, separate debug files, files that were replaced.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "perfdata/reader.h"
#include "stack/locate.h"
#include "stack/machine.h"

/* most paths here are short; gcc cannot know */
#pragma GCC diagnostic ignored "-Wformat-truncation"

#define PID	1000
#define BASE	0x10000000ULL

/* hidden_function is static: only .symtab has it */
static const char source[] =
	"static volatile int sink;\\n"
	"static __attribute__((noinline)) void hidden_function(void) { sink++; }\\n"
	"int main(void) { hidden_function(); return sink; }\\n";

static const struct locate_env here = { .symfs = "" };

FIXTURE(locate) {
	char dir[64], prog[PATH_MAX], debug[PATH_MAX];
	struct machine *m;
	__u64 addr;
};

static int __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
	char command[8 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

static __u64 address_of(const char *prog, const char *symbol)
{
	char command[2 * PATH_MAX];
	__u64 addr = 0;
	FILE *nm;

	snprintf(command, sizeof(command), "nm %s | sed -n 's/ t %s$//p'", prog, symbol);
	nm = popen(command, "r");
	if (nm && fscanf(nm, "%llx", &addr) != 1)
		addr = 0;
	if (nm)
		pclose(nm);
	return addr;
}

static int build(const char *prog, const char *flags)
{
	return run("printf '%s' | gcc -x c -O1 -g %s -o %s -", source, flags, prog);
}

FIXTURE_SETUP(locate)
{
	struct machine_opts opts = { .demangle = true };

	memset(self, 0, sizeof(*self));
	strcpy(self->dir, "/tmp/locate_test_XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	setenv("HOME", self->dir, 1);
	snprintf(self->prog, sizeof(self->prog), "%s/prog", self->dir);
	snprintf(self->debug, sizeof(self->debug), "%s/prog.debug", self->dir);
	ASSERT_EQ(0, build(self->prog, "-Wl,--build-id"));
	self->addr = address_of(self->prog, "hidden_function");
	ASSERT_NE(0, self->addr);
	ASSERT_EQ(0, machine__new(&opts, &self->m));
}

FIXTURE_TEARDOWN(locate)
{
	machine__free(self->m);
	run("rm -rf %s", self->dir);
}

static struct build_id id_of(const char *path)
{
	int fd = locate__open(path);
	struct build_id id = {};

	if (fd >= 0) {
		id = locate__build_id(fd);
		close(fd);
	}
	return id;
}

/* What is at @addr of an object that was mapped from its start. */
static struct frame frame_at(struct machine *m, const char *path, const struct build_id *id,
			     __u64 addr)
{
	struct pdmap map = {
		.cpumode = PERF_RECORD_MISC_USER, .pid = PID, .start = BASE, .len = 0x100000,
		.filename = path,
	};
	struct pdsample s = { .pid = PID, .cpumode = PERF_RECORD_MISC_USER, .ip = BASE + addr };
	struct frame f = {};

	if (id) {
		memcpy(map.build_id, id->bits, sizeof(map.build_id));
		map.build_id_bytes = id->bytes;
	}
	machine__mmap(m, &map);
	machine__resolve(m, &s, &f, 1);
	return f;
}

static const char *name_at(struct machine *m, const char *path, const struct build_id *id,
			   __u64 addr)
{
	return frame_at(m, path, id, addr).sym ?: "(none)";
}

/* Debug information into self->debug, the program stripped, with a link to it. */
static int split(const char *prog, const char *debug)
{
	return run("objcopy --only-keep-debug %s %s && strip %s", prog, debug, prog) ?:
	       run("objcopy --add-gnu-debuglink=%s %s", debug, prog);
}

TEST_F(locate, own_symbols)
{
	struct build_id id = id_of(self->prog);

	ASSERT_EQ(20, id.bytes);
	EXPECT_STREQ("hidden_function", name_at(self->m, self->prog, &id, self->addr));
	EXPECT_STREQ("hidden_function", name_at(self->m, self->prog, NULL, self->addr));
}

TEST_F(locate, position_dependent_program)
{
	ASSERT_EQ(0, build(self->prog, "-no-pie"));
	self->addr = address_of(self->prog, "hidden_function");
	ASSERT_LT(0x400000, self->addr);
	EXPECT_STREQ("hidden_function",
		     name_at(self->m, self->prog, NULL, self->addr - 0x400000));
}

TEST_F(locate, stripped_program_has_no_static_functions)
{
	ASSERT_EQ(0, run("strip %s", self->prog));
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
}

TEST_F(locate, debug_file_beside_it)
{
	struct frame f;

	ASSERT_EQ(0, split(self->prog, self->debug));
	f = frame_at(self->m, self->prog, NULL, self->addr);
	EXPECT_STREQ("hidden_function", f.sym);
	EXPECT_STREQ("<stdin>:2", machine__srcline(self->m, &f, false) ?: "(none)");
}

/* As distributions do: the functions that .dynsym lacks, in an ELF file of their own. */
static int add_minidebuginfo(const char *dir, const char *prog)
{
	return run("cd %s && objcopy --only-keep-debug %s full && nm full | awk '$2 ~ /[Tt]/ { print $3 }' >keep",
		   dir, prog) ?:
	       run("cd %s && objcopy -S --remove-section .comment --keep-symbols=keep full mini", dir) ?:
	       run("cd %s && xz -f mini && strip %s && objcopy --add-section .gnu_debugdata=mini.xz %s",
		   dir, prog, prog);
}

TEST_F(locate, minidebuginfo)
{
	ASSERT_EQ(0, add_minidebuginfo(self->dir, self->prog));
	ASSERT_EQ(0, address_of(self->prog, "hidden_function"));
	EXPECT_STREQ("hidden_function", name_at(self->m, self->prog, NULL, self->addr));
	EXPECT_EQ(0, machine__stats(self->m)->nr_unnamed);
}

TEST_F(locate, debug_file_goes_before_minidebuginfo)
{
	struct frame f;

	ASSERT_EQ(0, run("cp %s %s/copy", self->prog, self->dir));
	ASSERT_EQ(0, add_minidebuginfo(self->dir, self->prog));
	ASSERT_EQ(0, run("objcopy --only-keep-debug %s/copy %s", self->dir, self->debug));
	ASSERT_EQ(0, run("objcopy --add-gnu-debuglink=%s %s", self->debug, self->prog));
	f = frame_at(self->m, self->prog, NULL, self->addr);
	EXPECT_STREQ("hidden_function", f.sym);
	EXPECT_NE(NULL, machine__srcline(self->m, &f, false));
}

TEST_F(locate, minidebuginfo_that_is_none)
{
	ASSERT_EQ(0, run("strip %s && head -c 5000 /dev/urandom >%s/mini.xz", self->prog, self->dir));
	ASSERT_EQ(0, run("objcopy --add-section .gnu_debugdata=%s/mini.xz %s", self->dir, self->prog));
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
	EXPECT_EQ(1, machine__stats(self->m)->nr_unnamed);
}

/* ------------------------------------------------------------------ --symfs */

FIXTURE(symfs) {
	char dir[64], prog[PATH_MAX];
	struct machine *m;
	__u64 addr;
};

/* The program is /opt/prog below self->dir, split from its debug file. */
FIXTURE_SETUP(symfs)
{
	struct machine_opts opts = { .symfs = self->dir };

	strcpy(self->dir, "/tmp/locate_test_XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	setenv("HOME", self->dir, 1);
	snprintf(self->prog, sizeof(self->prog), "%s/opt/prog", self->dir);
	ASSERT_EQ(0, run("mkdir -p %s/opt %s/usr/lib/debug/opt", self->dir, self->dir));
	ASSERT_EQ(0, build(self->prog, "-Wl,--build-id"));
	self->addr = address_of(self->prog, "hidden_function");
	ASSERT_NE(0, self->addr);
	ASSERT_EQ(0, machine__new(&opts, &self->m));
}

FIXTURE_TEARDOWN(symfs)
{
	machine__free(self->m);
	run("rm -rf %s", self->dir);
}

TEST_F(symfs, recorded_path_is_below_it)
{
	struct frame f = frame_at(self->m, "/opt/prog", NULL, self->addr);

	EXPECT_STREQ("hidden_function", f.sym ?: "(none)");
	EXPECT_STREQ("/opt/prog", f.dso);
}

TEST_F(symfs, files_outside_are_not_used)
{
	ASSERT_EQ(0, run("cp %s %s/prog", self->prog, self->dir));
	snprintf(self->prog, sizeof(self->prog), "%s/prog", self->dir);
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
}

TEST_F(symfs, build_id_still_decides)
{
	struct build_id id = { .bytes = 20, .bits = { 1, 2, 3 } };

	EXPECT_STREQ("(none)", name_at(self->m, "/opt/prog", &id, self->addr));
}

TEST_F(symfs, debug_file_by_link)
{
	char debug[PATH_MAX];

	snprintf(debug, sizeof(debug), "%s/usr/lib/debug/opt/prog.debug", self->dir);
	ASSERT_EQ(0, split(self->prog, debug));
	EXPECT_STREQ("hidden_function", name_at(self->m, "/opt/prog", NULL, self->addr));
}

TEST_F(symfs, debug_file_by_build_id)
{
	struct build_id id = id_of(self->prog);
	char hex[BUILD_ID_HEX_BYTES], debug[PATH_MAX];

	build_id__hex(&id, hex);
	ASSERT_EQ(40, strlen(hex));
	ASSERT_EQ(0, run("mkdir -p %s/usr/lib/debug/.build-id/%.2s", self->dir, hex));
	snprintf(debug, sizeof(debug), "%s/usr/lib/debug/.build-id/%.2s/%s.debug", self->dir, hex,
		 hex + 2);
	ASSERT_EQ(0, run("objcopy --only-keep-debug %s %s && strip %s", self->prog, debug,
			 self->prog));
	EXPECT_STREQ("hidden_function", name_at(self->m, "/opt/prog", &id, self->addr));
}

/* ------------------------------------------------------------------ other builds */

TEST_F(locate, debug_file_of_another_build_is_not_used)
{
	ASSERT_EQ(0, split(self->prog, self->debug));
	ASSERT_EQ(0, build(self->debug, "-O0 -Wl,--build-id"));
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
}

TEST_F(locate, checksum_decides_without_a_build_id)
{
	ASSERT_EQ(0, build(self->prog, "-Wl,--build-id=none"));
	self->addr = address_of(self->prog, "hidden_function");
	ASSERT_EQ(0, split(self->prog, self->debug));
	ASSERT_EQ(0, id_of(self->prog).bytes);
	EXPECT_STREQ("hidden_function", name_at(self->m, self->prog, NULL, self->addr));
}

TEST_F(locate, wrong_checksum_is_not_used)
{
	ASSERT_EQ(0, build(self->prog, "-Wl,--build-id=none"));
	self->addr = address_of(self->prog, "hidden_function");
	ASSERT_EQ(0, split(self->prog, self->debug));
	ASSERT_EQ(0, run("echo x >>%s", self->debug));
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
}

TEST_F(locate, debuglink_to_itself_ends)
{
	ASSERT_EQ(0, run("strip %s && mkdir %s/d && cp %s %s/d/", self->prog, self->dir,
			 self->prog, self->dir));
	ASSERT_EQ(0, run("objcopy --add-gnu-debuglink=%s/d/prog %s", self->dir, self->prog));
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
}

TEST_F(locate, debuglink_leaves_no_folder)
{
	struct build_id none = {};
	char *file = NULL;

	ASSERT_EQ(0, run("cp %s %s/secret", self->prog, self->dir));
	EXPECT_EQ(-ENOENT, locate__debug(&here, "/tmp/x", &none, "../secret", 0, &file));
	EXPECT_EQ(-ENOENT, locate__debug(&here, "/tmp/x", &none, "..", 0, &file));
	EXPECT_EQ(-ENOENT, locate__debug(&here, "/tmp/x", &none, "", 0, &file));
	EXPECT_EQ(-ENOENT, locate__debug(&here, "noslash", &none, "secret", 0, &file));
	EXPECT_EQ(NULL, file);
}

TEST_F(locate, replaced_program_comes_from_the_build_id_cache)
{
	struct build_id id = id_of(self->prog);
	char *cached = locate__cached(&id, "elf");

	ASSERT_NE(NULL, cached);
	ASSERT_EQ(0, run("mkdir -p $(dirname %s) && mv %s %s", cached, self->prog, cached));
	ASSERT_EQ(0, build(self->prog, "-O0 -Wl,--build-id"));
	EXPECT_STREQ("hidden_function", name_at(self->m, self->prog, &id, self->addr));
	EXPECT_STREQ(self->prog, frame_at(self->m, self->prog, &id, self->addr).dso);
	free(cached);
}

TEST_F(locate, missing_program_comes_from_its_debug_file)
{
	struct build_id id = id_of(self->prog);
	char *cached = locate__cached(&id, "debug");

	ASSERT_NE(NULL, cached);
	ASSERT_EQ(0, split(self->prog, self->debug));
	ASSERT_EQ(0, run("mkdir -p $(dirname %s) && mv %s %s && rm %s", cached, self->debug, cached,
			 self->prog));
	EXPECT_STREQ("hidden_function", name_at(self->m, self->prog, &id, self->addr));
	free(cached);
}

TEST_F(locate, replaced_program_has_no_names_of_the_new_one)
{
	struct build_id id = id_of(self->prog);

	ASSERT_EQ(0, build(self->prog, "-O0 -Wl,--build-id"));
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, &id, self->addr));
}

TEST_F(locate, deleted_program_is_found_where_its_id_says_so)
{
	struct build_id id = id_of(self->prog);
	char deleted[2 * PATH_MAX];

	snprintf(deleted, sizeof(deleted), "%s (deleted)", self->prog);
	EXPECT_STREQ("hidden_function", name_at(self->m, deleted, &id, self->addr));
	EXPECT_STREQ(deleted, frame_at(self->m, deleted, &id, self->addr).dso);
}

TEST_F(locate, deleted_program_without_an_id_has_no_names)
{
	char deleted[2 * PATH_MAX];

	snprintf(deleted, sizeof(deleted), "%s (deleted)", self->prog);
	EXPECT_STREQ("(none)", name_at(self->m, deleted, NULL, self->addr));
}

/* A child with another root: its /prog is ours below self->dir. */
TEST_F(locate, path_of_another_mount_namespace)
{
	struct build_id id = id_of(self->prog);
	struct object_id object = { .path = "/prog", .build_id = id };
	char *file = NULL;
	int fds[2], fd;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root for chroot(2)");
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	if (!pid) {
		char byte = 0;

		if (chroot(self->dir) || write(fds[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(fds[1]);
	ASSERT_EQ(1, read(fds[0], &fd, 1));
	close(fds[0]);
	object.pid = pid;
	fd = locate__object(&here, &object, &file);
	EXPECT_LE(0, fd);
	EXPECT_NE(NULL, strstr(file ?: "", "/root/prog"));
	close(fd);
	free(file);
	kill(pid, SIGKILL);
}

TEST_F(locate, no_names_from_what_is_no_program)
{
	ASSERT_EQ(0, run("head -c 100000 /dev/urandom >%s", self->prog));
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
	ASSERT_EQ(0, run(": >%s/empty", self->dir));
	snprintf(self->prog, sizeof(self->prog), "%s/empty", self->dir);
	EXPECT_STREQ("(none)", name_at(self->m, self->prog, NULL, self->addr));
	EXPECT_STREQ("(none)", name_at(self->m, self->dir, NULL, self->addr));
}

TEST_F(locate, cut_programs_do_not_crash)
{
	for (int kb = 1; kb < 16; kb += 2) {
		struct frame f;

		snprintf(self->debug, sizeof(self->debug), "%s/cut%d", self->dir, kb);
		ASSERT_EQ(0, run("head -c %dK %s >%s", kb, self->prog, self->debug));
		f = frame_at(self->m, self->debug, NULL, self->addr);
		EXPECT_STREQ(self->debug, f.dso);
		machine__srcline(self->m, &f, false);
	}
}

TEST_HARNESS_MAIN
