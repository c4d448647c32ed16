// SPDX-License-Identifier: GPL-2.0-only
/*
 * The format texts that make tracepoints of our records. They repeat bpf/churn.h in the tracing
 * system's own language; tests/formats_test.c holds the two against each other.
 */
#include <stddef.h>
#include <linux/types.h>

#include "formats.h"

#include "bpf/churn.h"

#define COMMON \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define U64(name, off)	"\tfield:u64 " #name ";\toffset:" #off ";\tsize:8;\tsigned:0;\n"
#define U32(name, off)	"\tfield:u32 " #name ";\toffset:" #off ";\tsize:4;\tsigned:0;\n"
#define STR(name, off, bytes) \
	"\tfield:char " #name "[" #bytes "];\toffset:" #off ";\tsize:" #bytes ";\tsigned:0;\n"

#define BYTES(name, off, bytes) \
	"\tfield:u8 " #name "[" #bytes "];\toffset:" #off ";\tsize:" #bytes ";\tsigned:0;\n"

#define FN_NAMES \
	"{ 1, \"malloc\" }, { 2, \"calloc\" }, { 3, \"realloc\" }, { 4, \"memalign\" }, " \
	"{ 5, \"aligned_alloc\" }, { 6, \"posix_memalign\" }, { 7, \"valloc\" }, " \
	"{ 8, \"pvalloc\" }, { 9, \"free\" }, { 10, \"refill\" }, { 11, \"os_alloc\" }, " \
	"{ 12, \"os_free\" }"
#define FLAG_NAMES \
	"{ 0x1, \"MOVED\" }, { 0x2, \"UNSEEN\" }, { 0x4, \"CROSS_THREAD\" }, " \
	"{ 0x8, \"REPAIRED\" }, { 0x10, \"INHERITED\" }, { 0x20, \"PRELOAD\" }, " \
	"{ 0x40, \"OS\" }"

#define WINDOW_FLAG_NAMES \
	"{ 0x1, \"SAMPLED\" }, { 0x2, \"ALL\" }, { 0x4, \"COST\" }, { 0x8, \"OFF\" }"

#define HOW_NAMES \
	"{ 1, \"symtab\" }, { 2, \"debug\" }, { 3, \"calls\" }, { 4, \"object\" }"

#define PRINT_FN	"__print_symbolic(REC->fn, " FN_NAMES ")"
/* A table's entry for 0 is not taken by libtraceevent 1.7. */
#define PRINT_FLAGS	"REC->flags ? __print_flags(REC->flags, \"|\", " FLAG_NAMES ") : \"0\""

#define PRINT_WINDOW_FLAGS \
	"REC->flags ? __print_flags(REC->flags, \"|\", " WINDOW_FLAG_NAMES ") : \"0\""

static const char alloc_format[] =
	"name: alloc\nID: 65001\n" COMMON
	U64(ptr, 8) U64(size, 16) U64(size_class, 24) U64(old_ptr, 32) U64(seq, 40)
	U64(weight, 48) U64(caller, 56) U32(fn, 64) U32(flags, 68)
	"\nprint fmt: \"fn=%s ptr=0x%llx size=%llu size_class=%llu old_ptr=0x%llx seq=%llu weight=%llu caller=0x%llx flags=%s\", "
	PRINT_FN ", REC->ptr, REC->size, REC->size_class, REC->old_ptr, REC->seq, REC->weight, "
	"REC->caller, " PRINT_FLAGS "\n";

static const char free_format[] =
	"name: free\nID: 65002\n" COMMON
	U64(ptr, 8) U64(size, 16) U64(lifetime_ns, 24) U64(life_class, 32) U64(weight, 40)
	U64(seq, 48) U64(caller, 56) U32(alloc_tid, 64) U32(fn, 68) U32(flags, 72) U32(pad, 76)
	"\nprint fmt: \"fn=%s ptr=0x%llx size=%llu lifetime_ns=%llu life_class=%llu weight=%llu seq=%llu caller=0x%llx alloc_tid=%u flags=%s\", "
	PRINT_FN ", REC->ptr, REC->size, REC->lifetime_ns, REC->life_class, REC->weight, "
	"REC->seq, REC->caller, REC->alloc_tid, " PRINT_FLAGS "\n";

static const char window_format[] =
	"name: window\nID: 65004\n" COMMON
	U64(start_ns, 8) U64(end_ns, 16) U64(nr_allocs, 24) U64(alloc_bytes, 32) U64(nr_frees, 40)
	U64(nr_failed, 48) U64(nr_free_null, 56) U64(nr_free_unseen, 64) U64(nr_free_internal, 72)
	U64(nr_reallocs, 80) U64(nr_lost_output, 88) U64(nr_lost_map, 96)
	U64(nr_lost_inflight, 104) U64(nr_hits, 112) U64(sample_period, 120) U64(gap_ns, 128)
	U64(between_ns, 136) U64(cpu_ns, 144) U64(cpu_between_ns, 152) U64(user_clock, 160)
	U64(user_clock_between, 168) U64(cost_ns, 176) U64(cost_err_ns, 184) U64(nr_stray, 192)
	U64(stray_cost_ns, 200) U64(stall_ns, 208) U64(probed_start_ns, 216) U64(probed_end_ns, 224)
	U32(budget_ppm, 232) U32(flags, 236)
	"\nprint fmt: \"nr_allocs=%llu alloc_bytes=%llu nr_frees=%llu nr_failed=%llu nr_free_null=%llu nr_free_unseen=%llu nr_free_internal=%llu nr_reallocs=%llu nr_lost_output=%llu nr_lost_map=%llu nr_lost_inflight=%llu nr_hits=%llu sample_period=%llu gap_ns=%llu between_ns=%llu cpu_ns=%llu cpu_between_ns=%llu cost_ns=%llu nr_stray=%llu flags=%s\", "
	"REC->nr_allocs, REC->alloc_bytes, REC->nr_frees, REC->nr_failed, REC->nr_free_null, "
	"REC->nr_free_unseen, REC->nr_free_internal, REC->nr_reallocs, REC->nr_lost_output, "
	"REC->nr_lost_map, REC->nr_lost_inflight, REC->nr_hits, REC->sample_period, "
	"REC->gap_ns, REC->between_ns, REC->cpu_ns, REC->cpu_between_ns, REC->cost_ns, "
	"REC->nr_stray, " PRINT_WINDOW_FLAGS "\n";

static const char probe_format[] =
	"name: probe\nID: 65005\n" COMMON
	U64(offset, 8) U64(nr_hits, 16) U32(site_delta, 24) U32(fn, 28) U32(emulated, 32)
	U32(pad, 36) STR(symbol, 40, 32) STR(object, 72, 128)
	"\nprint fmt: \"%s:%s+%u nr_hits=%llu emulated=%u offset=0x%llx\", "
	"REC->object, REC->symbol, REC->site_delta, REC->nr_hits, REC->emulated, REC->offset\n";

static const char range_format[] =
	"name: range\nID: 65006\n" COMMON
	U64(start, 8) U64(end, 16) U64(offset, 24) U32(how, 32) U32(build_id_bytes, 36)
	BYTES(build_id, 40, 20) U32(pad, 60) STR(object, 64, 128)
	"\nprint fmt: \"%s:0x%llx-0x%llx offset=0x%llx how=%s\", "
	"REC->object, REC->start, REC->end, REC->offset, "
	"__print_symbolic(REC->how, " HOW_NAMES ")\n";

static const char stacks_format[] =
	"name: stacks\nID: 65007\n" COMMON
	U64(nr_complete, 8) U64(nr_max, 16) U64(nr_no_map, 24) U64(nr_no_table, 32)
	U64(nr_no_cfi, 40) U64(nr_fault, 48) U64(nr_stuck, 56) U64(nr_no_reg, 64)
	U64(nr_no_user, 72) U64(nr_copied, 80)
	"\nprint fmt: \"nr_complete=%llu nr_max=%llu nr_no_map=%llu nr_no_table=%llu nr_no_cfi=%llu nr_fault=%llu nr_stuck=%llu nr_no_reg=%llu nr_no_user=%llu nr_copied=%llu\", "
	"REC->nr_complete, REC->nr_max, REC->nr_no_map, REC->nr_no_table, REC->nr_no_cfi, "
	"REC->nr_fault, REC->nr_stuck, REC->nr_no_reg, REC->nr_no_user, REC->nr_copied\n";

static const struct {
	__u32 id;
	const char *name, *text;
} formats[] = {
	{ CHURN_ALLOC_ID, "alloc", alloc_format },
	{ CHURN_FREE_ID, "free", free_format },
	{ CHURN_WINDOW_ID, "window", window_format },
	{ CHURN_PROBE_ID, "probe", probe_format },
	{ CHURN_RANGE_ID, "range", range_format },
	{ CHURN_STACKS_ID, "stacks", stacks_format },
};

const char *churn_format__text(__u32 id)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].id == id)
			return formats[i].text;
	}
	return NULL;
}

const char *churn_format__name(__u32 id)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].id == id)
			return formats[i].name;
	}
	return NULL;
}
