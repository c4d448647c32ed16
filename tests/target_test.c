// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes as /proc shows them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "kselftest_harness.h"
#include "target/maps.h"
#include "target/process.h"

/* Above any pid_max. */
#define NO_PID	(1 << 30)

/* ------------------------------------------------------------------ lines of maps files */

struct line_row {
	const char *line;
	bool valid;
	bool is_executable;
	__u64 start, ino;
	const char *path;
};

FIXTURE(line) { char text[256]; struct maps_entry entry; };
FIXTURE_VARIANT(line) { struct line_row row; };
FIXTURE_SETUP(line) { strcpy(self->text, variant->row.line); }
FIXTURE_TEARDOWN(line) { }

#define LINE(name, ...)	FIXTURE_VARIANT_ADD(line, name) { .row = { __VA_ARGS__ } }

LINE(library, "7f0000001000-7f0000002000 r-xp 00026000 fe:01 1234     /lib/libc.so.6\n",
     true, true, 0x7f0000001000, 1234, "/lib/libc.so.6");
LINE(library_data, "1000-2000 rw-p 00000000 00:2a 99 /x\n", true, false, 0x1000, 99, "/x");
LINE(anonymous, "1000-2000 rw-p 00000000 00:00 0 \n", true, false, 0x1000, 0, "");
LINE(anonymous_without_a_blank, "1000-2000 rw-p 00000000 00:00 0\n", true, false, 0x1000, 0, "");
LINE(vsyscall, "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]\n",
     true, true, 0xffffffffff600000, 0, "[vsyscall]");
LINE(blanks_in_the_name, "1000-2000 r-xp 0 00:01 7    /a b  c (deleted)\n",
     true, true, 0x1000, 7, "/a b  c (deleted)");
LINE(newline_in_the_name, "1000-2000 r-xp 0 00:01 7    /a\\012b\n", true, true, 0x1000, 7, "/a\nb");
LINE(backslash_in_the_name, "1000-2000 r-xp 0 00:01 7    /a\\01b\\\n",
     true, true, 0x1000, 7, "/a\\01b\\");
LINE(inode_of_64_bits, "1000-2000 r-xp 0 00:01 18446744073709551615 /a\n",
     true, true, 0x1000, ULLONG_MAX, "/a");
LINE(no_line, "", false);
LINE(half_a_line, "1000-2000 r-xp 0 00:", false);
LINE(other_text, "Name:\tcat\n", false);

TEST_F(line, parse)
{
	const struct line_row *row = &variant->row;

	ASSERT_EQ(row->valid, maps_entry__parse(self->text, &self->entry));
	if (!row->valid)
		return;
	EXPECT_EQ(row->is_executable, self->entry.is_executable);
	EXPECT_EQ(row->start, self->entry.start);
	EXPECT_EQ(row->ino, self->entry.ino);
	EXPECT_STREQ(row->path, self->entry.path);
}

TEST(device_of_a_line)
{
	char text[] = "1000-2000 r-xp 00000000 fe:01 1234 /x\n";
	struct maps_entry entry;

	ASSERT_TRUE(maps_entry__parse(text, &entry));
	EXPECT_EQ(makedev(0xfe, 1), entry.dev);
	EXPECT_EQ(0x2000, entry.end);
}


/* ------------------------------------------------------------------ children to look at */

/* A process whose stdin stays open until it is let go; see child__end(). */
struct child {
	pid_t pid;
	int ready_fd, go_fd;
};

static void wait_for_go(int ready_fd, int go_fd)
{
	char byte = 0;

	if (write(ready_fd, &byte, 1) != 1 || read(go_fd, &byte, 1) < 0)
		abort();
}

static struct child child__start(void (*run)(int ready_fd, int go_fd, void *arg), void *arg)
{
	int ready[2], go[2];
	struct child child;
	char byte;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		abort();
	child.pid = fork();
	if (!child.pid) {
		close(ready[0]);
		close(go[1]);
		run(ready[1], go[0], arg);
		_exit(0);
	}
	close(ready[1]);
	close(go[0]);
	child.ready_fd = ready[0];
	child.go_fd = go[1];
	if (read(child.ready_fd, &byte, 1) != 1)
		abort();
	return child;
}

static void child__end(struct child *child)
{
	close(child->go_fd);
	close(child->ready_fd);
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
}

static void *sleep_forever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void run_threads(int ready_fd, int go_fd, void *arg)
{
	int nr_threads = *(int *)arg;
	pthread_t thread;

	while (--nr_threads > 0)
		pthread_create(&thread, NULL, sleep_forever, NULL);
	wait_for_go(ready_fd, go_fd);
}

static void *report_ready(void *arg)
{
	int *fds = arg;

	/* The main thread is gone a moment after its exit. */
	usleep(20000);
	wait_for_go(fds[0], fds[1]);
	_exit(0);
}

static void run_headless(int ready_fd, int go_fd, void *arg)
{
	static int fds[2];
	pthread_t thread;

	(void)arg;
	fds[0] = ready_fd;
	fds[1] = go_fd;
	pthread_create(&thread, NULL, report_ready, fds);
	/* Not pthread_exit(), which would look for libgcc_s. */
	syscall(SYS_exit, 0);
}


/* ------------------------------------------------------------------ processes */

TEST(this_process_can_be_traced)
{
	pid_t tgid = 0;

	EXPECT_EQ(0, process__check(getpid(), &tgid));
}

TEST(no_such_process)
{
	struct process_image *images;
	pid_t tgid = 0, *tids;
	size_t nr;

	EXPECT_EQ(-ESRCH, process__check(NO_PID, &tgid));
	EXPECT_EQ(-ESRCH, process__check(0, &tgid));
	EXPECT_EQ(-ESRCH, process__check(-1, &tgid));
	EXPECT_EQ(-ESRCH, process__threads(NO_PID, &tids, &nr));
	EXPECT_EQ(-ESRCH, process__images(NO_PID, &images, &nr));
}

TEST(a_zombie_is_no_process)
{
	struct process_image *images;
	siginfo_t info;
	pid_t pid = fork(), tgid = 0;
	size_t nr;

	if (!pid)
		_exit(0);
	ASSERT_EQ(0, waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(-ESRCH, process__check(pid, &tgid));
	EXPECT_EQ(-ESRCH, process__images(pid, &images, &nr));
	waitpid(pid, NULL, 0);
}

TEST(threads_are_counted_and_no_processes)
{
	int nr_threads = 23;
	struct child child = child__start(run_threads, &nr_threads);
	pid_t *tids, tgid = 0;
	size_t nr_tids;

	ASSERT_EQ(0, process__threads(child.pid, &tids, &nr_tids));
	EXPECT_EQ(23, nr_tids);
	for (size_t i = 0; i < nr_tids; i++) {
		tgid = 0;
		if (tids[i] == child.pid) {
			EXPECT_EQ(0, process__check(tids[i], &tgid));
			continue;
		}
		EXPECT_EQ(-EINVAL, process__check(tids[i], &tgid));
		EXPECT_EQ(child.pid, tgid);
	}
	free(tids);
	child__end(&child);
}

TEST(process_whose_main_thread_ended_is_alive)
{
	struct child child = child__start(run_headless, NULL);
	struct process_image *images;
	pid_t *pids, tgid = 0;
	size_t nr_images = 0, nr_pids;
	bool listed = false;

	EXPECT_EQ(0, process__check(child.pid, &tgid));
	ASSERT_EQ(0, process__images(child.pid, &images, &nr_images));
	EXPECT_LE(2, nr_images);
	process_images__free(images, nr_images);
	ASSERT_EQ(0, process__all(0, &pids, &nr_pids));
	for (size_t i = 0; i < nr_pids; i++)
		listed = listed || pids[i] == child.pid;
	EXPECT_TRUE(listed);
	free(pids);
	child__end(&child);
}

TEST(other_users_processes_are_denied)
{
	pid_t tgid = 0;

	if (geteuid())
		SKIP(return, "needs root to become somebody else");
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	EXPECT_EQ(-EACCES, process__check(1, &tgid));
}

static bool has_pid(const pid_t *pids, size_t nr_pids, pid_t pid)
{
	for (size_t i = 0; i < nr_pids; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

TEST(all_processes)
{
	pid_t *pids, zombie = fork();
	siginfo_t info;
	size_t nr_pids;

	if (!zombie)
		_exit(0);
	ASSERT_EQ(0, waitid(P_PID, zombie, &info, WEXITED | WNOWAIT));
	ASSERT_EQ(0, process__all(getpid(), &pids, &nr_pids));
	EXPECT_TRUE(has_pid(pids, nr_pids, getppid()));
	EXPECT_FALSE(has_pid(pids, nr_pids, getpid()));
	EXPECT_FALSE(has_pid(pids, nr_pids, zombie));
	/* kthreadd, unless we are in a pid namespace. */
	if (!access("/proc/2/exe", F_OK) || errno == ENOENT)
		EXPECT_FALSE(has_pid(pids, nr_pids, 2));
	free(pids);
	waitpid(zombie, NULL, 0);
}


/* ------------------------------------------------------------------ images */

static const struct process_image *find_image(const struct process_image *images, size_t nr,
					      const char *path)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(images[i].path, path))
			return &images[i];
	}
	return NULL;
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

/* A file of one page, mapped executable in this process. */
static int map_new_file(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0700);
	void *mem = MAP_FAILED;

	if (fd < 0 || ftruncate(fd, 4096))
		return -errno;
	mem = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return mem == MAP_FAILED ? -errno : 0;
}

#define GET_IMAGES(pid)	process__images(pid, &self->images, &self->nr_images)
#define IMAGE(path)	find_image(self->images, self->nr_images, path)

TEST_F(images, of_this_process)
{
	const struct process_image *image;
	char exe[PATH_MAX] = "";
	struct stat st;

	ASSERT_LT(0, readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	ASSERT_EQ(0, stat(exe, &st));
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	image = IMAGE(exe);
	ASSERT_NE(NULL, image);
	EXPECT_STREQ(exe, image->open_path);
	EXPECT_EQ(st.st_ino, image->ino);
	EXPECT_EQ(st.st_dev, image->dev);
	EXPECT_FALSE(image->deleted);
	EXPECT_NE(NULL, find_file(self->images, self->nr_images, LIBC));
	EXPECT_EQ(NULL, IMAGE("[vdso]"));
}

TEST_F(images, are_listed_once)
{
	ASSERT_EQ(0, map_new_file(self->path));
	for (int i = 0; i < 3; i++) {
		int fd = open(self->path, O_RDONLY);

		/* Between mappings of another file, so that they do not stand together. */
		ASSERT_NE(MAP_FAILED, mmap(NULL, 4096, PROT_EXEC, MAP_SHARED, fd, 0));
		close(fd);
	}
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	for (size_t i = 0; i < self->nr_images; i++) {
		for (size_t j = 0; j < i; j++)
			EXPECT_FALSE(self->images[i].dev == self->images[j].dev &&
				     self->images[i].ino == self->images[j].ino);
	}
}

TEST_F(images, blanks_and_newlines_in_names)
{
	snprintf(self->path, sizeof(self->path), "%.63s/a b\n c (deleted)", self->dir);
	ASSERT_EQ(0, map_new_file(self->path));
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	ASSERT_NE(NULL, IMAGE(self->path));
	EXPECT_FALSE(IMAGE(self->path)->deleted);
	EXPECT_EQ(0, access(IMAGE(self->path)->open_path, R_OK));
}

TEST_F(images, deleted_file)
{
	const struct process_image *image;

	ASSERT_EQ(0, map_new_file(self->path));
	ASSERT_EQ(0, unlink(self->path));
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	image = IMAGE(self->path);
	ASSERT_NE(NULL, image);
	EXPECT_TRUE(image->deleted);
	/* Its bytes are still there for those who may; never is another file taken for it. */
	EXPECT_EQ(0, strncmp(image->open_path, "/proc/", 6));
	if (!geteuid())
		EXPECT_EQ(0, access(image->open_path, R_OK)) TH_LOG("%s", image->open_path);
}

TEST_F(images, replaced_file_is_not_its_successor)
{
	char other[160];
	struct stat st;

	snprintf(other, sizeof(other), "%s.new", self->path);
	ASSERT_EQ(0, map_new_file(self->path));
	close(open(other, O_CREAT | O_WRONLY, 0600));
	ASSERT_EQ(0, rename(other, self->path));
	ASSERT_EQ(0, stat(self->path, &st));
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	ASSERT_NE(NULL, IMAGE(self->path));
	EXPECT_TRUE(IMAGE(self->path)->deleted);
	EXPECT_NE(st.st_ino, IMAGE(self->path)->ino);
}

TEST_F(images, memory_file)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);
	const struct process_image *image;

	ASSERT_EQ(0, ftruncate(fd, 4096));
	ASSERT_NE(MAP_FAILED, mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE, fd, 0));
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	image = IMAGE("/memfd:jit");
	ASSERT_NE(NULL, image);
	EXPECT_TRUE(image->deleted);
}

TEST_F(images, devices_are_none)
{
	int fd = open("/dev/zero", O_RDWR);

	ASSERT_NE(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	EXPECT_EQ(NULL, IMAGE("/dev/zero"));
}

TEST_F(images, of_a_process_with_many_mappings)
{
	for (int i = 0; i < 20000; i++) {
		int prot = i & 1 ? PROT_READ : PROT_READ | PROT_EXEC;

		ASSERT_NE(MAP_FAILED, mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	}
	ASSERT_EQ(0, GET_IMAGES(getpid()));
	EXPECT_NE(NULL, find_file(self->images, self->nr_images, LIBC));
}

static void run_in_chroot(int ready_fd, int go_fd, void *dir)
{
	if (chroot(dir) || map_new_file("/mapped"))
		abort();
	wait_for_go(ready_fd, go_fd);
}

TEST_F(images, of_a_process_with_another_root)
{
	struct child child;
	const struct process_image *image;
	struct stat st;

	if (geteuid())
		SKIP(return, "chroot needs root");
	child = child__start(run_in_chroot, self->dir);
	ASSERT_EQ(0, GET_IMAGES(child.pid));
	ASSERT_EQ(0, stat(self->path, &st));
	image = find_file(self->images, self->nr_images, self->path);
	ASSERT_NE(NULL, image);
	EXPECT_EQ(0, access(image->open_path, R_OK)) TH_LOG("%s", image->open_path);
	child__end(&child);
}

TEST_F(images, of_a_kernel_thread)
{
	char comm[32] = "";
	int fd = open("/proc/2/comm", O_RDONLY);

	if (fd < 0 || read(fd, comm, sizeof(comm) - 1) < 0 || strcmp(comm, "kthreadd\n"))
		return;
	close(fd);
	ASSERT_EQ(0, GET_IMAGES(2));
	EXPECT_EQ(0, self->nr_images);
}


TEST_HARNESS_MAIN
