// SPDX-License-Identifier: GPL-2.0-only
/*
 * The field order is the kernel's, see PERF_RECORD_SAMPLE in linux/perf_event.h. Fields that
 * nobody here wants are stepped over, but with the same checks: a length that does not fit means
 * that what was read before it may be wrong as well.
 */
#include <errno.h>
#include <stddef.h>

#include "reader.h"
#include "sample.h"

#define KNOWN_SAMPLE_TYPE	((__u64)PERF_SAMPLE_MAX - 1)
#define KNOWN_READ_FORMAT	((__u64)PERF_FORMAT_MAX - 1)
/* Up to PERF_SAMPLE_BRANCH_COUNTERS (Linux 6.8), which older headers do not have. */
#define BRANCH_COUNTERS		(1ULL << 19)
#define KNOWN_BRANCH_TYPE	((1ULL << 20) - 1)

/* Fields of one word each, in this order, at the start of a sample. */
#define FIXED_FIELDS	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | \
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define TRAILER_FIELDS	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
/* Fields behind the callchain and the raw data, rare in what we read. */
#define LATE_FIELDS	(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | \
			 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT_TYPE | \
			 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | \
			 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | \
			 PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | \
			 PERF_SAMPLE_AUX)

/* What is left of a record; @pos stays 8-byte aligned. */
struct words {
	const __u64 *pos;
	const __u64 *end;
};

static size_t nr_left(const struct words *w)
{
	return w->end - w->pos;
}

static bool skip_words(struct words *w, __u64 nr)
{
	if (nr > nr_left(w))
		return false;
	w->pos += nr;
	return true;
}

static bool take_word(struct words *w, __u64 *ret)
{
	if (w->pos == w->end)
		return false;
	*ret = *w->pos++;
	return true;
}

/* A count, then as many items of @nr_item_words. */
static bool skip_counted(struct words *w, __u64 nr, unsigned int nr_item_words)
{
	return nr <= nr_left(w) && skip_words(w, nr * nr_item_words);
}

static int nr_bits_in(__u64 mask)
{
	return __builtin_popcountll(mask);
}

/* Words of the fields in @order that stand before @field, or -1 if the sample lacks @field. */
static int word_of(__u64 sample_type, __u64 field, const __u64 *order)
{
	int word = 0;

	if (!(sample_type & field))
		return -1;
	for (; *order != field; order++)
		word += !!(sample_type & *order);
	return word;
}

static int trailer_word_of(__u64 sample_type, __u64 field)
{
	static const __u64 from_end[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU, PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_ID, PERF_SAMPLE_TIME, PERF_SAMPLE_TID,
	};

	return word_of(sample_type, field, from_end) + 1;
}

static void init_trailer(struct sample_layout *layout)
{
	__u64 type = layout->sample_type;

	layout->nr_trailer_words = nr_bits_in(type & TRAILER_FIELDS);
	layout->trailer_id_word = type & PERF_SAMPLE_IDENTIFIER ? 1 :
				  trailer_word_of(type, PERF_SAMPLE_ID);
	layout->trailer_time_word = trailer_word_of(type, PERF_SAMPLE_TIME);
	layout->trailer_tid_word = trailer_word_of(type, PERF_SAMPLE_TID);
}

int sample_layout__init(struct sample_layout *layout, const struct perf_event_attr *attr)
{
	static const __u64 from_start[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
		PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
	};
	__u64 type = attr->sample_type;

	if (type & ~KNOWN_SAMPLE_TYPE)
		return -EOPNOTSUPP;
	if ((type & PERF_SAMPLE_READ) && (attr->read_format & ~KNOWN_READ_FORMAT))
		return -EOPNOTSUPP;
	if ((type & PERF_SAMPLE_BRANCH_STACK) && (attr->branch_sample_type & ~KNOWN_BRANCH_TYPE))
		return -EOPNOTSUPP;

	*layout = (struct sample_layout){
		.sample_type = type,
		.read_format = attr->read_format,
		.branch_type = attr->branch_sample_type,
		.user_regs_mask = attr->sample_regs_user,
		.default_period = attr->freq ? 1 : attr->sample_period,
		.nr_fixed_words = nr_bits_in(type & FIXED_FIELDS),
		.nr_user_regs = nr_bits_in(attr->sample_regs_user),
		.nr_intr_regs = nr_bits_in(attr->sample_regs_intr),
	};
	layout->id_word = type & PERF_SAMPLE_IDENTIFIER ? 0 :
			  word_of(type, PERF_SAMPLE_ID, from_start);
	layout->time_word = word_of(type, PERF_SAMPLE_TIME, from_start);
	if (attr->sample_id_all)
		init_trailer(layout);
	return 0;
}

/* Two 32-bit halves of a word, in memory order. */
static __u32 half(const __u64 *word, int idx)
{
	const union {
		__u64 whole;
		__u32 halves[2];
	} u = { .whole = *word };

	return u.halves[idx];
}

static bool decode_fixed(const struct sample_layout *layout, struct words *w, struct pdsample *s)
{
	__u64 type = layout->sample_type;
	const __u64 *pos = w->pos;

	if (!skip_words(w, layout->nr_fixed_words))
		return false;
	pos += !!(type & PERF_SAMPLE_IDENTIFIER);
	s->ip = type & PERF_SAMPLE_IP ? *pos++ : 0;
	s->pid = s->tid = s->cpu = -1;
	if (type & PERF_SAMPLE_TID) {
		s->pid = half(pos, 0);
		s->tid = half(pos++, 1);
	}
	s->time = type & PERF_SAMPLE_TIME ? *pos++ : 0;
	s->addr = type & PERF_SAMPLE_ADDR ? *pos++ : 0;
	pos += !!(type & PERF_SAMPLE_ID);
	pos += !!(type & PERF_SAMPLE_STREAM_ID);
	if (type & PERF_SAMPLE_CPU)
		s->cpu = half(pos++, 0);
	s->period = type & PERF_SAMPLE_PERIOD ? *pos++ : layout->default_period;
	return true;
}

static bool skip_read(const struct sample_layout *layout, struct words *w)
{
	__u64 format = layout->read_format;
	int nr_times = nr_bits_in(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
					    PERF_FORMAT_TOTAL_TIME_RUNNING));
	int nr_value_words = 1 + nr_bits_in(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
	__u64 nr;

	if (!(format & PERF_FORMAT_GROUP))
		return skip_words(w, nr_value_words + nr_times);
	return take_word(w, &nr) && skip_words(w, nr_times) &&
	       skip_counted(w, nr, nr_value_words);
}

static bool decode_callchain(struct words *w, struct pdsample *s)
{
	if (!take_word(w, &s->nr_ips))
		return false;
	if (s->nr_ips)
		s->ips = w->pos;
	return skip_words(w, s->nr_ips);
}

/* u32 size, then the data; the kernel pads so that both together are whole words. */
static bool decode_raw(struct words *w, struct pdsample *s)
{
	if (w->pos == w->end)
		return false;
	s->raw_bytes = half(w->pos, 0);
	s->raw = (const char *)w->pos + sizeof(__u32);
	return skip_words(w, ((__u64)s->raw_bytes + sizeof(__u32) + 7) / 8);
}

static bool skip_branch_stack(const struct sample_layout *layout, struct words *w)
{
	__u64 nr;

	if (!take_word(w, &nr))
		return false;
	/* Where the kernel had no branch stack at all, it writes the zero and no hw_idx. */
	if ((layout->branch_type & PERF_SAMPLE_BRANCH_HW_INDEX) && !skip_words(w, 1))
		return !nr;
	return skip_counted(w, nr, layout->branch_type & BRANCH_COUNTERS ? 4 : 3);
}

static bool decode_user_regs(const struct sample_layout *layout, struct words *w,
			     struct pdsample *s)
{
	if (!take_word(w, &s->regs_abi))
		return false;
	if (s->regs_abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	s->regs = w->pos;
	s->regs_mask = layout->user_regs_mask;
	return skip_words(w, layout->nr_user_regs);
}

static bool skip_intr_regs(const struct sample_layout *layout, struct words *w)
{
	__u64 abi;

	return take_word(w, &abi) &&
	       (abi == PERF_SAMPLE_REGS_ABI_NONE || skip_words(w, layout->nr_intr_regs));
}

/* Size of the copy, the copy, and how much of it the stack really had. */
static bool decode_user_stack(struct words *w, struct pdsample *s)
{
	const void *stack;
	__u64 bytes;

	if (!take_word(w, &bytes) || bytes % 8)
		return false;
	if (!bytes)
		return true;
	stack = w->pos;
	if (!skip_words(w, bytes / 8) || !take_word(w, &s->stack_bytes))
		return false;
	if (s->stack_bytes)
		s->stack = stack;
	return s->stack_bytes <= bytes;
}

static bool skip_aux(struct words *w)
{
	__u64 bytes;

	return take_word(w, &bytes) && skip_words(w, bytes / 8 + !!(bytes % 8));
}

static bool decode_late(const struct sample_layout *layout, struct words *w, struct pdsample *s)
{
	__u64 type = layout->sample_type;
	__u64 before_regs = type & (PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION);
	__u64 after_regs = type & (PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
				   PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE);

	if ((type & PERF_SAMPLE_BRANCH_STACK) && !skip_branch_stack(layout, w))
		return false;
	if ((type & PERF_SAMPLE_REGS_USER) && !decode_user_regs(layout, w, s))
		return false;
	if ((type & PERF_SAMPLE_STACK_USER) && !decode_user_stack(w, s))
		return false;
	if (!skip_words(w, !!(type & PERF_SAMPLE_WEIGHT_TYPE) + nr_bits_in(before_regs)))
		return false;
	if ((type & PERF_SAMPLE_REGS_INTR) && !skip_intr_regs(layout, w))
		return false;
	if (!skip_words(w, nr_bits_in(after_regs)))
		return false;
	return !(type & PERF_SAMPLE_AUX) || skip_aux(w);
}

static void clear_optional(struct pdsample *s)
{
	s->ips = NULL;
	s->nr_ips = 0;
	s->raw = NULL;
	s->raw_bytes = 0;
	s->regs = NULL;
	s->regs_abi = 0;
	s->regs_mask = 0;
	s->stack = NULL;
	s->stack_bytes = 0;
}

int sample__decode(const struct sample_layout *layout, const struct perf_event_header *hdr,
		   struct pdsample *s)
{
	struct words w = { .pos = (const __u64 *)(hdr + 1) };
	__u64 type = layout->sample_type;

	w.end = w.pos + (hdr->size - sizeof(*hdr)) / 8;
	s->cpumode = hdr->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	clear_optional(s);
	if (!decode_fixed(layout, &w, s))
		return -EINVAL;
	if ((type & PERF_SAMPLE_READ) && !skip_read(layout, &w))
		return -EINVAL;
	if ((type & PERF_SAMPLE_CALLCHAIN) && !decode_callchain(&w, s))
		return -EINVAL;
	if ((type & PERF_SAMPLE_RAW) && !decode_raw(&w, s))
		return -EINVAL;
	if ((type & LATE_FIELDS) && !decode_late(layout, &w, s))
		return -EINVAL;
	return 0;
}
