/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * control.h - what the recorder and its BPF programs tell each other. Not in the file, no ABI:
 * both sides are built together.
 */
#ifndef PERF_CHURN_BPF_CONTROL_H
#define PERF_CHURN_BPF_CONTROL_H

#define CHURN_MAX_SITES		1024	/* probed instructions in one recording */
#define CHURN_CALIBRATION_SITE	CHURN_MAX_SITES
#define CHURN_MAX_IMAGES	256	/* allocator images in one recording */
#define CHURN_MAX_PROCS		4096	/* processes with totals at a time */
#define CHURN_MAX_INTERNAL	8	/* as PROBE_MAX_INTERNAL */

#define WALKER_CHUNKS_A_MAP	16	/* chunks of rows in one inner map: 1 MB */
#define WALKER_MAX_CHUNK_MAPS	256
#define WALKER_COPIES		4	/* buffers for stack copies, a CPU */

/*
 * Attach cookie: which entry point, which probe, which image was hit. The flag in the entry
 * point's byte: the function may call other probed ones for itself, whichever it is.
 */
#define CHURN_COOKIE_WRAPS	0x80
/* Of a refill: which argument is the size, 1 to 3, and that it is 32 bits wide. */
#define CHURN_COOKIE_SIZE_ARG(arg)	((__u64)(arg) << 60)
#define CHURN_COOKIE_SIZE_IS_INT	(1ULL << 62)
#define CHURN_COOKIE(fn, site, image) \
	((__u64)(fn) | (__u64)(site) << 8 | (__u64)(image) << 32)
#define CHURN_COOKIE_FN(cookie)		((__u32)(cookie) & 0x7f)
#define CHURN_COOKIE_SITE(cookie)	(((__u32)(cookie) >> 8) & 0xffffff)
#define CHURN_COOKIE_IMAGE(cookie)	((__u32)((cookie) >> 32) & 0xffffff)

/* One probed instruction, a copy on each CPU. */
struct churn_site_hits {
	__u64 nr_hits;
	__u64 ip;		/* where it was last hit, */
	__u64 tgid;		/* and in which process: to place churn:probe samples */
	__u64 cost_ns;		/* set by the recorder: what a hit takes, for budgets */
};

/* Calls of a calibration count whatever -t, -u and -C say, and none or all are sampled. */
enum churn_calibration {
	CHURN_CALIBRATE_NOT,
	CHURN_CALIBRATE_UNSAMPLED,
	CHURN_CALIBRATE_SAMPLED,
};

/*
 * May hits of a process count? Written by the recorder, but for the times of hits while it is shut:
 * then the breakpoints are planted already, or still.
 */
struct churn_gate {
	__u32 number;		/* of the window, from 1 on */
	__u32 open;
	__u32 calibration;	/* enum churn_calibration */
	__u32 pad;
	__u64 first_stray_ns, last_stray_ns;
};

/* One CPU: idle up to its last switch, and since when it is idle now (0: it is not). */
struct churn_idle {
	__u64 idle_ns;
	__u64 since_ns;
};

/* Counters of one process, a copy on each CPU; the recorder adds them up. */
struct churn_totals {
	__u64 nr_allocs;	/* successful, or not known to have failed */
	__u64 alloc_bytes;
	__u64 nr_frees;
	__u64 nr_failed;
	__u64 nr_free_null;
	__u64 nr_free_unseen;
	__u64 nr_free_internal;
	__u64 nr_reallocs;
	__u64 nr_lost_output;
	__u64 nr_lost_map;
	__u64 nr_lost_inflight;
	__u64 nr_hits;
	__u64 cost_ns;		/* of these, their returns and samples; only with gates */
	__u64 nr_stray;		/* hits while the gate was shut, or that -t, -u, -C leave out */
	__u64 stray_cost_ns;
	__u64 malloc_ip;	/* a probed address, to place window samples */
};

/* A sampled block that is not freed yet. */
struct churn_live_key {
	__u64 tgid;
	__u64 ptr;
};

struct churn_live {
	__u64 size;
	__u64 seq;
	__u64 weight;
	__u64 time_ns;
	__u64 exec_id;		/* task's self_exec_id: exec throws the heap away */
	__u32 tid;
	__u32 pad;
};

/* What an image needs at run time, indexed by the cookie's image number. */
struct churn_image_cfg {
	__s64 internal_free[CHURN_MAX_INTERNAL];	/* return address - probed address */
	__u64 nr_internal_free;
};

#endif /* PERF_CHURN_BPF_CONTROL_H */
