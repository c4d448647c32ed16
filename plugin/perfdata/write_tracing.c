// SPDX-License-Identifier: GPL-2.0-only
/*
 * TRACING_DATA: our own formats, and tracefs' for tracepoints of the kernel. Where tracefs is not
 * to be had, header texts of our own stand in: readers only take sizes from them.
 */
#include <api/fs/tracing_path.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "write_features.h"

#include "formats.h"
#include "util/msg.h"
#include "writer.h"

static const char default_header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static const char default_header_event[] =
	"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

static int read_file(const char *name, struct blob *out)
{
	char *path = get_tracing_file(name);
	char buf[4096];
	ssize_t n;
	int fd;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : 0;
	put_tracing_file(path);
	if (fd < 0)
		return n;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		blob__put(out, buf, n);
	n = n < 0 ? -errno : 0;
	close(fd);
	return n;
}

static void put_header(struct blob *out, const char *name, const char *fallback)
{
	struct blob text = {};
	char path[64];

	snprintf(path, sizeof(path), "events/%s", name);
	if (read_file(path, &text) || !text.bytes) {
		text.bytes = 0;
		blob__put(&text, fallback, strlen(fallback));
	}
	blob__put_cstring(out, name);
	blob__put_u64(out, text.bytes);
	blob__put(out, text.data, text.bytes);
	blob__exit(&text);
}

static bool is_ours(const struct pdwriter_event *ev)
{
	return ev->attr->type == PERF_TYPE_TRACEPOINT && churn_format__text(ev->attr->config);
}

static bool is_kernels(const struct pdwriter_event *ev)
{
	return ev->attr->type == PERF_TYPE_TRACEPOINT && !churn_format__text(ev->attr->config);
}

/* Kernel tracepoints: one system entry each; readers take a system named twice. */
static int put_kernel_event(struct blob *out, const struct pdwriter_event *ev)
{
	struct blob text = {};
	const char *colon = strchr(ev->name, ':');
	char path[160];
	int err;

	if (!colon)
		return -EINVAL;
	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - ev->name), ev->name,
		 colon + 1);
	err = read_file(path, &text);
	if (err) {
		pr_err("%s: cannot read its format from tracefs: %s\n", ev->name, strerror(-err));
		blob__exit(&text);
		return err;
	}
	blob__put(out, ev->name, colon - ev->name);
	blob__put(out, "", 1);
	blob__put_u32(out, 1);
	blob__put_u64(out, text.bytes);
	blob__put(out, text.data, text.bytes);
	blob__exit(&text);
	return 0;
}

static void put_own_system(struct blob *out, const struct pdfeature_input *in, __u32 nr)
{
	const char *text;
	size_t i;

	blob__put_cstring(out, "churn");
	blob__put_u32(out, nr);
	for (i = 0; i < in->nr_events; i++) {
		if (!is_ours(&in->events[i]))
			continue;
		text = churn_format__text(in->events[i].attr->config);
		blob__put_u64(out, strlen(text));
		blob__put(out, text, strlen(text));
	}
}

int pdtracing__build(const struct pdfeature_input *in, struct blob *out)
{
	static const char magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	static const char little_endian, long_bytes = 8;
	__u32 nr_ours = 0, nr_kernels = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < in->nr_events; i++) {
		nr_ours += is_ours(&in->events[i]);
		nr_kernels += is_kernels(&in->events[i]);
	}
	blob__put(out, magic, sizeof(magic));
	blob__put_cstring(out, "0.6");
	blob__put(out, &little_endian, 1);
	blob__put(out, &long_bytes, 1);
	blob__put_u32(out, sysconf(_SC_PAGESIZE));
	put_header(out, "header_page", default_header_page);
	put_header(out, "header_event", default_header_event);
	blob__put_u32(out, 0);				/* formats of ftrace itself */
	blob__put_u32(out, nr_kernels + (nr_ours != 0));
	if (nr_ours)
		put_own_system(out, in, nr_ours);
	for (i = 0; i < in->nr_events && !err; i++) {
		if (is_kernels(&in->events[i]))
			err = put_kernel_event(out, &in->events[i]);
	}
	blob__put_u32(out, 0);				/* kallsyms */
	blob__put_u32(out, 0);				/* printk formats */
	blob__put_u64(out, 0);				/* saved comms */
	return err;
}
