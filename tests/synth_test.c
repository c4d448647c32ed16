// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "files.h"
#include "perfdata/synth.h"
#include "perfdata/synth_record.h"
#include "perfdata/writer.h"
#include "util/msg.h"

#include <kselftest_harness.h>

#define TRAILER_BYTES	32
#define ELF_FILE	"/bin/true"

/* The file's data section, once it is finished. */
struct records {
	char *file;
	size_t at, end;
};

FIXTURE(synth) {
	char dir[32], path[64];
	struct pdwriter *w;
	struct records records;
	struct build_id id;	/* of ELF_FILE */
	pid_t child;
};

FIXTURE_SETUP(synth)
{
	static const char *argv[] = { "perf-churn" };
	const struct pdwriter_info info = { .argc = 1, .argv = argv, .clockid = CLOCK_MONOTONIC };
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU,
	};
	const __u64 sample_id = 1;
	const struct pdwriter_event event = { &attr, "dummy:HG", &sample_id, 1 };
	int fd = open(ELF_FILE, O_RDONLY);

	msg__set_verbose(-2);
	ASSERT_LE(0, fd);
	self->id = locate__build_id(fd);
	close(fd);
	ASSERT_EQ(20, self->id.bytes);
	strcpy(self->dir, "/tmp/synth_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s.data", self->dir);
	ASSERT_EQ(0, pdwriter__new(self->path, &self->w));
	ASSERT_EQ(0, pdwriter__start(self->w, &event, 1, &info));
}

FIXTURE_TEARDOWN(synth)
{
	char command[64];

	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	pdwriter__free(self->w);
	free(self->records.file);
	unlink(self->path);
	snprintf(command, sizeof(command), "rm -r %.31s", self->dir);
	if (system(command))
		perror(command);
}

static int finish(struct pdwriter *w, const char *path, struct records *r)
{
	struct stat st;
	int fd, err;

	err = pdwriter__finish(w);
	if (err)
		return err;
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	r->file = malloc(st.st_size);
	if (read(fd, r->file, st.st_size) != st.st_size)
		return -EIO;
	close(fd);
	memcpy(&r->at, r->file + 40, 8);
	memcpy(&r->end, r->file + 48, 8);
	r->end += r->at;
	return 0;
}

static const struct perf_event_header *next_record(struct records *r)
{
	const struct perf_event_header *h = (void *)(r->file + r->at);

	if (r->at >= r->end)
		return NULL;
	r->at += h->size;
	return h;
}

/* The mapping whose name ends so; NULL without one. */
static const struct synth_mmap2 *find_map(struct records r, const char *end)
{
	const struct perf_event_header *h;

	while ((h = next_record(&r))) {
		const char *name = (const char *)h + sizeof(struct synth_mmap2);

		if (h->type == PERF_RECORD_MMAP2 && strlen(name) >= strlen(end) &&
		    !strcmp(name + strlen(name) - strlen(end), end))
			return (const void *)h;
	}
	return NULL;
}

static const char *name_of(const struct synth_mmap2 *m)
{
	return (const char *)(m + 1);
}

/* FORK or COMM of a thread; @nr words after the header: pid, tid or pid, ppid, tid, ptid. */
static const __u32 *find_task(struct records r, __u32 type, __u32 tid, __u16 *misc)
{
	const struct perf_event_header *h;
	int tid_at = type == PERF_RECORD_FORK ? 2 : 1;

	while ((h = next_record(&r))) {
		const __u32 *words = (const __u32 *)(h + 1);

		if (h->type == type && words[tid_at] == tid) {
			*misc = h->misc;
			return words;
		}
	}
	return NULL;
}

static bool has_id(const struct synth_mmap2 *m, const struct build_id *id)
{
	return m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID && m->build_id_bytes == id->bytes &&
	       !memcmp(m->build_id, id->bits, id->bytes);
}

static int copy_file(const char *from, const char *to)
{
	char command[256];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	return system(command);
}

static void *map_file(const char *path, int flags)
{
	int fd = open(path, O_RDONLY);
	void *map;

	if (fd < 0)
		return MAP_FAILED;
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, flags, fd, 0);
	close(fd);
	return map;
}

static pid_t named_thread_tid;

static void *named_thread(void *barrier)
{
	prctl(PR_SET_NAME, "second");
	named_thread_tid = syscall(SYS_gettid);
	pthread_barrier_wait(barrier);
	pause();
	return NULL;
}

TEST_F(synth, process_thread_and_names)
{
	pthread_barrier_t barrier;
	const __u32 *task;
	pthread_t thread;
	__u16 misc;

	pthread_barrier_init(&barrier, NULL, 2);
	ASSERT_EQ(0, pthread_create(&thread, NULL, named_thread, &barrier));
	pthread_barrier_wait(&barrier);
	ASSERT_EQ(0, synth__process(self->w, getpid(), false));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	task = find_task(self->records, PERF_RECORD_FORK, getpid(), &misc);
	ASSERT_NE(NULL, task);
	EXPECT_EQ((__u32)getppid(), task[1]);
	EXPECT_EQ(PERF_RECORD_MISC_FORK_EXEC, misc);
	task = find_task(self->records, PERF_RECORD_COMM, getpid(), &misc);
	ASSERT_NE(NULL, task);
	EXPECT_STREQ("synth_test", (const char *)(task + 2));
	task = find_task(self->records, PERF_RECORD_FORK, named_thread_tid, &misc);
	ASSERT_NE(NULL, task);
	EXPECT_EQ((__u32)getpid(), task[0]);
	EXPECT_EQ((__u32)getpid(), task[1]);
	task = find_task(self->records, PERF_RECORD_COMM, named_thread_tid, &misc);
	ASSERT_NE(NULL, task);
	EXPECT_STREQ("second", (const char *)(task + 2));
}

TEST_F(synth, records_are_whole_and_end_in_a_trailer)
{
	const struct perf_event_header *h;
	int nr = 0;

	ASSERT_EQ(0, synth__process(self->w, getpid(), false));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	while ((h = next_record(&self->records))) {
		const __u32 *words = (const __u32 *)(h + 1);
		const __u32 *trailer = (const void *)((const char *)h + h->size - TRAILER_BYTES);

		ASSERT_EQ(0, h->size % 8);
		ASSERT_NE(0, h->size);
		if (h->type >= 64)
			continue;
		nr++;
		EXPECT_EQ(words[0], trailer[0]);
		EXPECT_EQ(0, trailer[2] | trailer[3] | trailer[4] | trailer[6] | trailer[7]);
	}
	EXPECT_LT(5, nr);
}

TEST_F(synth, libraries_carry_their_build_id)
{
	const struct synth_mmap2 *m;

	ASSERT_NE(MAP_FAILED, map_file(ELF_FILE, MAP_PRIVATE));
	ASSERT_EQ(0, synth__process(self->w, getpid(), false));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	m = find_map(self->records, "/bin/true");
	ASSERT_NE(NULL, m);
	EXPECT_TRUE(has_id(m, &self->id));
	EXPECT_EQ(PERF_RECORD_MISC_USER, m->header.misc & PERF_RECORD_MISC_CPUMODE_MASK);
	EXPECT_EQ(PROT_READ | PROT_EXEC, (int)m->prot);
	EXPECT_EQ(MAP_PRIVATE, (int)m->flags);
	m = find_map(self->records, "[vdso]");
	ASSERT_NE(NULL, m);
	EXPECT_EQ(0, m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
}

TEST_F(synth, deleted_files_too)
{
	const struct synth_mmap2 *m;
	char path[64];

	snprintf(path, sizeof(path), "%.31s/gone", self->dir);
	ASSERT_EQ(0, copy_file(ELF_FILE, path));
	ASSERT_NE(MAP_FAILED, map_file(path, MAP_SHARED));
	unlink(path);
	write_file(path, 0600, "another file by now");
	ASSERT_EQ(0, synth__process(self->w, getpid(), false));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	m = find_map(self->records, "/gone (deleted)");
	ASSERT_NE(NULL, m);
	EXPECT_EQ(MAP_SHARED, (int)m->flags);
	if (access("/proc/self/map_files", X_OK) || geteuid())
		SKIP(return, "map_files are not permitted");
	EXPECT_TRUE(has_id(m, &self->id));
}

TEST_F(synth, files_without_a_build_id_keep_device_and_inode)
{
	const struct synth_mmap2 *m;
	struct stat st;
	char path[64];
	void *anon;

	snprintf(path, sizeof(path), "%.31s/odd \\101 \n name", self->dir);
	write_file(path, 0600, "\177ELF, or so it says");
	ASSERT_EQ(0, stat(path, &st));
	ASSERT_NE(MAP_FAILED, map_file(path, MAP_PRIVATE));
	anon = mmap(NULL, 8192, PROT_EXEC | PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	ASSERT_NE(MAP_FAILED, anon);
	ASSERT_EQ(0, synth__process(self->w, getpid(), false));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	m = find_map(self->records, "name");
	ASSERT_NE(NULL, m);
	EXPECT_STREQ(path, name_of(m));
	EXPECT_EQ(PERF_RECORD_MISC_USER, m->header.misc);
	EXPECT_EQ(st.st_ino, m->ino);
	m = find_map(self->records, "//anon");
	ASSERT_NE(NULL, m);
	EXPECT_EQ((__u64)(unsigned long)anon, m->start);
	EXPECT_EQ(8192, (int)m->len);
}

static void wait_for_byte(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		abort();
}

/* A child that sees a file of its own where we see none. */
TEST_F(synth, files_in_another_mount_namespace)
{
	const struct synth_mmap2 *m;
	int pipe_fds[2], status;
	char path[64];

	snprintf(path, sizeof(path), "%.31s/inside", self->dir);
	ASSERT_EQ(0, pipe(pipe_fds));
	self->child = fork();
	ASSERT_LE(0, self->child);
	if (!self->child) {
		close(pipe_fds[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", self->dir, "tmpfs", 0, NULL))
			_exit(77);
		if (copy_file(ELF_FILE, path) || map_file(path, MAP_PRIVATE) == MAP_FAILED ||
		    write(pipe_fds[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &status, 1) != 1) {
		waitpid(self->child, &status, 0);
		self->child = 0;
		ASSERT_EQ(77, WEXITSTATUS(status));
		SKIP(return, "no mount namespaces here");
	}
	ASSERT_NE(0, access(path, F_OK));
	ASSERT_EQ(0, synth__process(self->w, self->child, false));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	m = find_map(self->records, "/inside");
	ASSERT_NE(NULL, m);
	EXPECT_TRUE(has_id(m, &self->id));
}

static void *wait_and_tell(void *fd)
{
	char path[64], state = 0;
	FILE *file;

	/* Until the main thread is gone. */
	while (state != 'Z') {
		snprintf(path, sizeof(path), "/proc/%d/stat", getpid());
		file = fopen(path, "r");
		if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			abort();
		fclose(file);
		usleep(1000);
	}
	if (write(*(int *)fd, "", 1) != 1)
		abort();
	pause();
	return NULL;
}

TEST_F(synth, process_whose_main_thread_has_ended)
{
	static int pipe_fds[2];
	pthread_t thread;

	ASSERT_EQ(0, pipe(pipe_fds));
	self->child = fork();
	ASSERT_LE(0, self->child);
	if (!self->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, wait_and_tell, &pipe_fds[1]))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	wait_for_byte(pipe_fds[0]);
	ASSERT_EQ(0, synth__process(self->w, self->child, false));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	EXPECT_NE(NULL, find_map(self->records, "/synth_test"));
}

TEST_F(synth, process_that_is_gone)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(-ESRCH, synth__process(self->w, pid, false));
}

TEST_F(synth, kernel_as_perf_has_it)
{
	const struct synth_mmap2 *m;

	ASSERT_EQ(0, synth__kernel(self->w));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	m = find_map(self->records, "[kernel.kallsyms]_text");
	if (!m)
		SKIP(return, "the kernel hides its addresses");
	EXPECT_EQ(PERF_RECORD_MISC_KERNEL, m->header.misc & PERF_RECORD_MISC_CPUMODE_MASK);
	EXPECT_EQ(-1, (int)m->pid);
	EXPECT_EQ(m->start, m->pgoff);
	EXPECT_LT(0x100000, (long long)m->len);
}

static void put_file(const char *root, const char *name, const void *data, size_t bytes)
{
	char command[256], path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", path);
	fd = system(command) ? -1 : open(path, O_CREAT | O_WRONLY, 0600);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
}

TEST_F(synth, modules_by_their_files)
{
	static const char modules[] =
		"foo_bar 16384 0 - Live 0xffffffffc0400000\n"
		"foo 20480 1 foo_bar, Live 0xffffffffc0500000 (OE)\n"
		"built_elsewhere 4096 0 - Live 0xffffffffc0600000\n"
		"hidden 4096 0 - Live 0x0000000000000000\n"
		"nonsense\n";
	static const char dep[] =
		"kernel/drivers/foo.ko.xz:\n"
		"updates/foo-bar.ko: kernel/drivers/foo.ko.xz\n"
		"/opt/foo.ko:\n";
	static const char notes[] = "\4\0\0\0\2\0\0\0\1\0\0\0GNU\0xx\0\0"
				    "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0abcdefgh";
	static const char bad_notes[] = "\4\0\0\0\377\377\377\377\3\0\0\0GNU\0abcdefgh";
	const struct build_id id = { .bits = "abcdefgh", .bytes = 8 };
	const struct synth_mmap2 *m;

	put_file(self->dir, "proc/modules", modules, strlen(modules));
	put_file(self->dir, "lib/modules/6.1-test/modules.dep", dep, strlen(dep));
	put_file(self->dir, "sys/module/foo/notes/.note.gnu.build-id", notes, sizeof(notes) - 1);
	put_file(self->dir, "sys/module/foo_bar/notes/.note.gnu.build-id", bad_notes,
		 sizeof(bad_notes) - 1);
	ASSERT_EQ(0, synth__modules(self->w, self->dir, "6.1-test"));
	ASSERT_EQ(0, finish(self->w, self->path, &self->records));
	m = find_map(self->records, "foo.ko.xz");
	ASSERT_NE(NULL, m);
	EXPECT_STREQ("/lib/modules/6.1-test/kernel/drivers/foo.ko.xz", name_of(m));
	EXPECT_EQ(0xffffffffc0500000ULL, m->start);
	EXPECT_EQ(20480, (int)m->len);
	EXPECT_TRUE(has_id(m, &id));
	m = find_map(self->records, "foo-bar.ko");
	ASSERT_NE(NULL, m);
	EXPECT_STREQ("/lib/modules/6.1-test/updates/foo-bar.ko", name_of(m));
	EXPECT_EQ(0, m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
	EXPECT_NE(NULL, find_map(self->records, "[built_elsewhere]"));
	EXPECT_EQ(NULL, find_map(self->records, "[hidden]"));
}

TEST_HARNESS_MAIN
