// SPDX-License-Identifier: GPL-2.0-only
/*
 * gate.c - LD_PRELOAD=gate.so stops a program when all its libraries are mapped and before it works,
 * so that a tool that can only attach sees all of that. The programs it starts are not stopped.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void gate_start(void)
{
	unsetenv("LD_PRELOAD");
	kill(getpid(), SIGSTOP);
}
