// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <time.h>

#include "synthetic.h"

void synthetic_attr(struct perf_event_attr *attr, __u32 event_id)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->size = PERF_ATTR_SIZE_VER7;
	attr->config = event_id;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			    PERF_SAMPLE_RAW;
	attr->read_format = PERF_FORMAT_ID;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

size_t synthetic_encode(const struct synthetic_sample *s, void *out)
{
	/* As the kernel pads it: size word and payload together are a multiple of 8. */
	__u32 raw_size = ((s->raw_bytes + 4 + 7) & ~7UL) - 4;
	struct {
		struct perf_event_header header;
		__u64 sample_id, ip;
		__u32 pid, tid;
		__u64 time;
		__u32 cpu, reserved;
		__u64 period;
		__u32 raw_size;
	} __attribute__((packed)) fixed = {
		.header.type = PERF_RECORD_SAMPLE,
		.header.misc = PERF_RECORD_MISC_USER,
		.header.size = sizeof(fixed) + raw_size,
		.sample_id = s->sample_id,
		.ip = s->ip,
		.pid = s->pid,
		.tid = s->pid,
		.time = s->time_ns,
		.period = 1,
		.raw_size = raw_size,
	};

	memcpy(out, &fixed, sizeof(fixed));
	memcpy((char *)out + sizeof(fixed), s->raw, s->raw_bytes);
	memset((char *)out + sizeof(fixed) + s->raw_bytes, 0, raw_size - s->raw_bytes);
	return fixed.header.size;
}
