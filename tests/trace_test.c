// SPDX-License-Identifier: GPL-2.0-only
#include <linux/types.h>
#include <errno.h>
#include <string.h>

#include "bpf/churn.h"
#include "bpf/control.h"
#include "trace/cpu_event.h"
#include "trace/governor.h"
#include "trace/synthetic.h"
#include "trace/windows.h"
#include "util/msg.h"

#include <kselftest_harness.h>

#define SECOND	1000000000ULL

TEST(cpu_event_knows_names_and_modifiers)
{
	struct cpu_event ev[CPU_EVENT_MAX];
	size_t nr = 0;

	ASSERT_EQ(0, cpu_events__parse("cycles:u,page-faults,instructions:k", ev, &nr));
	ASSERT_EQ(3, nr);
	EXPECT_STREQ("cycles:u", ev[0].name);
	EXPECT_EQ(PERF_TYPE_HARDWARE, ev[0].attr.type);
	EXPECT_EQ(1, (int)ev[0].attr.exclude_kernel);
	EXPECT_EQ(0, (int)ev[0].attr.exclude_user);
	EXPECT_EQ(PERF_TYPE_SOFTWARE, ev[1].attr.type);
	EXPECT_EQ(PERF_COUNT_SW_PAGE_FAULTS, ev[1].attr.config);
	EXPECT_EQ(1, (int)ev[2].attr.exclude_user);
}

TEST(cpu_event_refuses_what_it_does_not_know)
{
	static const char *const bad[] = {
		"", "cycle", "cycles:", "cycles:x", "cycles,,cpu-clock", "cycles,", ",",
		"sched:sched_switch", "cycles;rm",
	};
	struct cpu_event ev[CPU_EVENT_MAX];
	size_t nr = 99, i;

	msg__set_verbose(-2);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, cpu_events__parse(bad[i], ev, &nr));
	EXPECT_EQ(99, nr);
}

TEST(cpu_event_is_restricted_whatever_its_modifiers)
{
	struct cpu_event ev[CPU_EVENT_MAX];
	size_t nr;

	ASSERT_EQ(0, cpu_events__parse("cycles,task-clock:k", ev, &nr));
	cpu_event__restrict(&ev[0], false);
	EXPECT_STREQ("cycles:k", ev[0].name);
	EXPECT_EQ(1, (int)ev[0].attr.exclude_user);
	EXPECT_EQ(0, (int)ev[0].attr.exclude_kernel);
	cpu_event__restrict(&ev[1], true);
	EXPECT_STREQ("task-clock:u", ev[1].name);
	EXPECT_EQ(0, (int)ev[1].attr.exclude_user);
	EXPECT_EQ(1, (int)ev[1].attr.exclude_kernel);
}

TEST(cpu_event_falls_back_from_cycles_only)
{
	struct cpu_event ev[CPU_EVENT_MAX];
	size_t nr;

	ASSERT_EQ(0, cpu_events__parse("cycles:u,instructions", ev, &nr));
	EXPECT_EQ(0, cpu_event__fall_back(&ev[0]));
	EXPECT_STREQ("cpu-clock:u", ev[0].name);
	EXPECT_EQ(PERF_COUNT_SW_CPU_CLOCK, ev[0].attr.config);
	EXPECT_EQ(1, (int)ev[0].attr.exclude_kernel);
	EXPECT_EQ(-ENOENT, cpu_event__fall_back(&ev[1]));
}

TEST(governor_aims_at_the_rate)
{
	EXPECT_EQ(1000, governor__period(1000000, SECOND, 1000, 64));
	EXPECT_EQ(1, governor__period(100, SECOND, 1000, 1));
	EXPECT_EQ(10000, governor__period(1000000, SECOND / 10, 1000, 64));
}

TEST(governor_falls_by_halves)
{
	EXPECT_EQ(500, governor__period(0, SECOND, 1000, 1000));
	EXPECT_EQ(1, governor__period(0, SECOND, 1000, 2));
	EXPECT_EQ(1, governor__period(0, SECOND, 1000, 1));
}

TEST(windows_are_differences)
{
	struct churn_totals t = { .nr_allocs = 23, .alloc_bytes = 230, .nr_hits = 40 };
	struct churn_window win;
	struct windows *w;

	ASSERT_EQ(0, windows__new(100, &w));
	ASSERT_EQ(1, windows__close(w, 7, 200, 1, &t, &win));
	EXPECT_EQ(23, win.nr_allocs);
	EXPECT_EQ(100, win.start_ns);
	EXPECT_EQ(200, win.end_ns);
	EXPECT_EQ(CHURN_WINDOW_ID, win.common.type);

	EXPECT_EQ(0, windows__close(w, 7, 300, 1, &t, &win));

	t.nr_allocs = 46;
	t.nr_hits = 80;
	ASSERT_EQ(1, windows__close(w, 7, 400, 1, &t, &win));
	EXPECT_EQ(23, win.nr_allocs);
	EXPECT_EQ(0, win.alloc_bytes);
	EXPECT_EQ(40, win.nr_hits);
	EXPECT_EQ(200, win.start_ns);
	windows__free(w);
}

TEST(windows_tell_a_gap_once)
{
	struct churn_totals none = {};
	struct churn_window win;
	struct windows *w;

	ASSERT_EQ(0, windows__new(100, &w));
	ASSERT_EQ(0, windows__add_gap(w, 7, 5000));
	ASSERT_EQ(1, windows__close(w, 7, 200, 1, &none, &win));
	EXPECT_EQ(5000, win.gap_ns);
	EXPECT_EQ(0, windows__close(w, 7, 300, 1, &none, &win));
	windows__free(w);
}

TEST(windows_of_a_forgotten_process_begin_anew)
{
	struct churn_totals t = { .nr_allocs = 23, .nr_hits = 23 };
	struct churn_window win;
	struct windows *w;

	ASSERT_EQ(0, windows__new(100, &w));
	ASSERT_EQ(1, windows__close(w, 7, 200, 1, &t, &win));
	windows__forget(w, 7);
	windows__forget(w, 8);
	ASSERT_EQ(1, windows__close(w, 7, 300, 1, &t, &win));
	EXPECT_EQ(23, win.nr_allocs);
	windows__free(w);
}

TEST(synthetic_sample_is_padded_as_the_kernel_pads)
{
	struct churn_window win = { .common.type = CHURN_WINDOW_ID };
	struct synthetic_sample s = {
		.sample_id = SYNTHETIC_WINDOW_SAMPLE_ID, .ip = 5, .time_ns = 6, .pid = 7,
		.raw = &win, .raw_bytes = sizeof(win),
	};
	char buf[SYNTHETIC_MAX_BYTES];
	struct perf_event_header h;
	__u32 raw_size;

	ASSERT_EQ(56 + 4 + 244, synthetic_encode(&s, buf));
	memcpy(&h, buf, sizeof(h));
	EXPECT_EQ(304, h.size);
	EXPECT_EQ(0, h.size % 8);
	memcpy(&raw_size, buf + 56, sizeof(raw_size));
	EXPECT_EQ(244, raw_size);
}

TEST_HARNESS_MAIN
