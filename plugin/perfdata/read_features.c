// SPDX-License-Identifier: GPL-2.0-only
/*
 * Behind the data stands a table of {offset, size}, one entry for each bit set in the header,
 * in the order of the bits. Each section is read as a whole, and what is handed out of it points
 * into it. Control characters are replaced: all these strings end up on somebody's terminal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "read.h"
#include "read_blob.h"
#include "util/msg.h"

/* Numbers of perf's util/header.h; those that are not here are not read. */
enum feature {
	FEAT_TRACING_DATA	= 1,
	FEAT_BUILD_ID		= 2,
	FEAT_HOSTNAME		= 3,
	FEAT_OSRELEASE		= 4,
	FEAT_VERSION		= 5,
	FEAT_ARCH		= 6,
	FEAT_NRCPUS		= 7,
	FEAT_CPUDESC		= 8,
	FEAT_TOTAL_MEM		= 10,
	FEAT_CMDLINE		= 11,
	FEAT_EVENT_DESC		= 12,
	FEAT_SAMPLE_TIME	= 21,
	FEAT_CLOCK_DATA		= 29,
};

#define MAX_FEATURE_BYTES	((__u64)64 << 20)
#define MISC_BUILD_ID_SIZE	(1 << 15)

static char *clean(char *text)
{
	char *c;

	for (c = text; c && *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return text;
}

static void take_string(struct blob *b, const char **ret)
{
	*ret = clean(blob__string(b));
}

static int take_cmdline(struct pdreader *r, struct blob *b)
{
	__u32 i, nr = blob__u32(b);
	const char **argv;

	/* Each word takes 4 bytes at least. */
	if (b->bad || nr > b->left_bytes / sizeof(__u32) || r->cmdline)
		return -EINVAL;
	argv = calloc(nr + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		take_string(b, &argv[i]);
	if (b->bad) {
		free(argv);
		return -EINVAL;
	}
	r->cmdline = argv;
	r->info.cmdline = argv;
	return 0;
}

/* Only the names: attrs and ids are those of the header. */
static void take_event_desc(struct pdreader *r, struct blob *b)
{
	__u32 i, nr = blob__u32(b);
	__u32 attr_bytes = blob__u32(b);

	for (i = 0; i < nr && !b->bad; i++) {
		__u32 nr_ids;
		char *name;

		blob__take(b, attr_bytes);
		nr_ids = blob__u32(b);
		name = clean(blob__string(b));
		blob__take(b, (__u64)nr_ids * sizeof(__u64));
		if (!b->bad && name[0] && i < r->nr_events)
			r->events[i].pub.name = name;
	}
}

/* perf_record_header_build_id: header, pid, build-id of 20 bytes, its size, 3 more bytes. */
static bool take_buildid(struct blob *b, struct buildid *ret)
{
	struct perf_event_header hdr;
	const size_t fixed_bytes = sizeof(hdr) + sizeof(__s32) + 24;
	const char *pos = blob__take(b, fixed_bytes);

	if (!pos)
		return false;
	memcpy(&hdr, pos, sizeof(hdr));
	memcpy(ret->id, pos + sizeof(hdr) + sizeof(__s32), sizeof(ret->id));
	ret->id_bytes = sizeof(ret->id);
	if (hdr.misc & MISC_BUILD_ID_SIZE)
		ret->id_bytes = (unsigned char)pos[fixed_bytes - 4];
	if (hdr.size < fixed_bytes || ret->id_bytes > (int)sizeof(ret->id))
		return false;
	ret->filename = blob__text(b, hdr.size - fixed_bytes);
	return ret->filename;
}

static int cmp_buildids(const void *a, const void *b)
{
	const struct buildid *left = a, *right = b;

	return strcmp(left->filename, right->filename);
}

static int take_buildids(struct pdreader *r, struct blob *b)
{
	size_t nr_max = 0;
	struct buildid id;

	while (b->left_bytes) {
		if (!take_buildid(b, &id))
			return -EINVAL;
		if (r->nr_buildids == nr_max) {
			void *bigger;

			nr_max = nr_max ? nr_max * 2 : 64;
			bigger = realloc(r->buildids, nr_max * sizeof(id));
			if (!bigger)
				return -ENOMEM;
			r->buildids = bigger;
		}
		r->buildids[r->nr_buildids++] = id;
	}
	if (r->nr_buildids)
		qsort(r->buildids, r->nr_buildids, sizeof(id), cmp_buildids);
	return 0;
}

const struct buildid *pdreader__find_buildid(const struct pdreader *r, const char *filename)
{
	static const char kernel[] = "[kernel.kallsyms]";
	struct buildid key = { .filename = filename };

	if (!r->nr_buildids)
		return NULL;
	/* Mappings of the kernel's text name a symbol in it, too: "[kernel.kallsyms]_text" */
	if (!strncmp(filename, kernel, sizeof(kernel) - 1))
		key.filename = kernel;
	return bsearch(&key, r->buildids, r->nr_buildids, sizeof(key), cmp_buildids);
}

static void take_clock(struct pdreader *r, struct blob *b)
{
	__u32 version = blob__u32(b);
	__u32 clockid = blob__u32(b);

	if (!b->bad && version == 1)
		r->info.clockid = clockid;
}

static void take_cpus(struct pdinfo *info, struct blob *b)
{
	info->nr_cpus_avail = blob__u32(b);
	info->nr_cpus_online = blob__u32(b);
}

static void take_sample_time(struct pdinfo *info, struct blob *b)
{
	info->first_time_ns = blob__u64(b);
	info->last_time_ns = blob__u64(b);
}

/* One of ours says so until the very end. */
static void take_version(struct pdreader *r, struct blob *b)
{
	const char *version;

	take_string(b, &r->info.version);
	version = r->info.version;
	r->info.unfinished = version && !strncmp(version, "perf-churn ", 11) &&
			     strstr(version, " " VERSION_UNFINISHED " ");
	if (r->info.unfinished)
		pr_warning("%s: the recording was cut short: the recorder was killed, or could not write (disk full)\n",
			   r->path);
}

static int take_feature(struct pdreader *r, unsigned int feature, struct blob *b)
{
	struct pdinfo *info = &r->info;

	switch (feature) {
	case FEAT_TRACING_DATA:	return pdreader__parse_tracing(r, b->pos, b->left_bytes);
	case FEAT_BUILD_ID:	return take_buildids(r, b);
	case FEAT_HOSTNAME:	take_string(b, &info->hostname); break;
	case FEAT_OSRELEASE:	take_string(b, &info->osrelease); break;
	case FEAT_VERSION:	take_version(r, b); break;
	case FEAT_ARCH:		take_string(b, &info->arch); break;
	case FEAT_NRCPUS:	take_cpus(info, b); break;
	case FEAT_CPUDESC:	take_string(b, &info->cpudesc); break;
	case FEAT_TOTAL_MEM:	info->total_mem_kb = blob__u64(b); break;
	case FEAT_CMDLINE:	return take_cmdline(r, b);
	case FEAT_EVENT_DESC:	take_event_desc(r, b); break;
	case FEAT_SAMPLE_TIME:	take_sample_time(info, b); break;
	case FEAT_CLOCK_DATA:	take_clock(r, b); break;
	}
	return b->bad ? -EINVAL : 0;
}

static bool is_wanted(unsigned int feature)
{
	const __u64 wanted = 1ULL << FEAT_TRACING_DATA | 1ULL << FEAT_BUILD_ID |
			     1ULL << FEAT_HOSTNAME | 1ULL << FEAT_OSRELEASE |
			     1ULL << FEAT_VERSION | 1ULL << FEAT_ARCH | 1ULL << FEAT_NRCPUS |
			     1ULL << FEAT_CPUDESC | 1ULL << FEAT_TOTAL_MEM |
			     1ULL << FEAT_CMDLINE | 1ULL << FEAT_EVENT_DESC |
			     1ULL << FEAT_SAMPLE_TIME | 1ULL << FEAT_CLOCK_DATA;

	return feature < 64 && wanted >> feature & 1;
}

static int read_feature(struct pdreader *r, unsigned int feature,
			const struct file_section *section)
{
	struct blob b = { .left_bytes = section->bytes };
	int err;

	if (section->bytes > MAX_FEATURE_BYTES || !pdreader__has(r, section))
		return -EINVAL;
	b.pos = malloc(section->bytes + 1);
	if (!b.pos)
		return -ENOMEM;
	r->payloads[r->nr_payloads++] = b.pos;
	err = pdreader__pread(r, b.pos, section->bytes, section->offset);
	return err ?: take_feature(r, feature, &b);
}

/* Tracepoints are named after their format, unless EVENT_DESC named them before. */
static int name_events(struct pdreader *r)
{
	size_t i;

	pdreader__add_builtin_formats(r);
	for (i = 0; i < r->nr_events; i++) {
		struct event *event = &r->events[i];

		if (event->pub.name)
			continue;
		event->name = clean(event_name__make(&event->pub));
		if (!event->name)
			return -ENOMEM;
		event->pub.name = event->name;
	}
	return 0;
}

static void init_clock(struct pdreader *r)
{
	const struct perf_event_attr *attr = &r->events[0].pub.attr;

	r->info.clockid = attr->use_clockid ? attr->clockid : -1;
}

static int read_table(struct pdreader *r, const struct file_header *hdr)
{
	__u64 offset = hdr->data.offset + hdr->data.bytes;
	unsigned int feature, nr_bad = 0;

	for (feature = 0; feature < NR_FEATURE_WORDS * 64; feature++) {
		struct file_section section;
		int err;

		if (!(hdr->features[feature / 64] >> feature % 64 & 1))
			continue;
		err = pdreader__pread(r, &section, sizeof(section), offset);
		offset += sizeof(section);
		if (!err && is_wanted(feature))
			err = read_feature(r, feature, &section);
		if (err == -ENOMEM)
			return err;
		nr_bad += !!err;
	}
	if (nr_bad) {
		pr_warning("%s: %u of its header sections are damaged or missing, "
			   "reading on without them\n", r->path, nr_bad);
		/* What stands behind the data is gone: who reads the file shall not take it for whole. */
		r->info.truncated = true;
	}
	return 0;
}

int pdreader__read_features(struct pdreader *r, const struct file_header *hdr)
{
	int err = 0;

	init_clock(r);
	r->payloads = calloc(NR_FEATURE_WORDS * 64, sizeof(*r->payloads));
	if (!r->payloads)
		err = -ENOMEM;
	else if (!r->info.truncated)
		err = read_table(r, hdr);
	err = err ?: name_events(r);
	if (err)
		pr_err("%s: out of memory\n", r->path);
	return err;
}

void pdreader__free_features(struct pdreader *r)
{
	size_t i;

	for (i = 0; i < r->nr_payloads; i++)
		free(r->payloads[i]);
	for (i = 0; r->events && i < r->nr_events; i++)
		free(r->events[i].name);
	free(r->payloads);
	free(r->cmdline);
	free(r->buildids);
}
