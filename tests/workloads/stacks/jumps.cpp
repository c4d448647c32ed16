// SPDX-License-Identifier: GPL-2.0-only
/*
 * jumps.cpp - stacks that calls alone did not make: signals, exceptions, longjmp, coroutines.
 */
#include <csetjmp>
#include <csignal>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "stacks.h"

#define STACK_BYTES	65536

static volatile sig_atomic_t alarmed;

STACK_FN static void handler_b(size_t size, int count)
{
	grab(size, count);
	stay();
}

STACK_FN static void on_raise(int)
{
	handler_b(7101, 13);
	stay();
}

STACK_FN static void on_alarm(int)
{
	handler_b(7102, 17);
	alarmed = 1;
}

STACK_FN static void on_other_stack(int)
{
	handler_b(7111, 19);
	alarmed = 1;
}

static int handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction act = {};

	act.sa_handler = handler;
	act.sa_flags = flags;
	return sigaction(sig, &act, nullptr);
}

/* A system call of our own: no frames of libc. */
STACK_FN static void raise_here(int sig)
{
	long nr = SYS_tgkill, pid = getpid(), tid = gettid(), signum = sig;

	__asm__ volatile("syscall" : "+a"(nr) : "D"(pid), "S"(tid), "d"(signum) : "rcx", "r11", "memory");
	stay();
}

STACK_FN static int spin_until_alarm()
{
	struct itimerval in_10ms = { { 0, 0 }, { 0, 10000 } };
	unsigned long turns = 0;

	alarmed = 0;
	if (setitimer(ITIMER_REAL, &in_10ms, nullptr))
		return 1;
	while (!alarmed)
		turns++;
	touch(&turns);
	return 0;
}

STACK_FN static int case_signal()
{
	int err;

	if (handle(SIGUSR1, on_raise, 0) || handle(SIGALRM, on_alarm, 0))
		return 1;
	raise_here(SIGUSR1);
	err = spin_until_alarm();
	stay();
	return err;
}

STACK_FN static int case_altstack()
{
	static char stack[STACK_BYTES];
	stack_t ss = {};
	int err;

	ss.ss_sp = stack;
	ss.ss_size = sizeof(stack);
	if (sigaltstack(&ss, nullptr) || handle(SIGALRM, on_other_stack, SA_ONSTACK))
		return 1;
	err = spin_until_alarm();
	stay();
	return err;
}

/* Thrown by value: __cxa_allocate_exception adds its header to the size. */
struct thrown {
	char bytes[7121 - 128];
};

struct cleaner {
	~cleaner();
};

STACK_FN cleaner::~cleaner()
{
	if (!burning)
		grab(7122, 1);
	stay();
}

STACK_FN static void throw_c(bool really)
{
	if (really)
		throw thrown();
	stay();
}

STACK_FN static void throw_b(bool really)
{
	struct cleaner cleaner;

	throw_c(really);
	stay();
}

STACK_FN static void throw_a()
{
	try {
		throw_b(true);
	} catch (const struct thrown &) {
		if (!burning)
			grab(7123, 1);
	}
	stay();
}

STACK_FN static int case_throw()
{
	struct burn_clock clock = { cpu_ns(), 0 };

	do {
		for (int i = 0; i < 13; i++)
			throw_a();
	} while (burning && burns_on(&clock));
	return 0;
}

static jmp_buf back;

STACK_FN static void longjmp_c()
{
	grab(7131, 7);
	longjmp(back, 1);
}

STACK_FN static void longjmp_b()
{
	longjmp_c();
	stay();
}

STACK_FN static void longjmp_after()
{
	grab(7132, 11);
	stay();
}

STACK_FN static void longjmp_a()
{
	if (!setjmp(back))
		longjmp_b();
	longjmp_after();
	stay();
}

STACK_FN static int case_longjmp()
{
	longjmp_a();
	stay();
	return 0;
}

static ucontext_t main_context, co_context;

STACK_FN static void co_b(size_t size)
{
	grab(size, 13);
	stay();
}

STACK_FN static void co_entry()
{
	co_b(7141);
	swapcontext(&co_context, &main_context);
	co_b(7142);
	stay();
}

STACK_FN static int case_coroutine()
{
	static char stack[STACK_BYTES];

	if (getcontext(&co_context))
		return 1;
	co_context.uc_stack.ss_sp = stack;
	co_context.uc_stack.ss_size = sizeof(stack);
	co_context.uc_link = &main_context;
	makecontext(&co_context, co_entry, 0);
	if (swapcontext(&main_context, &co_context))
		return 1;
	grab(7143, 5);
	if (swapcontext(&main_context, &co_context))
		return 1;
	grab(7144, 3);
	return 0;
}

const struct stack_case jump_cases[] = {
	{ "signal", case_signal },
	{ "altstack", case_altstack },
	{ "throw", case_throw },
	{ "longjmp", case_longjmp },
	{ "coroutine", case_coroutine },
	{ nullptr, nullptr },
};
