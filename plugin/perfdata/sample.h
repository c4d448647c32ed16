/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sample.h - where the fields of a sample, and of the trailer behind other records, are.
 */
#ifndef PERF_CHURN_PERFDATA_SAMPLE_H
#define PERF_CHURN_PERFDATA_SAMPLE_H

#include <stdbool.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct pdsample;

/**
 * struct sample_layout - What follows from one event's attr, worked out once.
 * @sample_type: As in the attr.
 * @read_format: As in the attr.
 * @branch_type: branch_sample_type of the attr.
 * @user_regs_mask: sample_regs_user of the attr.
 * @default_period: Period of a sample that carries none.
 * @id_word: Position of the id in a sample, in 8-byte words behind the header; -1: none.
 * @time_word: The same for the time.
 * @nr_fixed_words: Words of the fields of fixed size at a sample's start (up to PERIOD).
 * @nr_trailer_words: Words of the sample_id trailer behind other records; 0: no sample_id_all.
 * @trailer_id_word: Position of the id in the trailer, from its end (1: the last word); 0: none.
 * @trailer_time_word: The same for the time.
 * @trailer_tid_word: The same for pid and tid.
 * @nr_user_regs: Bits set in the user registers' mask.
 * @nr_intr_regs: The same for the registers at the interrupt.
 */
struct sample_layout {
	__u64 sample_type;
	__u64 read_format;
	__u64 branch_type;
	__u64 user_regs_mask;
	__u64 default_period;
	int id_word;
	int time_word;
	int nr_fixed_words;
	int nr_trailer_words;
	int trailer_id_word;
	int trailer_time_word;
	int trailer_tid_word;
	int nr_user_regs;
	int nr_intr_regs;
};

/**
 * sample_layout__init() - Work out the layout of an event's samples.
 *
 * Return: 0, or -EOPNOTSUPP where the attr has a bit that changes the layout and that is not
 * known here; prints nothing.
 */
int sample_layout__init(struct sample_layout *layout, const struct perf_event_attr *attr);

/**
 * sample__decode() - Decode a PERF_RECORD_SAMPLE, all of it but the event.
 * @hdr: The record, 8-byte aligned; its size was checked to be in memory.
 * @s: Overwritten but for @s->event; points into the record.
 *
 * Return: 0, or -EINVAL when a field does not fit the record; @s is then undefined.
 */
int sample__decode(const struct sample_layout *layout, const struct perf_event_header *hdr,
		   struct pdsample *s);

#endif /* PERF_CHURN_PERFDATA_SAMPLE_H */
