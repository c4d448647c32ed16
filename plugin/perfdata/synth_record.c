// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "synth_record.h"

#include "writer.h"

/* For sample_type IDENTIFIER|TID|TIME|CPU. Time and id 0: before all, and of the first event. */
struct trailer {
	__u32 pid, tid;
	__u64 time;
	__u32 cpu, reserved;
	__u64 id;
};

void synth_mmap2__set_build_id(struct synth_mmap2 *m, const struct build_id *id)
{
	if (!id->bytes || id->bytes > BUILD_ID_MAX_BYTES)
		return;
	m->header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	m->maj = m->min = 0;
	m->ino = m->ino_generation = 0;
	m->build_id_bytes = id->bytes;
	memcpy(m->build_id, id->bits, id->bytes);
}

int synth_record__write(struct pdwriter *w, struct perf_event_header *head, size_t head_bytes,
			const char *name, pid_t pid, pid_t tid)
{
	char buf[sizeof(struct synth_mmap2) + SYNTH_NAME_MAX_BYTES + sizeof(struct trailer)];
	size_t name_bytes = name ? strlen(name) + 1 : 0;
	size_t padded = (name_bytes + 7) & ~7UL;
	struct trailer trailer = { .pid = pid, .tid = tid };

	if (name_bytes > SYNTH_NAME_MAX_BYTES || head_bytes > sizeof(struct synth_mmap2))
		return 0;
	head->size = head_bytes + padded + sizeof(trailer);
	memset(buf, 0, head->size);
	memcpy(buf, head, head_bytes);
	if (name)
		memcpy(buf + head_bytes, name, name_bytes);
	memcpy(buf + head_bytes + padded, &trailer, sizeof(trailer));
	return pdwriter__write(w, buf, head->size);
}
