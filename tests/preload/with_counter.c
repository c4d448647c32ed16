// SPDX-License-Identifier: GPL-2.0-only
/*
 * with_counter.c - run a command with counter.so preloaded, itself without a single heap call.
 *
 *	with_counter /path/counter.so /tmp/dir/count command [args]
 *
 * What LD_PRELOAD has already comes behind the counter.
 *
 * env(1) would do, but it allocates before it executes the command: in the process that is counted,
 * yet without the counter.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ENV	4096

static char preload[8400], out[4200];
static char *env[MAX_ENV];

static int say(const char *what)
{
	write(2, what, strlen(what));
	return 127;
}

int main(int argc, char **argv)
{
	size_t nr = 0;
	char **e;

	if (argc < 4 || strlen(argv[1]) > 4096 || strlen(argv[2]) > 4096)
		return say("usage: with_counter COUNTER.so OUTPUT-PREFIX COMMAND [ARGS]\n");
	strcat(strcpy(preload, "LD_PRELOAD="), argv[1]);
	strcat(strcpy(out, "COUNTER_OUT="), argv[2]);
	env[nr++] = preload;
	env[nr++] = out;
	for (e = environ; *e && nr < MAX_ENV - 1; e++) {
		if (!strncmp(*e, "LD_PRELOAD=", 11) && (*e)[11] && strlen(*e) < 4200)
			strcat(strcat(preload, ":"), *e + 11);
		if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "COUNTER_OUT=", 12))
			env[nr++] = *e;
	}
	execvpe(argv[3], argv + 3, env);
	return say("with_counter: cannot execute the command\n");
}
