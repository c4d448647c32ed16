// SPDX-License-Identifier: GPL-2.0-only
/*
 * confined.c - a program that gives up system calls, and is killed by the kernel for any other one.
 *
 *	confined HOW [THREADS]
 *
 * HOW is "strict", by prctl(); "filter", by prctl(), or "syscall", by syscall(): both with a filter that
 * kills for all but the calls that the program makes itself. It begins at once, or, after "-", when it is
 * told to on stdin, and waits for another line confined. Then 20000 blocks of 1 to 1000 bytes; with
 * THREADS in each of so many threads, made before. Ends with "sum N" and 5.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_BLOCKS	20000
#define NR_KEPT		64
#define MAX_THREADS	8
#define ALLOW(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static pthread_barrier_t barrier;

static void filter(int by_syscall)
{
	/* What malloc, threads that end, and the program's own lines need. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group),
		ALLOW(SYS_brk), ALLOW(SYS_futex), ALLOW(SYS_rt_sigprocmask), ALLOW(SYS_madvise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		abort();
	if (by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog) :
			 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		abort();
}

static void confine(const char *how)
{
	if (!strcmp(how, "strict") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		abort();
	if (strcmp(how, "strict"))
		filter(!strcmp(how, "syscall"));
}

static long churn(void)
{
	unsigned char *kept[NR_KEPT] = { NULL };
	long sum = 0;
	int i;

	for (i = 0; i < NR_BLOCKS; i++) {
		unsigned char **p = &kept[i * 7 % NR_KEPT];

		sum += *p ? **p : 0;
		free(*p);
		*p = malloc(i * 37 % 1000 + 1);
		**p = i;
	}
	for (i = 0; i < NR_KEPT; i++)
		free(kept[i]);
	return sum;
}

/* What the heap will need is there, and stays. */
static void warm_up(void)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 1 << 20);
	mallopt(M_ARENA_MAX, 1);
	free(malloc(1 << 16));
}

static void *run(void *arg)
{
	/* Once when they have all begun, and once when they may go on. */
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	*(long *)arg = churn();
	return NULL;
}

static void wait_for_line(void)
{
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

static void say(long sum)
{
	char line[64];
	ssize_t got;

	snprintf(line, sizeof(line), "sum %ld\n", sum);
	got = write(1, line, strlen(line));
	(void)got;
}

/* Alone one would wake nobody, by a system call. */
static void meet(int nr_threads)
{
	if (nr_threads)
		pthread_barrier_wait(&barrier);
}

int main(int argc, char **argv)
{
	int nr_threads = argc > 2 ? atoi(argv[2]) : 0, i, waits = argv[1][0] == '-';
	pthread_t threads[MAX_THREADS];
	long sums[MAX_THREADS] = { 0 }, sum;

	warm_up();
	pthread_barrier_init(&barrier, NULL, nr_threads + 1);
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, run, &sums[i]);
	meet(nr_threads);
	if (waits)
		wait_for_line();
	confine(argv[1] + waits);
	if (waits) {
		say(0);
		wait_for_line();
	}
	meet(nr_threads);
	sum = churn();
	for (i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	say(sum);
	/* All that strict leaves. */
	syscall(nr_threads ? SYS_exit_group : SYS_exit, 5);
	return 0;
}
