/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process.h - running processes, as /proc shows them.
 */
#ifndef PERF_CHURN_TARGET_PROCESS_H
#define PERF_CHURN_TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

/**
 * process__check() - Is @pid a process (not merely a thread) that can be traced?
 *
 * Return: 0; -ESRCH: no such process (or a zombie); -EINVAL: a thread of another process, whose
 * tgid is then in @tgid; -EACCES. Prints nothing.
 */
int process__check(pid_t pid, pid_t *tgid);

/** process__threads() - Thread ids of a process; malloc'ed, the caller frees. */
int process__threads(pid_t pid, pid_t **ret, size_t *ret_nr);

/** process__all() - Ids of all processes with user mappings (no kernel threads, not @except). */
int process__all(pid_t except, pid_t **ret, size_t *ret_nr);

/**
 * struct process_image - One file mapped executable.
 * @path: As /proc/PID/maps shows it, " (deleted)" cut off.
 * @open_path: Opens from here, also across mount namespaces and when deleted: @path where that
 *	is the same file here, else /proc/PID/root/..., /proc/PID/map_files/... (the last takes
 *	CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE).
 * @dev, @ino: Identity of the file, as stat(2) has it (which differs from maps on overlays and
 *	btrfs); from maps where @open_path does not open.
 * @deleted: The path names another file now, or none.
 */
struct process_image {
	char *path;
	char *open_path;
	__u64 dev, ino;
	bool deleted;
};

/**
 * process__images() - Files a process maps executable, each once.
 * @ret: malloc'ed; free with process_images__free().
 *
 * Return: 0, -ESRCH when the process ended, -EACCES, -ENOMEM.
 */
int process__images(pid_t pid, struct process_image **ret, size_t *ret_nr);
void process_images__free(struct process_image *images, size_t nr);

/**
 * process__read_variable() - What a process has in a variable of a file that it maps.
 * @path: As in struct process_image.
 * @offset: Of the variable in the file.
 *
 * Return: 0, -ENOENT when that is not mapped writable, or the errno of open(2) or pread(2).
 */
int process__read_variable(pid_t pid, const char *path, __u64 offset, void *buf, size_t nr_bytes);

#endif /* PERF_CHURN_TARGET_PROCESS_H */
