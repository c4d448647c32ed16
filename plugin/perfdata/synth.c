// SPDX-License-Identifier: GPL-2.0-only
/*
 * What was there before the events were opened: running processes, their threads and mappings; as
 * the records that the kernel would have written. (The kernel itself: synth_kernel.c.)
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "synth.h"

#include "synth_record.h"
#include "target/process.h"
#include "writer.h"

struct fork_record {
	struct perf_event_header header;
	__u32 pid, ppid, tid, ptid;
	__u64 time;
};

struct comm_record {
	struct perf_event_header header;
	__u32 pid, tid;
};

/* Name and parent from /proc/TID/status; false when the task is gone. */
static bool read_status(pid_t pid, char *comm, size_t comm_bytes, int *ppid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	comm[0] = '\0';
	while (getline(&line, &room, file) > 0) {
		if (!strncmp(line, "Name:\t", 6)) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(comm, comm_bytes, "%s", line + 6);
		}
		if (sscanf(line, "PPid: %d", ppid) == 1)
			break;
	}
	free(line);
	fclose(file);
	return true;
}

static int write_comm(struct pdwriter *w, pid_t pid, pid_t tid, const char *comm)
{
	struct comm_record c = {
		.header.type = PERF_RECORD_COMM, .pid = pid, .tid = tid,
	};

	return synth_record__write(w, &c.header, sizeof(c), comm, pid, tid);
}

/*
 * FORK_EXEC, as perf sets it here: the mappings are not to be taken from the parent, they follow.
 */
static int write_fork(struct pdwriter *w, pid_t pid, pid_t ppid, pid_t tid)
{
	struct fork_record f = {
		.header = { .type = PERF_RECORD_FORK, .misc = PERF_RECORD_MISC_FORK_EXEC },
		.pid = pid, .ppid = ppid, .tid = tid, .ptid = ppid,
	};

	return synth_record__write(w, &f.header, sizeof(f), NULL, pid, tid);
}

static int write_threads(struct pdwriter *w, pid_t pid, const pid_t *tids, size_t nr)
{
	char comm[64];
	int err = 0, ppid;
	size_t i;

	for (i = 0; !err && i < nr; i++) {
		if (tids[i] == pid || !read_status(tids[i], comm, sizeof(comm), &ppid))
			continue;
		err = write_fork(w, pid, pid, tids[i]) ?: write_comm(w, pid, tids[i], comm);
	}
	return err;
}

static bool read_build_id_at(const char *path, __u64 ino, struct build_id *ret)
{
	int fd = locate__open(path);
	struct stat st;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_ino == ino)
		*ret = locate__build_id(fd);
	close(fd);
	return true;
}

/*
 * Of the mapped file itself: map_files opens it whatever stands at its path now, in whatever mount
 * namespace, but needs CAP_CHECKPOINT_RESTORE. Elsewhere the path as the process sees it.
 */
static struct build_id read_map_build_id(pid_t tid, const struct synth_mmap2 *m, const char *path)
{
	char open_path[SYNTH_NAME_MAX_BYTES + 64];
	struct build_id id = {};

	if (path[0] != '/' || !m->ino)
		return id;
	snprintf(open_path, sizeof(open_path), "/proc/%d/map_files/%llx-%llx", tid, m->start,
		 m->start + m->len);
	if (read_build_id_at(open_path, m->ino, &id))
		return id;
	snprintf(open_path, sizeof(open_path), "/proc/%d/root%s", tid, path);
	read_build_id_at(open_path, m->ino, &id);
	return id;
}

/* A newline in a name stands there as \012, and nothing else is escaped: no backslash either. */
static void unescape_newlines(char *text)
{
	char *from = text, *to = text;

	while (*from) {
		bool is_escape = !strncmp(from, "\\012", 4);

		*to++ = is_escape ? '\n' : *from;
		from += is_escape ? 4 : 1;
	}
	*to = '\0';
}

/* "start-end rwxp offset maj:min inode   path" */
static bool parse_map(char *line, struct synth_mmap2 *m, char **path)
{
	unsigned long long start, end, pgoff, ino;
	int path_at = 0;
	char prot[5];

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, prot, &pgoff, &m->maj,
		   &m->min, &ino, &path_at) < 7 || !path_at)
		return false;
	m->start = start;
	m->len = end - start;
	m->pgoff = pgoff;
	m->ino = ino;
	m->prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
		  (prot[2] == 'x' ? PROT_EXEC : 0);
	m->flags = prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	*path = line + path_at;
	unescape_newlines(*path);
	return true;
}

/* @data: With the mappings of files that are not executable, where .eh_frame may be. */
static int write_map(struct pdwriter *w, pid_t pid, pid_t tid, bool data, char *line)
{
	struct synth_mmap2 m = {
		.header = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER },
		.pid = pid, .tid = pid,
	};
	struct build_id id;
	char *path;

	if (!parse_map(line, &m, &path))
		return 0;
	if (!(m.prot & PROT_EXEC)) {
		if (!data || *path != '/')
			return 0;
		m.header.misc |= PERF_RECORD_MISC_MMAP_DATA;
	}
	id = read_map_build_id(tid, &m, path);
	synth_mmap2__set_build_id(&m, &id);
	return synth_record__write(w, &m.header, sizeof(m), *path ? path : "//anon", pid, pid);
}

/* @tid: The thread to look through. Return: 1 when it has mappings, 0 when not, or an error. */
static int write_maps_of(struct pdwriter *w, pid_t pid, pid_t tid, bool data)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0, found = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	while (!err && getline(&line, &room, file) > 0) {
		err = write_map(w, pid, tid, data, line);
		found = 1;
	}
	free(line);
	fclose(file);
	return err ?: found;
}

/* The main thread shows no mappings when it has ended before the others. */
static int write_maps(struct pdwriter *w, pid_t pid, const pid_t *tids, size_t nr, bool data)
{
	int found = write_maps_of(w, pid, pid, data);
	size_t i;

	for (i = 0; !found && i < nr; i++)
		found = write_maps_of(w, pid, tids[i], data);
	return found < 0 ? found : 0;
}

int synth__process(struct pdwriter *w, pid_t pid, bool data)
{
	pid_t *tids;
	char comm[64];
	int err, ppid = 0;
	size_t nr;

	err = process__threads(pid, &tids, &nr);
	if (err)
		return err;
	if (!read_status(pid, comm, sizeof(comm), &ppid))
		err = -ESRCH;
	err = err ?: write_fork(w, pid, ppid, pid) ?:
	      write_comm(w, pid, pid, comm) ?:
	      write_maps(w, pid, tids, nr, data) ?:
	      write_threads(w, pid, tids, nr);
	free(tids);
	return err;
}
