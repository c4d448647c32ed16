/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * workload.h - what the small test programs share. Each states on top the numbers that tests rely on.
 */
#ifndef PERF_CHURN_TESTS_WORKLOAD_H
#define PERF_CHURN_TESTS_WORKLOAD_H

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE	__attribute__((noinline, noclone, no_icf))

/* Makes the compiler believe that @p is used, so that it keeps the allocation. */
static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* No stdio: its buffers would be allocations, too. */
static inline void say(const char *text)
{
	ssize_t got = write(1, text, strlen(text));

	(void)got;
}

/* Says "ready", and waits for SIGUSR1. */
static inline void wait_for_signal(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say("ready\n");
	sigwait(&set, &sig);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* CPU time without a call of the allocator. */
static inline uint64_t burn(uint64_t rounds)
{
	uint64_t x = rounds, i;

	for (i = 0; i < rounds; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static inline long arg_long(int argc, char **argv, int i, long dflt)
{
	return argc > i ? strtol(argv[i], NULL, 10) : dflt;
}

#endif /* PERF_CHURN_TESTS_WORKLOAD_H */
