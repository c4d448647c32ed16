/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perfdata_read.h - read a file with plugin/perfdata and note what came out of it.
 */
#ifndef PERF_CHURN_TESTS_PERFDATA_READ_H
#define PERF_CHURN_TESTS_PERFDATA_READ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perfdata/reader.h"

#define MAX_NOTES 64

/**
 * struct notes - What one read brought.
 * @open_err, @read_err: Results of the two calls.
 * @nr_samples, @nr_others: Calls of the callbacks.
 * @nr_backwards: Samples older than the one before.
 * @ips, @times, @events: Of the first samples.
 * @text: One line per other record.
 * @stderr_text, @nr_lines: What was printed meanwhile.
 */
struct notes {
	int open_err;
	int read_err;
	bool truncated;
	size_t nr_samples;
	size_t nr_others;
	size_t nr_backwards;
	__u64 last_time;
	__u64 ips[MAX_NOTES];
	__u64 times[MAX_NOTES];
	int events[MAX_NOTES];
	__u64 nr_lost;
	char text[4096];
	char stderr_text[4096];
	int nr_lines;
	size_t stop_at;
	int stop_value;
};

static inline int note_sample(void *ctx, const struct pdsample *s)
{
	struct notes *n = ctx;

	if (n->nr_samples < MAX_NOTES) {
		n->ips[n->nr_samples] = s->ip;
		n->times[n->nr_samples] = s->time;
		n->events[n->nr_samples] = s->event->idx;
	}
	n->nr_samples++;
	n->nr_backwards += s->time < n->last_time;
	n->last_time = s->time;
	return n->stop_at == n->nr_samples ? n->stop_value : 0;
}

static inline int note_line(struct notes *n, const char *line)
{
	n->nr_others++;
	if (strlen(n->text) + strlen(line) + 1 < sizeof(n->text))
		strcat(n->text, line);
	return 0;
}

static inline int note_mmap(void *ctx, __u64 time, const struct pdmap *m)
{
	char line[512];
	int i, used;

	used = snprintf(line, sizeof(line),
			"mmap %llu %u/%u %llx+%llx@%llx %s prot %u ino %llu id ", time, m->pid,
			m->tid, m->start, m->len, m->pgoff, m->filename, m->prot, m->ino);
	for (i = 0; i < m->build_id_bytes; i++)
		used += snprintf(line + used, sizeof(line) - used, "%02x", m->build_id[i]);
	snprintf(line + used, sizeof(line) - used, "\n");
	return note_line(ctx, line);
}

static inline int note_comm(void *ctx, __u64 time, __u32 pid, __u32 tid, const char *comm,
			    bool exec)
{
	char line[256];

	snprintf(line, sizeof(line), "comm %llu %u/%u %s%s\n", time, pid, tid, comm,
		 exec ? " exec" : "");
	return note_line(ctx, line);
}

static inline int note_fork(void *ctx, __u64 time, __u32 pid, __u32 ppid, __u32 tid, __u32 ptid)
{
	char line[256];

	snprintf(line, sizeof(line), "fork %llu %u/%u from %u/%u\n", time, pid, tid, ppid, ptid);
	return note_line(ctx, line);
}

static inline int note_exit(void *ctx, __u64 time, __u32 pid, __u32 tid)
{
	char line[256];

	snprintf(line, sizeof(line), "exit %llu %u/%u\n", time, pid, tid);
	return note_line(ctx, line);
}

static inline int note_lost(void *ctx, __u64 time, const struct pdevent *event, __u64 nr)
{
	struct notes *n = ctx;
	char line[256];

	n->nr_lost += nr;
	snprintf(line, sizeof(line), "lost %llu %s %llu\n", time, event->name, nr);
	return note_line(ctx, line);
}

static const struct pdreader_ops note_ops = {
	.sample = note_sample, .mmap = note_mmap, .comm = note_comm, .fork = note_fork,
	.exit = note_exit, .lost = note_lost,
};

static inline void read_noted(const char *path, struct notes *n)
{
	struct pdreader *r;

	n->open_err = pdreader__open(path, &r);
	if (n->open_err)
		return;
	n->read_err = pdreader__read(r, &note_ops, n);
	n->truncated = pdreader__info(r)->truncated;
	pdreader__close(r);
}

/**
 * read_notes() - Read a file to its end, stderr going into the notes.
 *
 * stop_at and stop_value are the caller's; all else is overwritten.
 */
static inline void read_notes(const char *path, struct notes *n)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	size_t stop_at = n->stop_at;
	int stop_value = n->stop_value;
	const char *c;
	ssize_t bytes;

	memset(n, 0, sizeof(*n));
	n->stop_at = stop_at;
	n->stop_value = stop_value;
	fflush(stderr);
	if (fd < 0 || saved < 0 || dup2(fd, STDERR_FILENO) < 0)
		abort();
	read_noted(path, n);
	dup2(saved, STDERR_FILENO);
	close(saved);
	bytes = pread(fd, n->stderr_text, sizeof(n->stderr_text) - 1, 0);
	close(fd);
	if (bytes < 0)
		abort();
	for (c = n->stderr_text; *c; c++)
		n->nr_lines += *c == '\n';
}

#endif /* PERF_CHURN_TESTS_PERFDATA_READ_H */
