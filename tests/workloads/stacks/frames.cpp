// SPDX-License-Identifier: GPL-2.0-only
/*
 * frames.cpp - kinds of stack frames: plain, in threads, many, large, of unknown size, realigned,
 * variadic, gone by a tail call.
 */
#include <alloca.h>
#include <cstdarg>
#include <pthread.h>

#include "stacks.h"

#define DEEP_FRAMES	300
#define BIG_BYTES	70000

STACK_FN static void plain_c()
{
	grab(7001, 23);
	stay();
}

STACK_FN static void plain_b()
{
	plain_c();
	grab(7002, 5);
	stay();
}

STACK_FN static void plain_a()
{
	plain_b();
	stay();
}

STACK_FN static int case_plain()
{
	plain_a();
	stay();
	return 0;
}

STACK_FN static void thread_b()
{
	grab(7011, 13);
	stay();
}

STACK_FN static void *thread_one(void *)
{
	thread_b();
	stay();
	return nullptr;
}

STACK_FN static void *thread_two(void *)
{
	grab(7012, 17);
	stay();
	return nullptr;
}

STACK_FN static int case_threads()
{
	pthread_t one, two;

	if (pthread_create(&one, nullptr, thread_one, nullptr) ||
	    pthread_create(&two, nullptr, thread_two, nullptr))
		return 1;
	grab(7013, 7);
	return pthread_join(one, nullptr) || pthread_join(two, nullptr);
}

STACK_FN static void deep_down(int left)
{
	if (left > 1)
		deep_down(left - 1);
	else
		grab(7021, 11);
	stay();
}

STACK_FN static int case_deep()
{
	deep_down(DEEP_FRAMES);
	stay();
	return 0;
}

STACK_FN static void big_c()
{
	char buf[BIG_BYTES];

	touch(buf);
	grab(7031, 7);
	touch(buf);
}

STACK_FN static void big_b()
{
	char buf[BIG_BYTES];

	touch(buf);
	big_c();
	touch(buf);
}

STACK_FN static int case_bigframe()
{
	big_b();
	stay();
	return 0;
}

STACK_FN static void alloca_c(size_t size)
{
	void *buf = alloca(size);

	touch(buf);
	grab(7041, 19);
	touch(buf);
}

STACK_FN static void alloca_b(size_t size)
{
	void *buf = alloca(size);

	touch(buf);
	for (size_t i = 1; i <= 3; i++) {
		touch(alloca(i * 48));
		alloca_c(size * i);
		stay();
	}
	touch(buf);
}

STACK_FN static int case_alloca()
{
	alloca_b(1500);
	stay();
	return 0;
}

struct alignas(64) line {
	char bytes[64];
};

struct alignas(4096) page {
	char bytes[4096];
};

STACK_FN static void realign_c(int count)
{
	struct line line;

	touch(&line);
	grab(7051, count);
	touch(&line);
}

/* Of unknown size, too: the compiler keeps two pointers into the frame. */
STACK_FN static void realign_b(size_t size)
{
	struct page page;
	void *buf = alloca(size);

	touch(&page);
	touch(buf);
	realign_c(size / 100);
	touch(&page);
}

STACK_FN static int case_realign()
{
	struct line line;

	touch(&line);
	realign_b(1300);
	touch(&line);
	return 0;
}

STACK_FN static void variadic_c(int nr, va_list args)
{
	int size = 0;

	for (int i = 0; i < nr; i++)
		size += va_arg(args, int);
	grab(size, 29);
	stay();
}

STACK_FN static void variadic_b(int nr, ...)
{
	va_list args;

	va_start(args, nr);
	variadic_c(nr, args);
	va_end(args);
	stay();
}

STACK_FN static int case_variadic()
{
	variadic_b(8, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 61);
	stay();
	return 0;
}

STACK_FN static void tail_d()
{
	grab(7071, 31);
	stay();
}

/* These two are not on the stack: their calls are jumps. */
STACK_FN static void tail_c()
{
	stay();
	tail_d();
}

STACK_FN static void tail_b()
{
	stay();
	tail_c();
}

STACK_FN static void tail_a()
{
	tail_b();
	stay();
}

STACK_FN static int case_tail()
{
	tail_a();
	stay();
	return 0;
}

const struct stack_case frame_cases[] = {
	{ "plain", case_plain },
	{ "threads", case_threads },
	{ "deep", case_deep },
	{ "bigframe", case_bigframe },
	{ "alloca", case_alloca },
	{ "realign", case_realign },
	{ "variadic", case_variadic },
	{ "tail", case_tail },
	{ nullptr, nullptr },
};
