// SPDX-License-Identifier: GPL-2.0-only
#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "write_features.h"

#include "bpf/churn.h"
#include "formats.h"
#include "write_zstd.h"
#include "writer.h"

#ifndef PERF_CHURN_VERSION
#define PERF_CHURN_VERSION "0"
#endif
#define TEXT(x)		TEXT_(x)
#define TEXT_(x)	#x

/* Both are padded to the same size. */
#define FINISHED_VERSION	"perf-churn " PERF_CHURN_VERSION " churn-abi/" TEXT(CHURN_ABI_VERSION)
#define UNFINISHED_VERSION	\
	"perf-churn " PERF_CHURN_VERSION " " VERSION_UNFINISHED " churn-abi/" TEXT(CHURN_ABI_VERSION)
_Static_assert(sizeof(UNFINISHED_VERSION) <= 64, "one unit of a padded string");

static int build_hostname(const struct pdfeature_input *in __attribute__((unused)),
			  struct blob *out)
{
	struct utsname uts;

	if (uname(&uts))
		return -errno;
	blob__put_string(out, uts.nodename);
	return 0;
}

static int build_osrelease(const struct pdfeature_input *in __attribute__((unused)),
			   struct blob *out)
{
	struct utsname uts;

	if (uname(&uts))
		return -errno;
	blob__put_string(out, uts.release);
	return 0;
}

const char *pdfeature__version(bool finished)
{
	return finished ? FINISHED_VERSION : UNFINISHED_VERSION;
}

static int build_version(const struct pdfeature_input *in __attribute__((unused)),
			 struct blob *out)
{
	blob__put_string(out, pdfeature__version(false));
	return 0;
}

static int build_arch(const struct pdfeature_input *in __attribute__((unused)), struct blob *out)
{
	struct utsname uts;

	if (uname(&uts))
		return -errno;
	blob__put_string(out, uts.machine);
	return 0;
}

/* The highest number plus 1, as perf has it: newest perf drops the CPU of samples beyond. */
static __u32 count_cpus_present(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/present", "re");
	char list[4096] = "", *last;

	if (file) {
		if (!fgets(list, sizeof(list), file))
			list[0] = '\0';
		fclose(file);
	}
	last = strpbrk(list, "0123456789") ? list + strlen(list) : NULL;
	while (last && last > list && !strchr(",-", last[-1]))
		last--;
	return last ? atoi(last) + 1 : sysconf(_SC_NPROCESSORS_CONF);
}

static int build_nrcpus(const struct pdfeature_input *in __attribute__((unused)),
			struct blob *out)
{
	blob__put_u32(out, count_cpus_present());
	blob__put_u32(out, sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}

/* Value of a line "name<blanks>: value" of a /proc file; -ENOENT without one. */
static int read_proc_value(const char *path, const char *name, char *value, size_t bytes)
{
	size_t name_bytes = strlen(name), room = 0;
	FILE *file = fopen(path, "re");
	char *line = NULL, *colon;
	int err = -ENOENT;

	if (!file)
		return -errno;
	while (err && getline(&line, &room, file) > 0) {
		colon = strchr(line, ':');
		if (!colon || strncmp(line, name, name_bytes))
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(value, bytes, "%s", colon);
		err = 0;
	}
	free(line);
	fclose(file);
	return err;
}

static int build_cpudesc(const struct pdfeature_input *in __attribute__((unused)),
			 struct blob *out)
{
	char desc[128];

	if (read_proc_value("/proc/cpuinfo", "model name", desc, sizeof(desc)))
		strcpy(desc, "unknown");
	blob__put_string(out, desc);
	return 0;
}

/* "AuthenticAMD,25,1,1": vendor, family, model, stepping, as perf's get_cpuid() has it. */
static int build_cpuid(const struct pdfeature_input *in __attribute__((unused)), struct blob *out)
{
	unsigned int a = 0, b = 0, c = 0, d = 0, family, model;
	char vendor[13] = "", text[64];

	__cpuid(0, a, b, c, d);
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	__cpuid(1, a, b, c, d);
	family = (a >> 8) & 0xf;
	model = (a >> 4) & 0xf;
	if (family == 0xf)
		family += (a >> 20) & 0xff;
	if (family >= 0x6)
		model += ((a >> 16) & 0xf) << 4;
	snprintf(text, sizeof(text), "%s,%u,%u,%u", vendor, family, model, a & 0xf);
	blob__put_string(out, text);
	return 0;
}

static int build_total_mem(const struct pdfeature_input *in __attribute__((unused)),
			   struct blob *out)
{
	char text[64] = "0";

	read_proc_value("/proc/meminfo", "MemTotal", text, sizeof(text));
	blob__put_u64(out, strtoull(text, NULL, 10));
	return 0;
}

static int build_cmdline(const struct pdfeature_input *in, struct blob *out)
{
	int i;

	blob__put_u32(out, in->info->argc);
	for (i = 0; i < in->info->argc; i++)
		blob__put_string(out, in->info->argv[i]);
	return 0;
}

static int build_event_desc(const struct pdfeature_input *in, struct blob *out)
{
	const struct pdwriter_event *ev;
	struct perf_event_attr attr;
	size_t i;

	blob__put_u32(out, in->nr_events);
	blob__put_u32(out, in->attr_bytes);
	for (i = 0; i < in->nr_events; i++) {
		ev = &in->events[i];
		attr = *ev->attr;
		attr.size = in->attr_bytes;
		blob__put(out, &attr, in->attr_bytes);
		blob__put_u32(out, ev->nr_ids);
		blob__put_string(out, ev->name);
		blob__put(out, ev->ids, ev->nr_ids * sizeof(*ev->ids));
	}
	return 0;
}

static int build_sample_time(const struct pdfeature_input *in __attribute__((unused)),
			     struct blob *out)
{
	blob__put_u64(out, 0);
	blob__put_u64(out, 0);
	return 0;
}

static int build_clockid(const struct pdfeature_input *in, struct blob *out)
{
	struct timespec res = {};

	clock_getres(in->info->clockid, &res);
	blob__put_u64(out, res.tv_sec * 1000000000ULL + res.tv_nsec);
	return 0;
}

static __u64 read_clock(int clockid)
{
	struct timespec ts;

	clock_gettime(clockid, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Version 1, zstd; readers make room for so many bytes of each record. */
static int build_compressed(const struct pdfeature_input *in, struct blob *out)
{
	_Static_assert(PDFEATURE_RATIO_OFFSET == 3 * sizeof(__u32), "behind version, type, level");
	blob__put_u32(out, 1);
	blob__put_u32(out, 1);
	blob__put_u32(out, in->info->compression_level);
	blob__put_u32(out, 0);
	blob__put_u32(out, ZIP_SLICE_BYTES);
	return 0;
}

/* Version 1: the clock, and one moment by the wall and by it. */
static int build_clock_data(const struct pdfeature_input *in, struct blob *out)
{
	blob__put_u32(out, 1);
	blob__put_u32(out, in->info->clockid);
	blob__put_u64(out, read_clock(CLOCK_REALTIME));
	blob__put_u64(out, read_clock(in->info->clockid));
	return 0;
}

static const struct {
	enum pdfeature bit;
	int (*build)(const struct pdfeature_input *in, struct blob *out);
} features[] = {
	{ PDFEATURE_TRACING_DATA, pdtracing__build },
	{ PDFEATURE_HOSTNAME, build_hostname },
	{ PDFEATURE_OSRELEASE, build_osrelease },
	{ PDFEATURE_VERSION, build_version },
	{ PDFEATURE_ARCH, build_arch },
	{ PDFEATURE_NRCPUS, build_nrcpus },
	{ PDFEATURE_CPUDESC, build_cpudesc },
	{ PDFEATURE_CPUID, build_cpuid },
	{ PDFEATURE_TOTAL_MEM, build_total_mem },
	{ PDFEATURE_CMDLINE, build_cmdline },
	{ PDFEATURE_EVENT_DESC, build_event_desc },
	{ PDFEATURE_SAMPLE_TIME, build_sample_time },
	{ PDFEATURE_CLOCKID, build_clockid },
	{ PDFEATURE_COMPRESSED, build_compressed },
	{ PDFEATURE_CLOCK_DATA, build_clock_data },
};

size_t pdfeatures__nr(void)
{
	return sizeof(features) / sizeof(features[0]);
}

enum pdfeature pdfeature__at(size_t i)
{
	return features[i].bit;
}

bool pdfeature__wanted(size_t i, const struct pdfeature_input *in)
{
	return features[i].bit != PDFEATURE_COMPRESSED || in->info->compression_level;
}

int pdfeature__build(size_t i, const struct pdfeature_input *in, struct blob *out)
{
	return features[i].build(in, out);
}
