/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stacks.h - what the cases of the program stacks share.
 *
 * A call chain is a row of functions that the compiler must leave as they are written: STACK_FN, and
 * stay() behind each call, so that none becomes a jump. tests/data/stacks.txt says what is on the stack.
 */
#ifndef PERF_CHURN_TESTS_STACKS_H
#define PERF_CHURN_TESTS_STACKS_H

#include <cstdlib>
#include <ctime>

#define STACK_FN	__attribute__((noipa))
#define BURN_NS		150000000L

static inline void stay()
{
	__asm__ volatile("" : : : "memory");
}

/* The memory behind @p is used. */
static inline void touch(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
}

static inline long cpu_ns()
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

/* CPU time so far, of which no look may take more than 10 ms: a stalled virtual machine takes no samples. */
struct burn_clock {
	long last_ns, burnt_ns;
};

static inline bool burns_on(struct burn_clock *clock)
{
	long now = cpu_ns(), step = now - clock->last_ns;

	clock->burnt_ns += step < 10000000L ? step : 10000000L;
	clock->last_ns = now;
	return clock->burnt_ns < BURN_NS;
}

static inline __attribute__((always_inline)) void one_block(size_t size)
{
	void *p = malloc(size);

	touch(p);
	free(p);
	stay();
}

/* @count blocks of @size bytes; or, to burn, as many as it takes. */
static inline __attribute__((always_inline)) void spend(bool burn, size_t size, int count)
{
	struct burn_clock clock = { cpu_ns(), 0 };

	do {
		for (int i = 0; i < count; i++)
			one_block(size);
	} while (burn && burns_on(&clock));
}

/* The leaf of every chain, but for exceptions and the plugin. */
void grab(size_t size, int count);

extern bool burning;

struct stack_case {
	const char *name;
	int (*run)();
};

/* Each ends with a row without a name. */
extern const struct stack_case frame_cases[], jump_cases[], process_cases[];

/* Starts this program again, as the case @name. Returns only on failure. */
void exec_case(const char *name);

#endif /* PERF_CHURN_TESTS_STACKS_H */
