// SPDX-License-Identifier: GPL-2.0-only
/*
 * jit.c - 23 allocations by main -> generated code -> malloc. It calls the code hot_loop in
 * /tmp/perf-PID.map, and says its pid. With an argument the name has a terminal escape in it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "workload.h"

#define ENTRY	64

typedef void *(*generated_fn)(void *(*fn)(size_t), size_t n);

/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop %rbp; ret */
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3,
};

static int write_map(const unsigned char *entry, const char *name)
{
	char path[64], line[128];
	int fd, chars;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
	chars = snprintf(line, sizeof(line), "%lx %zx %s\n", (long)entry, sizeof(code), name);
	return fd < 0 || write(fd, line, chars) != chars || close(fd);
}

int main(int argc, char **argv)
{
	unsigned char *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[16];

	(void)argv;
	if (mem == MAP_FAILED)
		return 1;
	memcpy(mem + ENTRY, code, sizeof(code));
	if (write_map(mem + ENTRY, argc > 1 ? "hot\033[2J;loop" : "hot_loop"))
		return 1;
	for (int i = 0; i < 23; i++)
		keep(((generated_fn)(void *)(mem + ENTRY))(malloc, 32));
	snprintf(text, sizeof(text), "%d\n", getpid());
	say(text);
	return 0;
}
