// SPDX-License-Identifier: GPL-2.0-only
/*
 * What was there before the events were opened: the kernel's text, running processes, their
 * threads and mappings; as the records that the kernel would have written.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "synth.h"

#include "stack/locate.h"
#include "target/process.h"
#include "util/msg.h"
#include "writer.h"

#define NAME_MAX_BYTES	4096

/* sample_id trailer: TID TIME CPU IDENTIFIER. */
struct trailer {
	__u32 pid, tid;
	__u64 time;
	__u32 cpu, reserved;
	__u64 id;
};

/* Fixed parts of the records; a name may follow, the trailer ends each. */
struct mmap2_head {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 start, len, pgoff;
	union {
		struct {
			__u32 maj, min;
			__u64 ino, ino_generation;
		};
		struct {
			__u8 build_id_bytes, reserved1;
			__u16 reserved2;
			__u8 build_id[BUILD_ID_MAX_BYTES];
		};
	};
	__u32 prot, flags;
};

struct task_head {
	struct perf_event_header header;
	__u32 pid, ppid, tid, ptid;
	__u64 time;
};

struct comm_head {
	struct perf_event_header header;
	__u32 pid, tid;
};

/* head, name padded to 8 bytes with at least one NUL, trailer. */
static int write_record(struct pdwriter *w, struct perf_event_header *head, size_t head_bytes,
			const char *name, pid_t pid, pid_t tid)
{
	struct trailer trailer = { .pid = pid, .tid = tid };
	size_t name_bytes = name ? strlen(name) + 1 : 0, padded;
	char buf[sizeof(struct mmap2_head) + NAME_MAX_BYTES + 8 + sizeof(trailer)] = {};

	if (name_bytes > NAME_MAX_BYTES)
		return 0;
	padded = (name_bytes + 7) & ~7UL;
	head->size = head_bytes + padded + sizeof(trailer);
	memcpy(buf, head, head_bytes);
	if (name)
		memcpy(buf + head_bytes, name, name_bytes);
	memcpy(buf + head_bytes + padded, &trailer, sizeof(trailer));
	return pdwriter__write(w, buf, head->size);
}

static void set_build_id(struct mmap2_head *m, const struct build_id *id)
{
	if (!id->bytes || id->bytes > BUILD_ID_MAX_BYTES)
		return;
	m->header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	m->maj = m->min = 0;
	m->ino = m->ino_generation = 0;
	m->build_id_bytes = id->bytes;
	memcpy(m->build_id, id->bits, id->bytes);
}

/* Note of type NT_GNU_BUILD_ID (3) in a run of ELF notes, as /sys/kernel/notes holds them. */
static void find_build_id_note(const char *notes, size_t bytes, struct build_id *ret)
{
	struct { __u32 name_bytes, desc_bytes, type; } note;
	size_t off = 0, name, desc;

	while (bytes - off >= sizeof(note)) {
		memcpy(&note, notes + off, sizeof(note));
		name = off + sizeof(note);
		desc = name + ((note.name_bytes + 3ULL) & ~3ULL);
		if (desc > bytes || note.desc_bytes > bytes - desc)
			return;
		if (note.type == 3 && note.name_bytes == 4 && !memcmp(notes + name, "GNU", 4) &&
		    note.desc_bytes <= BUILD_ID_MAX_BYTES) {
			ret->bytes = note.desc_bytes;
			memcpy(ret->bits, notes + desc, note.desc_bytes);
			return;
		}
		off = desc + ((note.desc_bytes + 3ULL) & ~3ULL);
		if (off > bytes)
			return;
	}
}

static void read_notes(const char *path, struct build_id *ret)
{
	char notes[8192];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ret->bytes = 0;
	if (fd < 0)
		return;
	n = read(fd, notes, sizeof(notes));
	close(fd);
	if (n > 0)
		find_build_id_note(notes, n, ret);
}

static int write_kernel_map(struct pdwriter *w, __u64 start, __u64 end, const char *name,
			    const char *notes)
{
	struct mmap2_head m = {
		.header = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_KERNEL },
		.pid = -1, .start = start, .len = end - start, .pgoff = start,
		.prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE,
	};
	struct build_id id;

	read_notes(notes, &id);
	set_build_id(&m, &id);
	return write_record(w, &m.header, sizeof(m), name, -1, 0);
}

/* _text and _etext of /proc/kallsyms; zeros where kptr_restrict hides addresses. */
static void find_kernel_text(__u64 *start, __u64 *end)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char *line = NULL, name[64];
	unsigned long long addr;
	size_t room = 0;

	*start = *end = 0;
	if (!file)
		return;
	while ((!*start || !*end) && getline(&line, &room, file) > 0) {
		if (sscanf(line, "%llx %*c %63s", &addr, name) != 2)
			continue;
		if (!strcmp(name, "_text"))
			*start = addr;
		else if (!strcmp(name, "_etext"))
			*end = addr;
		if (!addr)
			break;
	}
	free(line);
	fclose(file);
}

/* "name size refs users state 0xaddress" */
static int write_modules(struct pdwriter *w)
{
	FILE *file = fopen("/proc/modules", "re");
	unsigned long long bytes, addr;
	char name[64], shown[72], notes[160];
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	if (!file)
		return 0;
	while (!err && getline(&line, &room, file) > 0) {
		if (sscanf(line, "%63s %llu %*s %*s %*s 0x%llx", name, &bytes, &addr) != 3 || !addr)
			continue;
		snprintf(shown, sizeof(shown), "[%s]", name);
		snprintf(notes, sizeof(notes), "/sys/module/%s/notes/.note.gnu.build-id", name);
		err = write_kernel_map(w, addr, addr + bytes, shown, notes);
	}
	free(line);
	fclose(file);
	return err;
}

int synth__kernel(struct pdwriter *w)
{
	__u64 start, end;

	find_kernel_text(&start, &end);
	if (!start || end <= start) {
		pr_info("Kernel addresses are hidden (kernel.kptr_restrict): kernel samples will have no symbols.\n");
		return 0;
	}
	return write_kernel_map(w, start, end, "[kernel.kallsyms]_text", "/sys/kernel/notes") ?:
	       write_modules(w);
}

/* The value of a line of /proc/PID/status; false when the process is gone. */
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
	struct comm_head c = {
		.header.type = PERF_RECORD_COMM, .pid = pid, .tid = tid,
	};

	return write_record(w, &c.header, sizeof(c), comm, pid, tid);
}

static int write_fork(struct pdwriter *w, pid_t pid, pid_t ppid, pid_t tid)
{
	struct task_head t = {
		.header.type = PERF_RECORD_FORK, .pid = pid, .ppid = ppid, .tid = tid,
		.ptid = ppid,
	};

	return write_record(w, &t.header, sizeof(t), NULL, pid, tid);
}

static int write_threads(struct pdwriter *w, pid_t pid)
{
	char comm[64];
	size_t nr, i;
	pid_t *tids;
	int err, ppid;

	err = process__threads(pid, &tids, &nr);
	for (i = 0; !err && i < nr; i++) {
		if (tids[i] == pid || !read_status(tids[i], comm, sizeof(comm), &ppid))
			continue;
		err = write_fork(w, pid, pid, tids[i]) ?: write_comm(w, pid, tids[i], comm);
	}
	if (nr)
		free(tids);
	return err;
}

/* The mapped file itself, whatever stands at its path now, in whatever mount namespace. */
static void read_map_build_id(pid_t pid, __u64 start, __u64 end, const char *path,
			      struct build_id *ret)
{
	char open_path[NAME_MAX_BYTES + 64];
	int fd;

	ret->bytes = 0;
	if (path[0] != '/')
		return;
	snprintf(open_path, sizeof(open_path), "/proc/%d/map_files/%llx-%llx", pid, start, end);
	fd = open(open_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		snprintf(open_path, sizeof(open_path), "/proc/%d/root%s", pid, path);
		fd = open(open_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0)
		return;
	*ret = locate__build_id(fd);
	close(fd);
}

/* \012 and the like, as the kernel writes them into maps. */
static void unescape(char *path)
{
	char *to = path, *from = path;

	for (; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && isdigit(from[2]) &&
		    isdigit(from[3])) {
			*to = (from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0');
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static int write_map_line(struct pdwriter *w, pid_t pid, char *line)
{
	struct mmap2_head m = {
		.header = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER },
		.pid = pid, .tid = pid, .flags = MAP_PRIVATE,
	};
	unsigned long long start, end, pgoff, ino;
	struct build_id id;
	char prot[5], *path;
	int path_at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, prot, &pgoff, &m.maj,
		   &m.min, &ino, &path_at) < 7 || !path_at || prot[2] != 'x')
		return 0;
	path = line + path_at;
	unescape(path);
	m.start = start;
	m.len = end - start;
	m.pgoff = pgoff;
	m.ino = ino;
	m.prot = PROT_EXEC | (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0);
	read_map_build_id(pid, start, end, path, &id);
	set_build_id(&m, &id);
	return write_record(w, &m.header, sizeof(m), *path ? path : "//anon", pid, pid);
}

static int write_maps(struct pdwriter *w, pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && getline(&line, &room, file) > 0)
		err = write_map_line(w, pid, line);
	free(line);
	fclose(file);
	return err;
}

int synth__process(struct pdwriter *w, pid_t pid)
{
	char comm[64];
	int ppid = 0;

	if (!read_status(pid, comm, sizeof(comm), &ppid))
		return -ESRCH;
	return write_fork(w, pid, ppid, pid) ?:
	       write_comm(w, pid, pid, comm) ?:
	       write_maps(w, pid) ?:
	       write_threads(w, pid);
}
