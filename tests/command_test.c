// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which program a command runs, and which files that will map.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "kselftest_harness.h"
#include "target/capture.h"
#include "target/command.h"
#include "target/loader.h"
#include "target/process.h"
#include "target/workload.h"

/* ------------------------------------------------------------------ which program a command is */

FIXTURE(command) {
	char dir[64];
	char path[128];
	char *found;
};

FIXTURE_SETUP(command)
{
	strcpy(self->dir, "/tmp/target_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/command", self->dir);
	self->found = NULL;
}

FIXTURE_TEARDOWN(command)
{
	char command[128];

	free(self->found);
	snprintf(command, sizeof(command), "/bin/rm -rf '%s'", self->dir);
	EXPECT_EQ(0, system(command));
}

TEST_F(command, is_looked_for_on_path)
{
	char search[320];

	snprintf(search, sizeof(search), "/nonexistent:%s:/bin", self->dir);
	setenv("PATH", search, 1);
	write_file(self->path, 0755, "#!/bin/sh\n");
	ASSERT_EQ(0, command__find("command", &self->found));
	EXPECT_STREQ(self->path, self->found);
}

TEST_F(command, that_is_missing)
{
	/* One that we may search: else the answer is that it may be there. */
	setenv("PATH", "/usr/bin:/bin", 1);
	EXPECT_EQ(-ENOENT, command__find("no-such-command-anywhere", &self->found));
	EXPECT_EQ(-ENOENT, command__find("/no/such/file", &self->found));
	EXPECT_EQ(-ENOENT, command__find("", &self->found));
}

TEST_F(command, that_may_not_be_run)
{
	setenv("PATH", self->dir, 1);
	write_file(self->path, 0644, "text");
	EXPECT_EQ(-EACCES, command__find(self->path, &self->found));
	EXPECT_EQ(-EACCES, command__find("command", &self->found));
	EXPECT_EQ(-EACCES, command__find(self->dir, &self->found));
}

TEST_F(command, in_the_current_folder_by_an_empty_entry)
{
	write_file(self->path, 0755, "#!/bin/sh\n");
	ASSERT_EQ(0, chdir(self->dir));
	setenv("PATH", "/nonexistent:", 1);
	ASSERT_EQ(0, command__find("command", &self->found));
	EXPECT_STREQ("./command", self->found);
	setenv("PATH", "/bin:/usr/bin", 1);
}

TEST_F(command, without_a_path_variable)
{
	unsetenv("PATH");
	ASSERT_EQ(0, command__find("sh", &self->found));
	EXPECT_STREQ("/bin/sh", self->found);
}

TEST_F(command, that_is_a_script)
{
	write_file(self->path, 0755, "#! /usr/bin/env  -S python3\nprint()\n");
	ASSERT_EQ(0, command__program(self->path, &self->found));
	EXPECT_STREQ("/usr/bin/env", self->found);
}

TEST_F(command, that_is_a_script_for_a_script)
{
	char second[160], text[192];

	snprintf(second, sizeof(second), "%s.2", self->path);
	snprintf(text, sizeof(text), "#!%s arg\n", self->path);
	write_file(self->path, 0755, "#!/bin/cat\n");
	write_file(second, 0755, text);
	ASSERT_EQ(0, command__program(second, &self->found));
	EXPECT_STREQ("/bin/cat", self->found);
}

TEST_F(command, that_is_its_own_interpreter)
{
	char text[160];

	snprintf(text, sizeof(text), "#!%s\n", self->path);
	write_file(self->path, 0755, text);
	EXPECT_EQ(-ELOOP, command__program(self->path, &self->found));
}

TEST_F(command, whose_interpreter_is_missing)
{
	write_file(self->path, 0755, "#!/no/such/interpreter\n");
	EXPECT_EQ(-ENOENT, command__program(self->path, &self->found));
}

TEST_F(command, that_only_a_shell_can_run)
{
	write_file(self->path, 0755, "echo\n");
	ASSERT_EQ(0, command__program(self->path, &self->found));
	EXPECT_STREQ("/bin/sh", self->found);
}

TEST(first_lines_of_scripts)
{
	char *found = NULL;

	EXPECT_EQ(-ENOEXEC, script__interpreter("", 0, &found));
	EXPECT_EQ(-ENOEXEC, script__interpreter("#", 1, &found));
	EXPECT_EQ(-ENOEXEC, script__interpreter("#!", 2, &found));
	EXPECT_EQ(-ENOEXEC, script__interpreter("#! \t\n/bin/sh", 12, &found));
	EXPECT_EQ(-ENOEXEC, script__interpreter("#/bin/sh", 8, &found));
	ASSERT_EQ(0, script__interpreter("#!/bin/sh", 9, &found));
	EXPECT_STREQ("/bin/sh", found);
	free(found);
}


/* ------------------------------------------------------------------ what it will map */

struct listed_row {
	const char *line, *path;
};

FIXTURE(listed) { char text[128]; };
FIXTURE_VARIANT(listed) { struct listed_row row; };
FIXTURE_SETUP(listed) { strcpy(self->text, variant->row.line); }
FIXTURE_TEARDOWN(listed) { }

#define LISTED(name, ...)	FIXTURE_VARIANT_ADD(listed, name) { .row = { __VA_ARGS__ } }

LISTED(library, "\tlibc.so.6 => /lib/libc.so.6 (0x00007f12)", "/lib/libc.so.6");
LISTED(loader, "\t/lib64/ld-linux-x86-64.so.2 (0x00007f12)", "/lib64/ld-linux-x86-64.so.2");
LISTED(relative_path, "\tx.so => ./x.so (0x00007f12)", "./x.so");
LISTED(blanks, "\tx.so => /a b (0x1)/x.so (0x00007f12)", "/a b (0x1)/x.so");
LISTED(vdso, "\tlinux-vdso.so.1 (0x00007f12)", NULL);
LISTED(missing, "\tlibx.so => not found", NULL);
LISTED(error_text, "\tstatically linked", NULL);
LISTED(empty, "", NULL);

TEST_F(listed, parse)
{
	const char *path = loader__parse_line(self->text);

	if (variant->row.path)
		ASSERT_NE(NULL, path);
	EXPECT_TRUE(path == variant->row.path || !strcmp(path, variant->row.path));
}

FIXTURE(images) {
	char dir[64];
	char path[128];
	struct process_image *images;
	size_t nr_images;
};

FIXTURE_SETUP(images)
{
	strcpy(self->dir, "/tmp/target_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/mapped", self->dir);
	self->images = NULL;
	self->nr_images = 0;
}

FIXTURE_TEARDOWN(images)
{
	char command[128];

	process_images__free(self->images, self->nr_images);
	snprintf(command, sizeof(command), "/bin/rm -rf '%s'", self->dir);
	EXPECT_EQ(0, system(command));
}

#define GET_COMMAND_IMAGES(...)								\
	workload__images((char *[]){ __VA_ARGS__, NULL }, &self->images, &self->nr_images)
#define FILE_IMAGE(path)	find_file(self->images, self->nr_images, path)

TEST_F(images, of_a_command)
{
	ASSERT_EQ(0, GET_COMMAND_IMAGES("cat", "file"));
	EXPECT_NE(NULL, FILE_IMAGE("/bin/cat"));
	EXPECT_NE(NULL, FILE_IMAGE(LIBC));
	EXPECT_NE(NULL, FILE_IMAGE("/lib64/ld-linux-x86-64.so.2"));
	for (size_t i = 0; i < self->nr_images; i++) {
		EXPECT_STREQ(self->images[i].path, self->images[i].open_path);
		EXPECT_FALSE(self->images[i].deleted);
	}
}

TEST_F(images, of_a_script_are_its_interpreters)
{
	write_file(self->path, 0755, "#!/bin/cat\n");
	ASSERT_EQ(0, GET_COMMAND_IMAGES(self->path));
	EXPECT_NE(NULL, FILE_IMAGE("/bin/cat"));
	EXPECT_EQ(NULL, FILE_IMAGE(self->path));
}

static int compile(const char *path, const char *source, const char *options)
{
	char source_path[160], command[512];

	snprintf(source_path, sizeof(source_path), "%s.c", path);
	write_file(source_path, 0600, source);
	snprintf(command, sizeof(command), "gcc -w -o %s %s %s", path, options, source_path);
	return system(command);
}

TEST_F(images, of_a_static_command)
{
	ASSERT_EQ(0, compile(self->path, "int main(void) { return 0; }", "-static"));
	ASSERT_EQ(0, GET_COMMAND_IMAGES(self->path));
	ASSERT_EQ(1, self->nr_images);
	EXPECT_STREQ(self->path, self->images[0].path);
}

TEST_F(images, of_a_command_with_a_preloaded_library)
{
	ASSERT_EQ(0, compile(self->path, "int answer = 42;", "-shared -fPIC"));
	setenv("LD_PRELOAD", self->path, 1);
	EXPECT_EQ(0, GET_COMMAND_IMAGES("cat"));
	unsetenv("LD_PRELOAD");
	EXPECT_NE(NULL, FILE_IMAGE(self->path));
	EXPECT_NE(NULL, FILE_IMAGE(LIBC));
}

/* Its loader notes that it was run in a folder that must not come to be. */
#define TATTLING_LOADER "-static -nostdlib -nostartfiles"
#define TATTLE \
	"static void call(long nr, long a, long b) { long r; __asm__ volatile(\"syscall\" " \
	": \"=a\"(r) : \"a\"(nr), \"D\"(a), \"S\"(b) : \"rcx\", \"r11\", \"memory\"); }\n" \
	"#include <sys/syscall.h>\n" \
	"void _start(void) { call(SYS_mkdir, (long)\"%s/ran\", 0700); call(SYS_exit, 0, 0); }"

static int compile_with_loader(const char *dir, const char *path, const char *loader_name)
{
	char loader[128], source[512], options[192];

	snprintf(loader, sizeof(loader), "%s/%s", dir, loader_name);
	snprintf(source, sizeof(source), TATTLE, dir);
	snprintf(options, sizeof(options), "-Wl,--dynamic-linker=%s", loader);
	return compile(loader, source, TATTLING_LOADER) ?:
	       compile(path, "int main(void) { return 0; }", options);
}

static bool was_loader_run(const char *dir)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/ran", dir);
	return !access(path, F_OK);
}

TEST_F(images, of_a_plain_command_are_asked_for)
{
	ASSERT_EQ(0, compile_with_loader(self->dir, self->path, "ld-test.so"));
	ASSERT_EQ(0, GET_COMMAND_IMAGES(self->path));
	EXPECT_TRUE(was_loader_run(self->dir));
}

TEST_F(images, of_a_setuid_command_are_not_asked_for)
{
	ASSERT_EQ(0, compile_with_loader(self->dir, self->path, "ld-test.so"));
	ASSERT_EQ(0, chmod(self->path, 04755));
	ASSERT_EQ(0, GET_COMMAND_IMAGES(self->path));
	EXPECT_FALSE(was_loader_run(self->dir));
	EXPECT_NE(NULL, FILE_IMAGE(self->path));
	EXPECT_NE(NULL, FILE_IMAGE(LIBC));
}

TEST_F(images, of_a_command_with_a_strange_loader_are_not_asked_for)
{
	ASSERT_EQ(0, compile_with_loader(self->dir, self->path, "rm"));
	ASSERT_EQ(0, GET_COMMAND_IMAGES(self->path));
	EXPECT_FALSE(was_loader_run(self->dir));
	EXPECT_NE(NULL, FILE_IMAGE(LIBC));
}

TEST_F(images, of_a_command_that_is_missing)
{
	setenv("PATH", "/usr/bin:/bin", 1);
	EXPECT_EQ(-ENOENT, GET_COMMAND_IMAGES("no-such-command-anywhere"));
	EXPECT_EQ(-EACCES, GET_COMMAND_IMAGES(self->dir));
}

TEST_F(images, of_a_command_that_is_damaged)
{
	write_file(self->path, 0755, "\177ELF and then nothing of the kind");
	EXPECT_EQ(-ENOEXEC, GET_COMMAND_IMAGES(self->path));
}


/* ------------------------------------------------------------------ capture */

TEST(text_is_captured)
{
	const char * const argv[] = { "/bin/echo", "two words", NULL };
	char *text;

	ASSERT_EQ(0, capture__run(argv, 5000, &text));
	EXPECT_STREQ("two words\n", text);
	free(text);
}

TEST(failing_command_is_no_text)
{
	const char * const fails[] = { "/bin/false", NULL };
	const char * const missing[] = { "/no/such/file", NULL };
	char *text;

	EXPECT_EQ(-EPROTO, capture__run(fails, 5000, &text));
	EXPECT_EQ(-ENOENT, capture__run(missing, 5000, &text));
}

TEST(slow_command_is_killed)
{
	const char * const argv[] = { "/bin/sleep", "100", NULL };
	const char * const hides[] = { "/bin/sh", "-c", "exec >&-; exec sleep 100", NULL };
	char *text;

	EXPECT_EQ(-ETIMEDOUT, capture__run(argv, 50, &text));
	EXPECT_EQ(-ETIMEDOUT, capture__run(hides, 200, &text));
	EXPECT_EQ(-1, waitpid(-1, NULL, WNOHANG));
	EXPECT_EQ(ECHILD, errno);
}

TEST(endless_text_is_refused)
{
	const char * const argv[] = { "/bin/cat", "/dev/zero", NULL };
	char *text;

	EXPECT_EQ(-EFBIG, capture__run(argv, 5000, &text));
}


TEST_HARNESS_MAIN
