// SPDX-License-Identifier: GPL-2.0-only
/*
 * busy [-t THREADS] [-n ROUNDS] [-w FILE] [-o LIBRARY] [-l] [-m FILE] [-j] [-s]
 *
 * Threads that allocate below leaf() and mid(), ROUNDS times, to be built without frame pointers.
 *
 *   -w FILE	wait until FILE is there
 *   -o LIBRARY	then load it and call its library_entry(ROUNDS), too
 *   -l		the first thread ends before the others start to work
 *   -m FILE	map FILE at 3000 places, executable, before
 *   -j		make 3000 pages of code one by one, meanwhile
 *   -s		one more thread, with a stack pointer that points nowhere
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NR_PAGES	3000
#define PAGES_AT	0x100000000000UL

static struct {
	int threads, rounds;
	const char *wait, *library, *many;
	bool leaderless, jit, lost;
} opts = { .threads = 2, .rounds = 1000 };

static pthread_barrier_t leader_is_gone;

__attribute__((noinline)) static void leaf(int n)
{
	volatile char frame[64] = { n };
	void *p = malloc(40 + frame[0] % 8);

	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void mid(int n)
{
	volatile char frame[400] = { n };

	leaf(frame[0]);
	__asm__ volatile("" : : "r"(frame) : "memory");
}

static void *work(void *arg)
{
	(void)arg;
	if (opts.leaderless)
		pthread_barrier_wait(&leader_is_gone);
	for (int i = 0; i < opts.rounds; i++) {
		mid(i);
		usleep(100);
	}
	return NULL;
}

static void *use_library(void *arg)
{
	void (*entry)(int);
	void *library;

	(void)arg;
	if (opts.leaderless) {
		pthread_barrier_wait(&leader_is_gone);
		usleep(200000);
	}
	while (opts.wait && access(opts.wait, F_OK))
		usleep(1000);
	library = dlopen(opts.library, RTLD_NOW);
	entry = library ? (void (*)(int))dlsym(library, "library_entry") : NULL;
	if (!entry)
		exit(3);
	entry(opts.rounds);
	return NULL;
}

/* Registers as generated code or a damaged program may have them, for some time each. */
static void *lose_stack(void *arg)
{
	(void)arg;
#ifdef __x86_64__
	for (int i = 0; i < 300; i++)
		__asm__ volatile("mov %%rsp, %%r12; mov %%rbp, %%r13\n"
				 "mov $0x5eaddead0000, %%rsp; mov %%rsp, %%rbp; mov $300000, %%rcx\n"
				 "1: dec %%rcx; jnz 1b\n"
				 "mov $0x13, %%rsp; mov %%rsp, %%rbp; mov $300000, %%rcx\n"
				 "2: dec %%rcx; jnz 2b\n"
				 "mov %%r12, %%rsp; mov %%r13, %%rbp"
				 : : : "r12", "r13", "rcx", "memory");
#endif
	return NULL;
}

static void map_many(const char *path)
{
	int fd = open(path, O_RDONLY);

	for (size_t i = 0; i < NR_PAGES; i++) {
		if (mmap((void *)(PAGES_AT + i * 0x4000), 4096, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			exit(3);
	}
	close(fd);
}

static void make_code(void)
{
	char *pages = mmap(NULL, NR_PAGES * 8192, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; pages != MAP_FAILED && i < NR_PAGES; i++) {
		if (mprotect(pages + i * 8192, 4096, PROT_READ | PROT_EXEC))
			exit(3);
		if (i % 10 == 0)
			usleep(500);
	}
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "t:n:w:o:lm:js")) > 0) {
		switch (opt) {
		case 't': opts.threads = atoi(optarg); break;
		case 'n': opts.rounds = atoi(optarg); break;
		case 'w': opts.wait = optarg; break;
		case 'o': opts.library = optarg; break;
		case 'l': opts.leaderless = true; break;
		case 'm': opts.many = optarg; break;
		case 'j': opts.jit = true; break;
		case 's': opts.lost = true; break;
		default: exit(2);
		}
	}
}

static pthread_t start(void *(*fn)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, NULL))
		exit(3);
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t threads[258];
	int nr = 0;

	parse(argc, argv);
	if (opts.many)
		map_many(opts.many);
	pthread_barrier_init(&leader_is_gone, NULL, opts.threads + !!opts.library + 1);
	if (opts.library)
		threads[nr++] = start(use_library);
	if (opts.lost)
		threads[nr++] = start(lose_stack);
	while (opts.wait && !opts.library && access(opts.wait, F_OK))
		usleep(1000);
	for (int i = 0; i < opts.threads && i < 256; i++)
		threads[nr++] = start(work);
	if (opts.jit)
		make_code();
	if (opts.leaderless) {
		pthread_barrier_wait(&leader_is_gone);
		pthread_exit(NULL);
	}
	while (nr)
		pthread_join(threads[--nr], NULL);
	puts("fine");
	return 0;
}
