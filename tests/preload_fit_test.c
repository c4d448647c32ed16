// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which programs take the preload library, where it is, and what LD_PRELOAD becomes.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "files.h"
#include "kselftest_harness.h"
#include "probe/preload_fit.h"
#include "target/preload.h"

#define PLAIN	"int main(void) { return 0; }"

FIXTURE(fit) {
	char dir[64];
	char path[128];
};

FIXTURE_SETUP(fit)
{
	strcpy(self->dir, "/tmp/preload_fit_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	ASSERT_EQ(0, chmod(self->dir, 0755));
	snprintf(self->path, sizeof(self->path), "%s/program", self->dir);
}

FIXTURE_TEARDOWN(fit)
{
	char command[128];

	snprintf(command, sizeof(command), "/bin/rm -rf '%s'", self->dir);
	EXPECT_EQ(0, system(command));
}

static int compile_with(const char *compiler, const char *path, const char *source,
			const char *options)
{
	char source_path[160], command[512];

	snprintf(source_path, sizeof(source_path), "%s.c", path);
	write_file(source_path, 0600, source);
	snprintf(command, sizeof(command), "%s -w -o %s %s %s 2>%s.log", compiler, path, source_path,
		 options, path);
	return system(command);
}

static int compile(const char *path, const char *source, const char *options)
{
	return compile_with("gcc", path, source, options);
}

/* The judgement, or what went wrong. */
static int judge(const char *command)
{
	char *const argv[] = { (char *)command, "argument", NULL };
	enum preload_fit fit;
	int err = preload__judge(argv, &fit);

	return err ?: (int)fit;
}

TEST_F(fit, plain_program)
{
	ASSERT_EQ(0, compile(self->path, PLAIN, ""));
	EXPECT_EQ(PRELOAD_FITS, judge(self->path));
	ASSERT_EQ(0, compile(self->path, PLAIN, "-no-pie -s"));
	EXPECT_EQ(PRELOAD_FITS, judge(self->path));
}

TEST_F(fit, programs_of_the_system)
{
	setenv("PATH", "/usr/bin:/bin", 1);
	EXPECT_EQ(PRELOAD_FITS, judge("cat"));
	EXPECT_EQ(PRELOAD_FITS, judge("/bin/sh"));
}

TEST_F(fit, static_programs)
{
	ASSERT_EQ(0, compile(self->path, PLAIN, "-static"));
	EXPECT_EQ(PRELOAD_STATIC, judge(self->path));
	ASSERT_EQ(0, compile(self->path, PLAIN, "-static-pie"));
	EXPECT_EQ(PRELOAD_STATIC, judge(self->path));
}

TEST_F(fit, script_goes_by_its_interpreter)
{
	char script[160], text[192];

	snprintf(script, sizeof(script), "%s.script", self->path);
	snprintf(text, sizeof(text), "#!%s\n", self->path);
	write_file(script, 0755, text);
	ASSERT_EQ(0, compile(self->path, PLAIN, "-static"));
	EXPECT_EQ(PRELOAD_STATIC, judge(script));
	ASSERT_EQ(0, compile(self->path, PLAIN, ""));
	EXPECT_EQ(PRELOAD_FITS, judge(script));
	write_file(script, 0755, "echo a script without a first line for the kernel\n");
	EXPECT_EQ(PRELOAD_FITS, judge(script));
}

TEST_F(fit, set_user_id)
{
	ASSERT_EQ(0, compile(self->path, PLAIN, ""));
	ASSERT_EQ(0, chmod(self->path, 04755));
	/* Nothing changes for the owner. */
	EXPECT_EQ(PRELOAD_FITS, judge(self->path));
	if (geteuid())
		SKIP(return, "only root gives files away");
	ASSERT_EQ(0, chown(self->path, 65534, -1));
	ASSERT_EQ(0, chmod(self->path, 04755));
	EXPECT_EQ(PRELOAD_PRIVILEGED, judge(self->path));
}

TEST_F(fit, set_group_id)
{
	if (geteuid())
		SKIP(return, "only root gives files away");
	ASSERT_EQ(0, compile(self->path, PLAIN, ""));
	ASSERT_EQ(0, chown(self->path, -1, 65534));
	ASSERT_EQ(0, chmod(self->path, 02755));
	EXPECT_EQ(PRELOAD_PRIVILEGED, judge(self->path));
	/* Mandatory locking, once; the kernel ignores it. */
	ASSERT_EQ(0, chmod(self->path, 02745));
	EXPECT_EQ(PRELOAD_FITS, judge(self->path));
}

/* What the loader makes of it is the measure. */
static int judge_as_nobody(const char *path)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(setgid(65534) || setuid(65534) ? 99 : judge(path));
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#define SAYS_LIBRARY	"#include <unistd.h>\n" \
	"__attribute__((constructor)) static void say(void) { write(1, \"loaded\\n\", 7); }"

static bool is_preloaded_for_nobody(const char *path, const char *library)
{
	char command[512], text[16] = "";
	FILE *out;

	snprintf(command, sizeof(command), "setpriv --reuid 65534 --regid 65534 --clear-groups env "
		 "LD_PRELOAD=%s %s 2>/dev/null", library, path);
	out = popen(command, "r");
	if (!out)
		return false;
	if (!fgets(text, sizeof(text), out))
		text[0] = '\0';
	pclose(out);
	return !strcmp(text, "loaded\n");
}

TEST_F(fit, rights_are_judged_as_the_loader_does)
{
	char library[160];

	if (geteuid())
		SKIP(return, "only root gives files away");
	snprintf(library, sizeof(library), "%s.so", self->path);
	ASSERT_EQ(0, compile(library, SAYS_LIBRARY, "-shared -fPIC"));
	ASSERT_EQ(0, chmod(library, 0755));
	ASSERT_EQ(0, compile(self->path, PLAIN, ""));
	EXPECT_EQ(PRELOAD_FITS, judge_as_nobody(self->path));
	EXPECT_TRUE(is_preloaded_for_nobody(self->path, library));

	ASSERT_EQ(0, chmod(self->path, 04755));
	EXPECT_EQ(PRELOAD_PRIVILEGED, judge_as_nobody(self->path));
	EXPECT_FALSE(is_preloaded_for_nobody(self->path, library));

	/* To nobody, what is nobody's is not privileged. */
	ASSERT_EQ(0, chown(self->path, 65534, 65534));
	ASSERT_EQ(0, chmod(self->path, 04755));
	EXPECT_EQ(PRELOAD_FITS, judge_as_nobody(self->path));
	EXPECT_TRUE(is_preloaded_for_nobody(self->path, library));
}

TEST_F(fit, file_capabilities)
{
	/* VFS_CAP_REVISION_2 | effective; CAP_NET_RAW permitted */
	static const __u32 caps[5] = { 0x02000001, 1 << 13 };

	if (geteuid())
		SKIP(return, "only root gives files capabilities");
	ASSERT_EQ(0, compile(self->path, PLAIN, ""));
	if (setxattr(self->path, "security.capability", caps, sizeof(caps), 0))
		SKIP(return, "no file capabilities here");
	EXPECT_EQ(PRELOAD_FITS, judge(self->path));
	EXPECT_EQ(PRELOAD_PRIVILEGED, judge_as_nobody(self->path));
}

TEST_F(fit, other_loaders)
{
	char options[192];

	ASSERT_EQ(0, compile(self->path, PLAIN, "-Wl,--dynamic-linker=/no/such/loader"));
	/* execve() says ENOENT. */
	EXPECT_EQ(PRELOAD_LOADER, judge(self->path));
	snprintf(options, sizeof(options), "-Wl,--dynamic-linker=%s/ld-linux-x86-64.so.2", self->dir);
	ASSERT_EQ(0, compile(self->path, PLAIN, options));
	ASSERT_EQ(0, compile(strchr(options, '/'), PLAIN, "-static"));
	EXPECT_EQ(PRELOAD_LOADER, judge(self->path));
}

TEST_F(fit, own_malloc)
{
	static const char source[] =
		"#include <stddef.h>\n"
		"void *malloc(size_t n) { return NULL; } void free(void *p) {} " PLAIN;

	ASSERT_EQ(0, compile(self->path, source, "-fno-builtin"));
	EXPECT_EQ(PRELOAD_OWN_MALLOC, judge(self->path));
	ASSERT_EQ(0, compile(self->path, source, "-fno-builtin -s"));
	EXPECT_EQ(PRELOAD_OWN_MALLOC, judge(self->path));
}

/* A call of malloc, or one's own function of a like name, is no definition. */
TEST_F(fit, calls_malloc)
{
	ASSERT_EQ(0, compile(self->path, "#include <stdlib.h>\n"
			     "void *xmalloc(size_t n) { return malloc(n); }\n"
			     "int main(void) { return !xmalloc(1); }", "-rdynamic -O0"));
	EXPECT_EQ(PRELOAD_FITS, judge(self->path));
}

static bool is_sanitized(const char *path, const char *compiler, const char *options)
{
	return !compile_with(compiler, path, PLAIN, options);
}

TEST_F(fit, sanitizers)
{
	static const char *const options[] = {
		"-fsanitize=address", "-fsanitize=thread", "-fsanitize=leak",
		"-fsanitize=address -static-libasan",
	};
	size_t nr_built = 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!is_sanitized(self->path, "gcc", options[i]))
			continue;
		nr_built++;
		EXPECT_EQ(PRELOAD_SANITIZER, judge(self->path)) {
			TH_LOG("gcc %s", options[i]);
		}
	}
	if (!nr_built)
		SKIP(return, "gcc has no sanitizers here");
}

TEST_F(fit, sanitizers_of_clang)
{
	static const char *const options[] = {
		"-fsanitize=address", "-fsanitize=address -s", "-fsanitize=address -shared-libasan",
		"-fsanitize=thread", "-fsanitize=memory",
	};
	size_t nr_built = 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!is_sanitized(self->path, "clang", options[i]))
			continue;
		nr_built++;
		EXPECT_EQ(PRELOAD_SANITIZER, judge(self->path)) {
			TH_LOG("clang %s", options[i]);
		}
	}
	if (!nr_built)
		SKIP(return, "clang has no sanitizers here");
}

TEST_F(fit, undefined_behaviour_sanitizer_leaves_malloc_alone)
{
	if (!is_sanitized(self->path, "gcc", "-fsanitize=undefined"))
		SKIP(return, "gcc has no such sanitizer here");
	EXPECT_EQ(PRELOAD_FITS, judge(self->path));
}

static void write_header(const char *path, int class, int machine)
{
	Elf32_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = machine, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(ehdr),
	};
	char bytes[sizeof(Elf64_Ehdr)] = "";
	FILE *out = fopen(path, "w");

	memcpy(bytes, &ehdr, sizeof(ehdr));
	if (!out || fwrite(bytes, sizeof(bytes), 1, out) != 1 || fclose(out) || chmod(path, 0755))
		abort();
}

TEST_F(fit, other_architectures)
{
	write_header(self->path, ELFCLASS32, EM_386);
	EXPECT_EQ(PRELOAD_ARCH, judge(self->path));
	write_header(self->path, ELFCLASS64, EM_AARCH64);
	EXPECT_EQ(PRELOAD_ARCH, judge(self->path));
	/* x32 */
	write_header(self->path, ELFCLASS32, EM_X86_64);
	EXPECT_EQ(PRELOAD_ARCH, judge(self->path));
}

TEST_F(fit, commands_that_cannot_be_run)
{
	EXPECT_EQ(-ENOENT, judge("/no/such/program"));
	EXPECT_EQ(-EACCES, judge(self->dir));
	write_file(self->path, 0755, "#!/no/such/interpreter\n");
	EXPECT_EQ(-ENOENT, judge(self->path));
}

TEST_F(fit, program_that_may_not_be_read)
{
	if (geteuid())
		SKIP(return, "root changes to nobody for this");
	ASSERT_EQ(0, compile(self->path, PLAIN, ""));
	ASSERT_EQ(0, chmod(self->path, 0711));
	EXPECT_EQ(EACCES, (unsigned char)-judge_as_nobody(self->path));
	ASSERT_EQ(0, chmod(self->path, 04711));
	EXPECT_EQ(PRELOAD_PRIVILEGED, judge_as_nobody(self->path));
}

TEST(each_judgement_has_a_text)
{
	EXPECT_EQ(NULL, preload_fit__text(PRELOAD_FITS));
	for (int fit = PRELOAD_STATIC; fit <= PRELOAD_SANITIZER; fit++)
		EXPECT_NE(NULL, preload_fit__text(fit));
}


/* ------------------------------------------------------------------ LD_PRELOAD */

struct value_row {
	const char *library, *old, *want;
	int err;
};

FIXTURE(value) { char *got; };
FIXTURE_VARIANT(value) { struct value_row row; };
FIXTURE_SETUP(value) { self->got = NULL; }
FIXTURE_TEARDOWN(value) { free(self->got); }

#define VALUE(name, ...)	FIXTURE_VARIANT_ADD(value, name) { .row = { __VA_ARGS__ } }

VALUE(alone, "/a/l.so", NULL, "/a/l.so");
VALUE(empty, "/a/l.so", "", "/a/l.so");
VALUE(before_another, "/a/l.so", "x.so", "/a/l.so:x.so");
VALUE(before_two, "/a/l.so", "x.so y.so", "/a/l.so:x.so y.so");
VALUE(once, "/a/l.so", "/a/l.so", "/a/l.so");
VALUE(once_among_others, "/a/l.so", "x.so:/a/l.so y.so", "x.so:/a/l.so y.so");
VALUE(once_at_the_end, "/a/l.so", "x.so /a/l.so", "x.so /a/l.so");
VALUE(longer_name, "/a/l.so", "/a/l.so.1", "/a/l.so:/a/l.so.1");
VALUE(shorter_name, "/a/l.so", "/a/l", "/a/l.so:/a/l");
VALUE(separators, "/a/l.so", "::", "/a/l.so:::");
VALUE(blank, "/a b/l.so", NULL, NULL, -EINVAL);
VALUE(colon, "/a:b/l.so", "x.so", NULL, -EINVAL);
VALUE(expanded, "/$ORIGIN/l.so", NULL, NULL, -EINVAL);

TEST_F(value, of_ld_preload)
{
	ASSERT_EQ(variant->row.err, preload__value(variant->row.library, variant->row.old, &self->got));
	if (!variant->row.err)
		EXPECT_STREQ(variant->row.want, self->got);
}

TEST(environment_is_set_once)
{
	setenv("LD_PRELOAD", "x.so", 1);
	ASSERT_EQ(0, preload__setenv("/a/l.so"));
	ASSERT_EQ(0, preload__setenv("/a/l.so"));
	EXPECT_STREQ("/a/l.so:x.so", getenv("LD_PRELOAD"));
	EXPECT_EQ(-EINVAL, preload__setenv("/a b.so"));
	EXPECT_STREQ("/a/l.so:x.so", getenv("LD_PRELOAD"));
	unsetenv("LD_PRELOAD");
}

TEST_F(fit, library_by_environment)
{
	char *found;

	setenv("PERF_CHURN_PRELOAD", self->path, 1);
	EXPECT_EQ(-ENOENT, preload__library(&found));
	write_file(self->path, 0644, "");
	ASSERT_EQ(0, preload__library(&found));
	EXPECT_STREQ(self->path, found);
	free(found);
	setenv("PERF_CHURN_PRELOAD", "", 1);
	EXPECT_EQ(-ENOENT, preload__library(&found));
	strcat(self->path, " 2");
	write_file(self->path, 0644, "");
	setenv("PERF_CHURN_PRELOAD", self->path, 1);
	EXPECT_EQ(-EINVAL, preload__library(&found));
}

TEST_HARNESS_MAIN
