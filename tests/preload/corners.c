// SPDX-License-Identifier: GPL-2.0-only
/*
 * corners.c - places where a library that interposes malloc can break a program.
 *
 *	corners NAME [ARG]
 *
 * Each prints what it has found, and that must not depend on what is preloaded. Allocations that a
 * signal handler makes need an allocator that may be interrupted (bump.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_BLOCKS	1000
#define NR_KEY_ROUNDS	4
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Of corners_lib.so */
extern int corners_ifunc(void);
extern const char *corners_early(void);

static void *volatile sink;

static void *get(size_t size)
{
	char *p = malloc(size);

	if (!p)
		abort();
	memset(p, 0x5a, size);
	sink = p;
	return p;
}

/* Allocate and check @nr blocks of changing sizes; half of them are freed late. */
static long churn(int nr)
{
	char *kept[64] = { NULL };
	long sum = 0;
	int i;

	for (i = 0; i < nr; i++) {
		char *p = get(i * 37 % 1000 + 1);

		sum += p[i * 37 % 1000];
		free(kept[i % 64]);
		kept[i % 64] = realloc(p, i * 91 % 2000 + 1);
		sum += kept[i % 64][0];
	}
	for (i = 0; i < 64; i++)
		free(kept[i]);
	return sum;
}

static void reap(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	printf("child %s %d\n", WIFSIGNALED(status) ? "killed" : "ended",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void corner_plain(int arg)
{
	printf("sum %ld\n", churn(arg ?: NR_BLOCKS));
}

/* Constructors, a resolver of an IFUNC, destructors and atexit handlers allocate and free. */
static void *from_main;

static void free_late(void)
{
	free(from_main);
	printf("atexit %ld\n", churn(100));
}

static void corner_early(int arg)
{
	(void)arg;
	printf("constructor %s, resolver %d\n", corners_early(), corners_ifunc());
	from_main = get(1000);
	atexit(free_late);
}

/* dlsym and dlerror allocate; dlerror's text is freed when its thread ends. */
static void *look_in_vain(void *arg)
{
	bool has_error;
	int i;

	for (i = 0; i < 10; i++)
		sink = dlsym(RTLD_DEFAULT, "there_is_no_such_function");
	has_error = dlerror() != NULL;
	sink = dlopen("/there/is/no/such/library.so", RTLD_NOW);
	return arg + has_error;
}

static void corner_dlsym(int arg)
{
	pthread_t thread;
	void *ret;

	(void)arg;
	printf("main %ld\n", (long)look_in_vain((void *)1));
	pthread_create(&thread, NULL, look_in_vain, (void *)2);
	pthread_join(thread, &ret);
	printf("thread %ld\n", (long)ret);
}

/* Destructors of thread-specific data allocate, up to the last round. */
static pthread_key_t keys[8];
static __thread int key_rounds;
static int nr_destroyed;

static void destroy(void *arg)
{
	pthread_key_t key = (uintptr_t)arg - 1;

	churn(20);
	__atomic_fetch_add(&nr_destroyed, 1, __ATOMIC_RELAXED);
	if (++key_rounds <= (int)ARRAY_SIZE(keys) * NR_KEY_ROUNDS)
		pthread_setspecific(key, arg);
}

static void *set_keys(void *arg)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		pthread_setspecific(keys[i], (void *)((uintptr_t)keys[i] + 1));
	return arg;
}

static void corner_keys(int arg)
{
	pthread_t thread;
	size_t i;

	(void)arg;
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		pthread_key_create(&keys[i], destroy);
	for (i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, set_keys, NULL);
		pthread_join(thread, NULL);
	}
	printf("destructors %d\n", nr_destroyed);
}

/* All keys are taken, so that nobody is told of the end of a thread. */
static void corner_nokeys(int arg)
{
	pthread_key_t key;
	pthread_t thread;

	(void)arg;
	while (!pthread_key_create(&key, NULL))
		;
	pthread_create(&thread, NULL, set_keys, NULL);
	pthread_join(thread, NULL);
	printf("sum %ld\n", churn(NR_BLOCKS));
}

/* Children of a process with busy threads. */
static bool is_over;

static void *churn_on(void *arg)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		churn(100);
	return arg;
}

static void corner_fork(int arg)
{
	pthread_t threads[3];
	void *inherited = get(100);
	size_t i;
	pid_t pid;

	(void)arg;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_create(&threads[i], NULL, churn_on, NULL);
	for (i = 0; i < 20; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			free(inherited);
			churn(NR_BLOCKS);
			if (i % 2)
				_exit(i);
			exit(i);
		}
		reap(pid);
	}
	is_over = true;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	free(inherited);
}

/* Without libc's knowledge. */
static void corner_rawfork(int arg)
{
	void *inherited = get(100);
	pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	(void)arg;
	if (!pid) {
		free(inherited);
		churn(NR_BLOCKS);
		syscall(SYS_exit_group, 7);
	}
	reap(pid);
	free(inherited);
}

static void corner_vfork(int arg)
{
	extern char **environ;
	char *const argv[] = { "/bin/true", NULL };
	void *volatile block = get(10);
	volatile int i;
	pid_t pid;

	(void)arg;
	for (i = 0; i < 20; i++) {
		pid = vfork();
		if (!pid) {
			free(block);
			block = malloc(i * 100 + 1);
			churn(50);
			if (i % 2)
				_exit(i);
			execv(argv[0], argv);
			_exit(126);
		}
		reap(pid);
		churn(50);
	}
	free(block);
	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
		abort();
	reap(pid);
}

static void corner_exec(int arg)
{
	char left[16];

	printf("%d left, sum %ld\n", arg, churn(NR_BLOCKS));
	fflush(stdout);
	snprintf(left, sizeof(left), "%d", arg - 1);
	if (arg > 0)
		execl("/proc/self/exe", "corners", "exec", left, NULL);
}

/* @arg children at a time, each with children of its own. */
static void storm(int depth)
{
	pid_t pids[4];
	size_t i;
	int status;

	churn(50);
	for (i = 0; depth && i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (!pids[i]) {
			storm(depth - 1);
			_exit(0);
		}
	}
	for (i = 0; depth && i < ARRAY_SIZE(pids); i++) {
		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			_exit(99);
	}
}

static void corner_storm(int arg)
{
	fflush(stdout);
	storm(arg);
	printf("the storm is over\n");
}

static void *churn_some(void *arg)
{
	churn((intptr_t)arg);
	return NULL;
}

/* @arg threads at the same time. */
static void corner_threads(int arg)
{
	pthread_t threads[1000];
	int i;

	for (i = 0; i < arg; i++)
		pthread_create(&threads[i], NULL, churn_some, (void *)100);
	for (i = 0; i < arg; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads\n", arg);
}

/* @arg threads after each other, every third of them detached. */
static void corner_short(int arg)
{
	pthread_t thread;
	int i;

	for (i = 0; i < arg; i++) {
		if (pthread_create(&thread, NULL, churn_some, (void *)(intptr_t)(i % 5)))
			abort();
		if (i % 3)
			pthread_join(thread, NULL);
		else
			pthread_detach(thread);
	}
	usleep(200000);
	printf("%d threads\n", arg);
}

/* Threads that wait while the process ends, and one that outlives main. */
static void *wait_for_ever(void *arg)
{
	churn(777);
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return arg;
}

static int nr_waiting;

static void corner_waiting(int arg)
{
	pthread_t thread;
	int i;

	for (i = 0; i < arg; i++)
		pthread_create(&thread, NULL, wait_for_ever, &nr_waiting);
	while (__atomic_load_n(&nr_waiting, __ATOMIC_ACQUIRE) < arg)
		usleep(1000);
	printf("%d wait\n", arg);
}

static void *outlive(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	printf("main is gone, sum %ld\n", churn(NR_BLOCKS));
	exit(5);
}

static void corner_mainexit(int arg)
{
	static pthread_t me;
	pthread_t thread;

	(void)arg;
	me = pthread_self();
	churn(100);
	pthread_create(&thread, NULL, outlive, &me);
	pthread_exit(NULL);
}

/* A successful malloc, and free, leave errno alone. */
static void corner_errno(int arg)
{
	int i, nr_changed = 0;

	(void)arg;
	for (i = 0; i < 20000; i++) {
		errno = 77;
		sink = malloc(i % 100 + 1);
		nr_changed += errno != 77;
		free(sink);
		nr_changed += errno != 77;
	}
	errno = 0;
	sink = malloc(PTRDIFF_MAX);
	printf("changed %d, too much: %s\n", nr_changed, strerror(errno));
	errno = 0;
	sink = reallocarray(NULL, SIZE_MAX / 2, 3);
	printf("reallocarray: %s, calloc %p\n", strerror(errno), calloc(SIZE_MAX / 2, 3));
}

static void corner_limit(int arg)
{
	struct rlimit limit;
	int got = 0;

	churn(NR_BLOCKS);
	while (got < arg && malloc(1 << 20))
		got++;
	getrlimit(RLIMIT_AS, &limit);
	printf("got %d of %lu MB\n", got, (unsigned long)limit.rlim_cur >> 20);
}

static void corner_noenv(int arg)
{
	(void)arg;
	clearenv();
	printf("sum %ld\n", churn(NR_BLOCKS));
}

/*
 * Signals at any instruction. The handlers allocate; some of them never return.
 */
static sigjmp_buf back;
static volatile sig_atomic_t nr_signals, jumps;

static void on_signal(int sig)
{
	void *p = malloc(nr_signals % 300 + 1), *q = realloc(malloc(20), 2000);

	(void)sig;
	free(p);
	free(q);
	nr_signals++;
	if (jumps && nr_signals % 3 == 0)
		siglongjmp(back, 1);
}

static void corner_signals(int arg)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct itimerval timer = { { 0, 150 }, { 0, 150 } };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	volatile int rounds = 0;

	jumps = arg;
	if (!jumps)
		sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	sigsetjmp(back, 1);
	while (nr_signals < 2000 && rounds++ < 100000000) {
		void *p = malloc(rounds % 100 + 1);

		p = realloc(p, rounds % 500 + 1);
		free(p);
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("signals %s\n", nr_signals >= 2000 ? "enough" : "too few");
}

/* The library as a plugin: loaded, used by name, unloaded. */
static void corner_dlclose(int arg)
{
	const char *path = getenv("CORNERS_LIBRARY");
	void *handle, *(*fn)(size_t);
	int i;

	(void)arg;
	for (i = 0; i < 20; i++) {
		handle = dlopen(path, RTLD_NOW | (i % 2 ? RTLD_GLOBAL : RTLD_LOCAL));
		fn = handle ? (void *(*)(size_t))dlsym(handle, "malloc") : NULL;
		if (!fn)
			abort();
		free(fn(100));
		churn(100);
		dlclose(handle);
	}
	printf("sum %ld\n", churn(NR_BLOCKS));
}

/* A library with much static TLS, loaded late. */
static void corner_tls(int arg)
{
	void *handle = dlopen(getenv("CORNERS_TLS"), RTLD_NOW);
	int (*fn)(void) = handle ? (int (*)(void))dlsym(handle, "corners_tls") : NULL;

	(void)arg;
	printf("static TLS %d\n", fn ? fn() : -1);
}

/* A C++ library in a C program, in a scope of its own. */
static void corner_cxx(int arg)
{
	void *handle = dlopen(getenv("CORNERS_CXX"), RTLD_NOW | RTLD_LOCAL);
	int (*fn)(int) = handle ? (int (*)(int))dlsym(handle, "corners_cxx") : NULL;

	printf("C++ %d\n", fn ? fn(arg ?: NR_BLOCKS) : -1);
}

static const struct corner {
	const char *name;
	void (*fn)(int arg);
} corners[] = {
	{ "plain", corner_plain }, { "early", corner_early }, { "dlsym", corner_dlsym },
	{ "keys", corner_keys }, { "nokeys", corner_nokeys }, { "fork", corner_fork },
	{ "rawfork", corner_rawfork }, { "vfork", corner_vfork }, { "exec", corner_exec },
	{ "storm", corner_storm }, { "threads", corner_threads }, { "short", corner_short },
	{ "waiting", corner_waiting }, { "mainexit", corner_mainexit }, { "errno", corner_errno },
	{ "limit", corner_limit }, { "noenv", corner_noenv }, { "signals", corner_signals },
	{ "dlclose", corner_dlclose }, { "tls", corner_tls }, { "cxx", corner_cxx },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < ARRAY_SIZE(corners); i++) {
		if (!strcmp(argv[1], corners[i].name)) {
			corners[i].fn(argc > 2 ? atoi(argv[2]) : 0);
			return 0;
		}
	}
	return 2;
}
