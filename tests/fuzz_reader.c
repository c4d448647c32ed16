// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_reader.c - read files to the end and touch all that comes out of them.
 *
 * As a program of its own it takes files; make check TEST=fuzz feeds it by clang's libFuzzer
 * (fuzz/reader_fuzz.c).
 *
 * Any byte may be anything: nothing but an error line may come of it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "perfdata/reader.h"
#include "util/msg.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

/* Sums up bytes, so that a sanitizer sees them read. */
static __u64 touch(const void *data, size_t bytes)
{
	const unsigned char *pos = data;
	__u64 sum = 0;

	while (bytes--)
		sum += *pos++;
	return sum;
}

static __u64 touch_text(const char *text)
{
	return text ? touch(text, strlen(text) + 1) : 0;
}

static __u64 touch_fields(const struct pdsample *s)
{
	const struct tep_event *format = s->event->format;
	const struct tep_format_field *field;
	__u64 value, sum = 0;
	char text[64];

	for (field = format ? format->format.fields : NULL; field; field = field->next) {
		if (!pdfield__u64(field, s, &value))
			sum += value;
		if (!pdfield__str(field, s, text, sizeof(text)))
			sum += touch_text(text);
	}
	return sum;
}

static int touch_sample(void *ctx, const struct pdsample *s)
{
	*(__u64 *)ctx += touch(s->ips, s->nr_ips * sizeof(*s->ips)) +
			 touch(s->raw, s->raw_bytes) + touch(s->stack, s->stack_bytes) +
			 (s->regs ? touch(s->regs, __builtin_popcountll(s->regs_mask) * 8) : 0) +
			 touch_fields(s);
	return 0;
}

static int touch_mmap(void *ctx, __u64 time, const struct pdmap *m)
{
	*(__u64 *)ctx += time + touch_text(m->filename) + touch(m->build_id, m->build_id_bytes);
	return 0;
}

static int touch_comm(void *ctx, __u64 time, __u32 pid, __u32 tid, const char *comm, bool exec)
{
	*(__u64 *)ctx += time + pid + tid + touch_text(comm) + exec;
	return 0;
}

static int touch_fork(void *ctx, __u64 time, __u32 pid, __u32 ppid, __u32 tid, __u32 ptid)
{
	*(__u64 *)ctx += time + pid + ppid + tid + ptid;
	return 0;
}

static int touch_exit(void *ctx, __u64 time, __u32 pid, __u32 tid)
{
	*(__u64 *)ctx += time + pid + tid;
	return 0;
}

static int touch_lost(void *ctx, __u64 time, const struct pdevent *event, __u64 nr)
{
	*(__u64 *)ctx += time + event->idx + nr;
	return 0;
}

static __u64 touch_info(const struct pdreader *r)
{
	const struct pdinfo *info = pdreader__info(r);
	__u64 sum = touch_text(info->hostname) + touch_text(info->osrelease) +
		    touch_text(info->version) + touch_text(info->arch) + touch_text(info->cpudesc);
	const char *const *word;
	size_t i;

	for (word = info->cmdline; word && *word; word++)
		sum += touch_text(*word);
	for (i = 0; i < pdreader__nr_events(r); i++)
		sum += touch_text(pdreader__event(r, i)->name);
	return sum;
}

static int read_file(const char *path)
{
	static const struct pdreader_ops ops = {
		.sample = touch_sample, .mmap = touch_mmap, .comm = touch_comm, .fork = touch_fork,
		.exit = touch_exit, .lost = touch_lost,
	};
	struct pdreader *r;
	__u64 sum;
	int err = pdreader__open(path, &r);

	if (err)
		return err;
	sum = touch_info(r);
	err = pdreader__read(r, &ops, &sum);
	pdreader__close(r);
	return err;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];

	msg__set_verbose(-2);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, bytes) == (ssize_t)bytes)
		read_file(path);
	close(fd);
	return 0;
}

#ifndef LIBFUZZER
int main(int argc, char **argv)
{
	int i, err = 0;

	for (i = 1; i < argc; i++)
		err |= read_file(argv[i]);
	return err ? 1 : 0;
}
#endif
