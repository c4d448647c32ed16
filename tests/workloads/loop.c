// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop.c - malloc/free pairs as fast as they go.
 *
 *	loop [-n PAIRS | -s SECONDS] [-t THREADS] [-b BYTES] [-i MS]
 *
 * -n makes PAIRS pairs in each thread and ends; -s ends after SECONDS. Ends by saying
 * "loop: PAIRS pairs, NS ns per pair". With -i the first thread also says "rate PAIRS_PER_S" each MS
 * milliseconds. Blocks are written to and checked: "corrupt" and status 3 if one changed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "workload.h"

#define CHUNK	1000

struct loop_opts {
	long pairs, seconds, threads, bytes, interval_ms;
};

static struct loop_opts opts = { .threads = 1, .bytes = 32 };
static atomic_long total;
static uint64_t end_ns;

NOINLINE static void one_pair(long i)
{
	volatile unsigned char *p = keep(malloc(opts.bytes));

	p[0] = i;
	if (p[0] != (unsigned char)i) {
		say("corrupt\n");
		_exit(3);
	}
	free((void *)p);
}

static void say_rate(long pairs, uint64_t ns)
{
	char line[64];

	snprintf(line, sizeof(line), "rate %lu\n", (unsigned long)(pairs * 1000000000.0 / ns));
	say(line);
}

static void *run(void *arg)
{
	uint64_t now, said_ns = now_ns();
	long done = 0, said = 0, i;

	do {
		for (i = 0; i < CHUNK && (!opts.pairs || done < opts.pairs); i++, done++)
			one_pair(done);
		now = now_ns();
		if (!arg && opts.interval_ms && now - said_ns >= opts.interval_ms * 1000000ULL) {
			say_rate(done - said, now - said_ns);
			said = done;
			said_ns = now;
		}
	} while (opts.pairs ? done < opts.pairs : now < end_ns);
	atomic_fetch_add(&total, done);
	return NULL;
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:s:t:b:i:")) != -1) {
		long value = optarg ? strtol(optarg, NULL, 10) : 0;

		if (value <= 0)
			exit(2);
		*(c == 'n' ? &opts.pairs : c == 's' ? &opts.seconds : c == 't' ? &opts.threads :
		  c == 'b' ? &opts.bytes : &opts.interval_ms) = value;
	}
	if (!opts.pairs && !opts.seconds)
		opts.seconds = 1;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	char line[96];
	uint64_t start;
	long i;

	parse(argc, argv);
	start = now_ns();
	end_ns = start + opts.seconds * 1000000000ULL;
	for (i = 1; i < opts.threads && i < 64; i++) {
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 1;
	}
	run(NULL);
	for (i = 1; i < opts.threads && i < 64; i++)
		pthread_join(threads[i], NULL);
	snprintf(line, sizeof(line), "loop: %ld pairs, %lu ns per pair\n", (long)total,
		 (unsigned long)((now_ns() - start) * opts.threads / total));
	say(line);
	return 0;
}
