// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <elfutils/debuginfod.h>

#include "debuginfod.h"
#include "util/msg.h"

#define LIBRARY		"libdebuginfod.so.1"
#define MAX_SILENT_S	10
#define MAX_FILE_S	300

/* The library is no dependency of the program: a system without it has no servers to ask. */
static struct {
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_end) *end;
	__typeof__(debuginfod_find_debuginfo) *find_debuginfo;
	__typeof__(debuginfod_find_executable) *find_executable;
	__typeof__(debuginfod_set_progressfn) *set_progressfn;
	__typeof__(debuginfod_set_user_data) *set_user_data;
	__typeof__(debuginfod_get_user_data) *get_user_data;
} lib;

struct debuginfod {
	debuginfod_client *client;	/* NULL: not needed yet */
	bool off;			/* no use to ask again */

	/* the file that is being fetched */
	const char *name;
	enum debuginfod_kind kind;
	time_t start_s, alive_s;
	long last;
	bool said, too_slow;
};

int debuginfod__new(const char *urls, struct debuginfod **ret)
{
	struct debuginfod *d = calloc(1, sizeof(*d));

	if (!d || setenv("DEBUGINFOD_URLS", urls, 1)) {
		free(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}

void debuginfod__free(struct debuginfod *d)
{
	if (d && d->client)
		lib.end(d->client);
	free(d);
}

static time_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/*
 * Called about once a second, and on data; another value than 0 ends the transfer. Until a server
 * has answered, @a counts these calls and not bytes: growing by one is no sign of life.
 */
static int watch(debuginfod_client *client, long a, long b)
{
	struct debuginfod *d = lib.get_user_data(client);
	time_t now = now_s();

	(void)b;
	if (!d->said)
		pr_info("Fetching the %s of %s with debuginfod\n",
			d->kind == DEBUGINFOD_EXECUTABLE ? "program file" : "debug information",
			d->name);
	d->said = true;
	if (a > d->last + 1)
		d->alive_s = now;
	d->last = a;
	d->too_slow = now - d->alive_s >= MAX_SILENT_S || now - d->start_s >= MAX_FILE_S;
	return d->too_slow;
}

/* Link the symbols of the header to the library's. */
static bool load_library(void)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	lib.begin = dlsym(handle, "debuginfod_begin");
	lib.end = dlsym(handle, "debuginfod_end");
	lib.find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
	lib.find_executable = dlsym(handle, "debuginfod_find_executable");
	lib.set_progressfn = dlsym(handle, "debuginfod_set_progressfn");
	lib.set_user_data = dlsym(handle, "debuginfod_set_user_data");
	lib.get_user_data = dlsym(handle, "debuginfod_get_user_data");
	return lib.begin && lib.end && lib.find_debuginfo && lib.find_executable &&
	       lib.set_progressfn && lib.set_user_data && lib.get_user_data;
}

static bool begin(struct debuginfod *d)
{
	if (!load_library()) {
		pr_warning("debuginfod: no usable " LIBRARY " here: nothing is fetched\n");
		return false;
	}
	d->client = lib.begin();
	if (!d->client)
		return false;
	lib.set_user_data(d->client, d);
	lib.set_progressfn(d->client, watch);
	return true;
}

/* All but "no server has it" will not be better for the next file. */
static void judge_failure(struct debuginfod *d, int err)
{
	/* the library may call a transfer that we ended -ENOENT, too */
	if (err == -ENOENT && !d->too_slow)
		return;
	d->off = true;
	if (d->too_slow)
		pr_warning("debuginfod: %s does not come in time: nothing more is fetched\n",
			   d->name);
	else
		pr_warning("debuginfod: %s: %s: nothing more is fetched\n", d->name,
			   strerror(-err));
}

char *debuginfod__fetch(struct debuginfod *d, const struct build_id *id, enum debuginfod_kind kind,
			const char *name)
{
	char *path = NULL;
	int fd;

	if (d->off)
		return NULL;
	if (!d->client && !begin(d)) {
		d->off = true;
		return NULL;
	}
	d->name = name;
	d->kind = kind;
	d->start_s = d->alive_s = now_s();
	d->last = 0;
	d->said = d->too_slow = false;
	if (kind == DEBUGINFOD_EXECUTABLE)
		fd = lib.find_executable(d->client, id->bits, id->bytes, &path);
	else
		fd = lib.find_debuginfo(d->client, id->bits, id->bytes, &path);
	if (fd < 0) {
		judge_failure(d, fd);
		return NULL;
	}
	close(fd);
	return path;
}
