/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * write_features.h - the feature sections of a file: about the machine, the command and the events.
 */
#ifndef PERF_CHURN_PERFDATA_WRITE_FEATURES_H
#define PERF_CHURN_PERFDATA_WRITE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "write_blob.h"

struct pdwriter_event;
struct pdwriter_info;

/* Numbers of enum perf_header feature bits (tools/perf/util/header.h). */
enum pdfeature {
	PDFEATURE_TRACING_DATA	= 1,
	PDFEATURE_HOSTNAME	= 3,
	PDFEATURE_OSRELEASE	= 4,
	PDFEATURE_VERSION	= 5,
	PDFEATURE_ARCH		= 6,
	PDFEATURE_NRCPUS	= 7,
	PDFEATURE_CPUDESC	= 8,
	PDFEATURE_CPUID		= 9,
	PDFEATURE_TOTAL_MEM	= 10,
	PDFEATURE_CMDLINE	= 11,
	PDFEATURE_EVENT_DESC	= 12,
	PDFEATURE_SAMPLE_TIME	= 21,
	PDFEATURE_CLOCKID	= 23,
	PDFEATURE_COMPRESSED	= 27,
	PDFEATURE_CLOCK_DATA	= 29,
};

/* Where COMPRESSED has the ratio, which is known in the end only. */
#define PDFEATURE_RATIO_OFFSET	12

/**
 * struct pdfeature_input - What the payloads are made of.
 * @attr_bytes: Bytes of each attr as the file holds it.
 */
struct pdfeature_input {
	const struct pdwriter_event *events;
	size_t nr_events;
	const struct pdwriter_info *info;
	size_t attr_bytes;
};

/**
 * pdfeatures__nr() - Number of features that can be written.
 * pdfeature__at() - The i'th of them, in the order of their bits.
 * pdfeature__wanted() - This file has the i'th.
 */
size_t pdfeatures__nr(void);
enum pdfeature pdfeature__at(size_t i);
bool pdfeature__wanted(size_t i, const struct pdfeature_input *in);

/** pdfeature__build() - Append the payload of the i'th feature. Return: 0 or a negative errno. */
int pdfeature__build(size_t i, const struct pdfeature_input *in, struct blob *out);

/**
 * pdfeature__version() - Text of VERSION, of the same size in the file whether @finished or not.
 */
const char *pdfeature__version(bool finished);

/** pdtracing__build() - Payload of TRACING_DATA (write_tracing.c). */
int pdtracing__build(const struct pdfeature_input *in, struct blob *out);

#endif /* PERF_CHURN_PERFDATA_WRITE_FEATURES_H */
