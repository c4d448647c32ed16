// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "images.h"
#include "maps.h"
#include "process.h"

#define DELETED	" (deleted)"

/**
 * struct task_state - From /proc/PID/stat and status.
 * @state: R, S, D, Z, ...
 * @vm_bytes: Size of its address space; 0 for kernel threads and zombies.
 */
struct task_state {
	char state;
	unsigned long vm_bytes;
};

static int read_file(const char *path, char *buf, size_t nr_bytes)
{
	FILE *file = fopen(path, "re");
	size_t nr_read;
	int err = 0;

	if (!file)
		return -errno;
	nr_read = fread(buf, 1, nr_bytes - 1, file);
	if (ferror(file))
		err = errno ? -errno : -EIO;
	buf[nr_read] = '\0';
	fclose(file);
	return err;
}

static int read_task_state(pid_t tid, struct task_state *ret)
{
	char path[64], buf[1024], *after_comm;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	err = read_file(path, buf, sizeof(buf));
	if (err)
		return err;
	/* The name may hold blanks and brackets, the fields after it none. */
	after_comm = strrchr(buf, ')');
	if (!after_comm || sscanf(after_comm + 1,
				  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu",
				  &ret->state, &ret->vm_bytes) != 2)
		return -ESRCH;
	return 0;
}

static bool is_alive(pid_t tid)
{
	struct task_state state;

	return !read_task_state(tid, &state) && state.state != 'Z' && state.state != 'X';
}

/* Numbers among the names in a folder, as /proc and /proc/PID/task hold them. */
static int list_numbers(const char *path, pid_t **ret, size_t *ret_nr)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	pid_t *ids = NULL;
	size_t nr = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t *grown;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		/* Doubled whenever nr is a power of two: 1, 2, 4 ... */
		grown = nr & (nr - 1) ? ids : reallocarray(ids, nr ? 2 * nr : 1, sizeof(*ids));
		if (!grown) {
			free(ids);
			closedir(dir);
			return -ENOMEM;
		}
		ids = grown;
		ids[nr++] = atoi(entry->d_name);
	}
	closedir(dir);
	*ret = ids;
	*ret_nr = nr;
	return 0;
}

int process__threads(pid_t pid, pid_t **ret, size_t *ret_nr)
{
	pid_t *tids = NULL;
	size_t nr = 0;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	err = list_numbers(path, &tids, &nr);
	if (err == -ENOENT || (!err && !nr))
		err = -ESRCH;
	if (err)
		return err;
	*ret = tids;
	*ret_nr = nr;
	return 0;
}

/*
 * A thread through which /proc shows the process: the main one, or another when the main one has
 * ended before the process (its maps and root are gone then). 0 when all have ended.
 */
static pid_t find_live_thread(pid_t pid)
{
	pid_t *tids, ret = 0;
	size_t nr_tids;

	if (is_alive(pid))
		return pid;
	if (process__threads(pid, &tids, &nr_tids))
		return 0;
	for (size_t i = 0; i < nr_tids && !ret; i++) {
		if (is_alive(tids[i]))
			ret = tids[i];
	}
	free(tids);
	return ret;
}

static int read_tgid(pid_t pid, pid_t *ret)
{
	char path[64], buf[4096], *line;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	err = read_file(path, buf, sizeof(buf));
	if (err)
		return err;
	line = strstr(buf, "\nTgid:");
	if (!line || sscanf(line, " Tgid: %d", ret) != 1)
		return -ESRCH;
	return 0;
}

/* /proc mounted with hidepid=2 denies that other users' processes are there. */
static int missing_or_hidden(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == EPERM ? -EACCES : -ESRCH;
}

static bool is_permission_error(int err)
{
	return err == -EACCES || err == -EPERM;
}

static int open_maps(pid_t tid, FILE **ret)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	*ret = fopen(path, "re");
	if (*ret)
		return 0;
	err = -errno;
	if (is_permission_error(err))
		return -EACCES;
	return err == -ENOENT ? -ESRCH : err;
}

int process__check(pid_t pid, pid_t *tgid)
{
	FILE *maps;
	pid_t tid;
	int err;

	if (pid <= 0)
		return -ESRCH;
	err = read_tgid(pid, &tid);
	if (err)
		return is_permission_error(err) ? -EACCES : missing_or_hidden(pid);
	if (tid != pid) {
		*tgid = tid;
		return -EINVAL;
	}
	tid = find_live_thread(pid);
	if (!tid)
		return -ESRCH;
	/* Reading the maps takes the right to trace. */
	err = open_maps(tid, &maps);
	if (!err)
		fclose(maps);
	return err;
}

static bool has_user_mappings(pid_t pid)
{
	struct task_state state;
	pid_t tid = find_live_thread(pid);

	return tid && !read_task_state(tid, &state) && state.vm_bytes;
}

int process__all(pid_t except, pid_t **ret, size_t *ret_nr)
{
	size_t nr_pids = 0, nr_kept = 0;
	pid_t *pids = NULL;
	int err = list_numbers("/proc", &pids, &nr_pids);

	if (err)
		return err;
	for (size_t i = 0; i < nr_pids; i++) {
		if (pids[i] != except && has_user_mappings(pids[i]))
			pids[nr_kept++] = pids[i];
	}
	*ret = pids;
	*ret_nr = nr_kept;
	return 0;
}

static bool is_same_file(const char *path, __u64 dev, __u64 ino)
{
	struct stat st;

	return !stat(path, &st) && st.st_dev == dev && st.st_ino == ino;
}

/* Set @buf to where the mapped file stands in the target's view or ours, if it stands there. */
static bool find_by_name(pid_t tid, const struct maps_entry *entry, const char *path, char *buf,
			 size_t nr_bytes)
{
	if (is_same_file(path, entry->dev, entry->ino)) {
		snprintf(buf, nr_bytes, "%s", path);
		return true;
	}
	snprintf(buf, nr_bytes, "/proc/%d/root%s", tid, path);
	return is_same_file(buf, entry->dev, entry->ino);
}

/*
 * The name proves nothing: the file is deleted, or the name means another one; or it is on an
 * overlay or btrfs, where stat() and maps disagree on device and inode.
 */
static void find_by_address(pid_t tid, const struct maps_entry *entry, const char *path,
			    bool deleted, char *buf, size_t nr_bytes)
{
	struct stat st;

	/*
	 * Takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. But better a path that does not open than
	 * the successor of a deleted file.
	 */
	snprintf(buf, nr_bytes, "/proc/%d/map_files/%llx-%llx", tid, entry->start, entry->end);
	if (!stat(buf, &st) || deleted)
		return;
	snprintf(buf, nr_bytes, "/proc/%d/root%s", tid, path);
	if (stat(buf, &st))
		snprintf(buf, nr_bytes, "%s", path);
}

static bool cut_deleted(char *path)
{
	size_t nr_chars = strlen(path), nr_cut = strlen(DELETED);

	if (nr_chars <= nr_cut || strcmp(path + nr_chars - nr_cut, DELETED))
		return false;
	path[nr_chars - nr_cut] = '\0';
	return true;
}

static void locate(pid_t tid, const struct maps_entry *entry, char *path, char *open_path,
		   size_t nr_bytes, bool *deleted)
{
	struct stat st;

	*deleted = false;
	if (find_by_name(tid, entry, path, open_path, nr_bytes))
		return;
	/* Not before: a file may well be named "x (deleted)". */
	*deleted = cut_deleted(path);
	snprintf(open_path, nr_bytes, "/proc/%d/root%s", tid, path);
	if (!*deleted && stat(path, &st) < 0 && stat(open_path, &st) < 0)
		*deleted = errno == ENOENT;
	find_by_address(tid, entry, path, *deleted, open_path, nr_bytes);
}

static int add_mapped_file(struct image_list *list, pid_t tid, const struct maps_entry *entry)
{
	struct process_image image = { .dev = entry->dev, .ino = entry->ino };
	/* Room for "/proc/PID/root" before the longest path. */
	char path[PATH_MAX], open_path[PATH_MAX + 32];
	struct stat st;

	snprintf(path, sizeof(path), "%s", entry->path);
	locate(tid, entry, path, open_path, sizeof(open_path), &image.deleted);
	/* One identity wherever the file is met, also on overlays; see find_by_address(). */
	if (!stat(open_path, &st)) {
		if (!S_ISREG(st.st_mode))
			return 0;
		image.dev = st.st_dev;
		image.ino = st.st_ino;
	}
	image.path = strdup(path);
	image.open_path = strdup(open_path);
	return image_list__add(list, &image);
}

static int add_mapped_files(struct image_list *list, pid_t tid, FILE *maps, size_t *nr_lines)
{
	struct maps_entry entry, last = {};
	size_t nr_alloc = 0;
	char *line = NULL;
	int err = 0;

	*nr_lines = 0;
	while (!err && getline(&line, &nr_alloc, maps) > 0) {
		++*nr_lines;
		if (!maps_entry__parse(line, &entry) || !entry.is_executable || !entry.ino ||
		    entry.path[0] != '/')
			continue;
		/* A JIT compiler may map one file ten thousand times. */
		if (entry.dev == last.dev && entry.ino == last.ino)
			continue;
		err = add_mapped_file(list, tid, &entry);
		last = entry;
	}
	free(line);
	return err;
}

int process__images(pid_t pid, struct process_image **ret, size_t *ret_nr)
{
	pid_t tid = find_live_thread(pid);
	struct image_list list = {};
	size_t nr_lines;
	FILE *maps;
	int err;

	if (!tid)
		return -ESRCH;
	err = open_maps(tid, &maps);
	if (err)
		return err;
	err = add_mapped_files(&list, tid, maps, &nr_lines);
	fclose(maps);
	/* Kernel threads have none either, but they are alive. */
	if (!err && !nr_lines && !find_live_thread(pid))
		err = -ESRCH;
	if (err) {
		image_list__exit(&list);
		return err;
	}
	*ret = list.images;
	*ret_nr = list.nr_images;
	return 0;
}

/* Where the process has what stands at @offset of the file. */
static int find_writable(FILE *maps, const char *path, __u64 offset, __u64 *ret)
{
	struct maps_entry entry;
	size_t nr_alloc = 0;
	char *line = NULL;
	int err = -ENOENT;

	while (err && getline(&line, &nr_alloc, maps) > 0) {
		if (!maps_entry__parse(line, &entry) || !entry.is_writable || strcmp(entry.path, path) ||
		    offset < entry.pgoff || offset - entry.pgoff >= entry.end - entry.start)
			continue;
		*ret = entry.start + (offset - entry.pgoff);
		err = 0;
	}
	free(line);
	return err;
}

static int read_memory(pid_t pid, __u64 addr, void *buf, size_t nr_bytes)
{
	ssize_t nr_read;
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	nr_read = pread(fd, buf, nr_bytes, addr);
	if (nr_read < 0)
		err = -errno;
	else if ((size_t)nr_read < nr_bytes)
		err = -EIO;
	close(fd);
	return err;
}

int process__read_variable(pid_t pid, const char *path, __u64 offset, void *buf, size_t nr_bytes)
{
	FILE *maps;
	__u64 addr;
	int err = open_maps(pid, &maps);

	if (err)
		return err;
	err = find_writable(maps, path, offset, &addr);
	fclose(maps);
	return err ?: read_memory(pid, addr, buf, nr_bytes);
}
