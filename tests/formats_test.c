// SPDX-License-Identifier: GPL-2.0-only
#include <linux/types.h>
#include <stddef.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "bpf/churn.h"
#include "perfdata/formats.h"

#include <kselftest_harness.h>

/* One field of one event: where bpf/churn.h has it. */
struct want {
	__u32 id;
	const char *field;
	size_t offset, bytes;
};

#define FIELD(id, type, name) \
	{ id, #name, offsetof(struct type, name), sizeof(((struct type *)0)->name) }
#define ALLOC(name)	FIELD(CHURN_ALLOC_ID, churn_alloc, name)
#define FREE(name)	FIELD(CHURN_FREE_ID, churn_free, name)
#define WINDOW(name)	FIELD(CHURN_WINDOW_ID, churn_window, name)
#define PROBE(name)	FIELD(CHURN_PROBE_ID, churn_probe, name)
#define STACKS(name)	FIELD(CHURN_STACKS_ID, churn_stacks, name)
#define RANGE(name)	FIELD(CHURN_RANGE_ID, churn_range, name)

static const struct want wants[] = {
	ALLOC(ptr), ALLOC(size), ALLOC(size_class), ALLOC(old_ptr), ALLOC(seq), ALLOC(weight),
	ALLOC(caller), ALLOC(fn), ALLOC(flags),
	FREE(ptr), FREE(size), FREE(lifetime_ns), FREE(life_class), FREE(weight), FREE(seq),
	FREE(caller), FREE(alloc_tid), FREE(fn), FREE(flags), FREE(pad),
	WINDOW(start_ns), WINDOW(end_ns), WINDOW(nr_allocs), WINDOW(alloc_bytes),
	WINDOW(nr_frees), WINDOW(nr_failed), WINDOW(nr_free_null), WINDOW(nr_free_unseen),
	WINDOW(nr_free_internal), WINDOW(nr_reallocs), WINDOW(nr_lost_output),
	WINDOW(nr_lost_map), WINDOW(nr_lost_inflight), WINDOW(nr_hits), WINDOW(sample_period),
	WINDOW(gap_ns), WINDOW(between_ns), WINDOW(cpu_ns), WINDOW(cpu_between_ns),
	WINDOW(user_clock), WINDOW(user_clock_between), WINDOW(cost_ns), WINDOW(cost_err_ns),
	WINDOW(nr_stray), WINDOW(stray_cost_ns), WINDOW(stall_ns), WINDOW(probed_start_ns),
	WINDOW(probed_end_ns), WINDOW(budget_ppm), WINDOW(flags),
	PROBE(offset), PROBE(nr_hits), PROBE(site_delta), PROBE(fn), PROBE(emulated), PROBE(pad),
	PROBE(symbol), PROBE(object),
	RANGE(start), RANGE(end), RANGE(offset), RANGE(how), RANGE(build_id_bytes),
	RANGE(build_id), RANGE(pad), RANGE(object),
	STACKS(nr_complete), STACKS(nr_max), STACKS(nr_no_map), STACKS(nr_no_table),
	STACKS(nr_no_cfi), STACKS(nr_fault), STACKS(nr_stuck), STACKS(nr_no_reg),
	STACKS(nr_no_user), STACKS(nr_copied),
};

static const __u32 ids[] = {
	CHURN_ALLOC_ID, CHURN_FREE_ID, CHURN_WINDOW_ID, CHURN_PROBE_ID, CHURN_RANGE_ID,
	CHURN_STACKS_ID,
};

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

FIXTURE(formats) {
	struct tep_handle *tep;
};

FIXTURE_SETUP(formats)
{
	size_t i;

	self->tep = tep_alloc();
	ASSERT_NE(NULL, self->tep);
	for (i = 0; i < NR(ids); i++) {
		const char *text = churn_format__text(ids[i]);

		ASSERT_NE(NULL, text);
		ASSERT_EQ(0, (int)tep_parse_event(self->tep, text, strlen(text), "churn"));
	}
}

FIXTURE_TEARDOWN(formats)
{
	tep_free(self->tep);
}

TEST_F(formats, say_what_the_structs_are)
{
	size_t i;

	for (i = 0; i < NR(wants); i++) {
		struct tep_event *event = tep_find_event(self->tep, wants[i].id);
		struct tep_format_field *field;

		ASSERT_NE(NULL, event);
		field = tep_find_field(event, wants[i].field);
		ASSERT_NE(NULL, field) TH_LOG("no field %s", wants[i].field);
		EXPECT_EQ(wants[i].offset, (size_t)field->offset) TH_LOG("%s", wants[i].field);
		EXPECT_EQ(wants[i].bytes, (size_t)field->size) TH_LOG("%s", wants[i].field);
	}
}

TEST_F(formats, have_no_field_more)
{
	size_t i, nr = 0;

	for (i = 0; i < NR(ids); i++) {
		struct tep_event *event = tep_find_event(self->tep, ids[i]);

		ASSERT_NE(NULL, event);
		nr += event->format.nr_fields;
	}
	EXPECT_EQ(NR(wants), nr);
}

TEST_F(formats, can_be_printed)
{
	size_t i;

	for (i = 0; i < NR(ids); i++) {
		struct tep_event *event = tep_find_event(self->tep, ids[i]);

		ASSERT_NE(NULL, event);
		EXPECT_EQ(0, event->flags & TEP_EVENT_FL_FAILED);
		EXPECT_STREQ(churn_format__name(ids[i]), event->name);
	}
}

TEST(an_unknown_id_has_no_format)
{
	EXPECT_EQ(NULL, churn_format__text(65000));
	EXPECT_EQ(NULL, churn_format__name(65000));
	EXPECT_EQ(NULL, churn_format__text(CHURN_LOCK_ID));
}

TEST_HARNESS_MAIN
