// SPDX-License-Identifier: GPL-2.0-only
/*
 * listener.c - listen to libperf-churn.so without perf churn: the program side of the library's
 * tests.
 *
 *	preload_listener [-e FILE] [-d MS] [-l MS] [-p] LIBRARY COMMAND [ARGS]
 *
 * Probes the hook of LIBRARY in all processes that map this very file (so it should be a copy of
 * one's own), runs the command, and prints sums as lines of JSON: one a process, and one of all
 * ("pid": 0), with the CPU time that the command took. -e writes each call of the hook as a line of
 * JSON, too. -d attaches MS after the command has been started instead of before, -l detaches MS
 * after that. What the command preloads is for the caller to say (env LD_PRELOAD=... as part of
 * COMMAND). The exit status is the command's.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/preload.h"
#include "listener.skel.h"
#include "preload/listener.h"

#define POLL_MS		20

struct listener {
	struct listener_bpf *skel;
	struct ring_buffer *ring;
	FILE *events;
	const char *library;
	int delay_ms, listen_ms;
	bool is_plain;
	int link_fd;
	struct rusage used;
};

static int fail(const char *what)
{
	fprintf(stderr, "preload_listener: %s: %s\n", what, strerror(errno));
	return 125;
}

static __u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/*
 * Where the library has its hook and its counter.
 */
static __u64 file_offset(Elf *elf, __u64 addr)
{
	GElf_Phdr phdr;
	size_t nr, i;

	elf_getphdrnum(elf, &nr);
	for (i = 0; i < nr; i++) {
		if (gelf_getphdr(elf, i, &phdr) && phdr.p_type == PT_LOAD && addr >= phdr.p_vaddr &&
		    addr < phdr.p_vaddr + phdr.p_filesz)
			return addr - phdr.p_vaddr + phdr.p_offset;
	}
	return 0;
}

static __u64 find_symbol(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;
	size_t i;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNSYM)
			continue;
		for (i = 0; i < shdr.sh_size / shdr.sh_entsize; i++) {
			if (gelf_getsym(elf_getdata(scn, NULL), i, &sym) &&
			    !strcmp(elf_strptr(elf, shdr.sh_link, sym.st_name), name))
				return file_offset(elf, sym.st_value);
		}
	}
	return 0;
}

static int find_offsets(const char *path, unsigned long *hooks, unsigned long *counters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return fail(path);
	hooks[0] = find_symbol(elf, PRELOAD_HOOK_SYMBOL);
	hooks[1] = find_symbol(elf, PRELOAD_FAST_SYMBOL);
	counters[0] = counters[1] = find_symbol(elf, PRELOAD_COUNTER_SYMBOL);
	elf_end(elf);
	close(fd);
	errno = ENOENT;
	return hooks[0] && hooks[1] && counters[0] ? 0 : fail("no hook or no counter");
}

static int attach(struct listener *l)
{
	unsigned long hooks[2], counters[2];
	union bpf_attr attr;
	int err = find_offsets(l->library, hooks, counters);

	if (err)
		return err;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = bpf_program__fd(l->skel->progs.on_hook);
	attr.link_create.attach_type = BPF_TRACE_UPROBE_MULTI;
	attr.link_create.uprobe_multi.path = (__u64)(unsigned long)l->library;
	attr.link_create.uprobe_multi.offsets = (__u64)(unsigned long)hooks;
	attr.link_create.uprobe_multi.ref_ctr_offsets = (__u64)(unsigned long)counters;
	attr.link_create.uprobe_multi.cnt = l->is_plain ? 1 : 2;
	l->link_fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return l->link_fd < 0 ? fail("attach") : 0;
}

static void detach(struct listener *l)
{
	if (l->link_fd >= 0)
		close(l->link_fd);
	l->link_fd = -1;
}

/*
 * Output
 */
static int print_event(void *ctx, void *data, size_t size)
{
	const struct listener_event *e = data;
	const struct preload_call *c = &e->call;
	FILE *f = ctx;
	int i;

	(void)size;
	fprintf(f, "{\"pid\": %u, \"tid\": %u, \"time\": %llu, \"kind\": %u, \"fn\": %u, "
		"\"ptr\": %llu, \"size\": %llu, \"weight\": %llu, \"old\": %llu, \"seq\": %llu, "
		"\"caller\": %llu, \"alloc_ns\": %llu, \"alloc_tid\": %u, \"flags\": %u, "
		"\"period\": %llu, \"session\": %llu, \"allocs\": %llu, \"ips\": [",
		e->pid, e->tid, e->time_ns, c->kind, c->fn, c->ptr, c->size, c->weight, c->old_ptr, c->seq, c->caller, c->alloc_ns,
		c->alloc_tid, c->flags, c->period, c->session, c->since.nr_allocs);
	for (i = 0; i < LISTENER_NR_IPS; i++)
		fprintf(f, "%s%llu", i ? ", " : "", e->ips[i]);
	fprintf(f, "]}\n");
	return 0;
}

static void print_sums(__u32 pid, const struct listener_sums *s, __u64 nr_lost,
		       __u64 cpu_us)
{
	printf("{\"pid\": %u, \"allocs\": %llu, \"bytes\": %llu, \"frees\": %llu, \"failed\": %llu, "
	       "\"free_null\": %llu, \"reallocs\": %llu, \"lost_map\": %llu, "
	       "\"lost_inflight\": %llu, \"samples\": %llu, \"freed\": %llu, "
	       "\"totals\": %llu, \"weight\": %llu, \"weighted_bytes\": %llu, \"freed_weight\": %llu, "
	       "\"lost\": %llu, \"cpu_us\": %llu}\n", pid, s->since.nr_allocs, s->since.alloc_bytes,
	       s->since.nr_frees, s->since.nr_failed, s->since.nr_free_null, s->since.nr_reallocs,
	       s->since.nr_lost_map,
	       s->since.nr_lost_inflight, s->hits[PRELOAD_ALLOC], s->hits[PRELOAD_FREE],
	       s->hits[PRELOAD_TOTALS], s->weight, s->weighted_bytes, s->freed_weight, nr_lost,
	       cpu_us);
}

static __u64 micros(const struct timeval *tv)
{
	return tv->tv_sec * 1000000ULL + tv->tv_usec;
}

static void print_all(struct listener *l)
{
	int fd = bpf_map__fd(l->skel->maps.sums);
	struct listener_sums s, all = {};
	__u64 *to = (__u64 *)&all;
	__u32 pid, *from = NULL;
	size_t i;

	while (!bpf_map_get_next_key(fd, from, &pid)) {
		from = &pid;
		if (bpf_map_lookup_elem(fd, &pid, &s))
			continue;
		print_sums(pid, &s, 0, 0);
		for (i = 0; i < sizeof(s) / sizeof(*to); i++)
			to[i] += ((__u64 *)&s)[i];
	}
	print_sums(0, &all, l->skel->bss->nr_lost,
		   micros(&l->used.ru_utime) + micros(&l->used.ru_stime));
}

/*
 * The flow
 */
static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (!pid) {
		execvp(argv[0], argv);
		_exit(fail(argv[0]));
	}
	return pid;
}

static void poll_ring(struct listener *l)
{
	if (l->ring)
		ring_buffer__poll(l->ring, POLL_MS);
	else
		usleep(POLL_MS * 1000);
}

static int follow(struct listener *l, pid_t pid)
{
	__u64 started = now_ms();
	bool was_attached = l->link_fd >= 0;
	int status, err = 0;

	while (!wait4(pid, &status, WNOHANG, &l->used)) {
		if (!was_attached && now_ms() - started >= (__u64)l->delay_ms) {
			err = attach(l);
			was_attached = true;
		}
		if (l->listen_ms && now_ms() - started >= (__u64)(l->delay_ms + l->listen_ms))
			detach(l);
		poll_ring(l);
	}
	if (err)
		return err;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int listen_to(struct listener *l, char **argv)
{
	pid_t pid;
	int status;

	if (!l->delay_ms && attach(l))
		return 125;
	pid = start(argv);
	if (pid < 0)
		return fail("fork");
	status = follow(l, pid);
	detach(l);
	if (l->ring)
		ring_buffer__consume(l->ring);
	print_all(l);
	return status;
}

static int open_bpf(struct listener *l)
{
	l->skel = listener_bpf__open();
	if (!l->skel)
		return fail("open");
	l->skel->rodata->wants_events = l->events != NULL;
	bpf_program__set_expected_attach_type(l->skel->progs.on_hook, BPF_TRACE_UPROBE_MULTI);
	if (listener_bpf__load(l->skel))
		return fail("load");
	if (!l->events)
		return 0;
	l->ring = ring_buffer__new(bpf_map__fd(l->skel->maps.events), print_event, l->events, NULL);
	return l->ring ? 0 : fail("ring");
}

int main(int argc, char **argv)
{
	struct listener l = { .link_fd = -1 };
	int opt, status;

	while ((opt = getopt(argc, argv, "+e:d:l:p")) != -1) {
		if (opt == 'd')
			l.delay_ms = atoi(optarg);
		else if (opt == 'l')
			l.listen_ms = atoi(optarg);
		else if (opt == 'p')
			l.is_plain = true;
		else if (opt != 'e' || !(l.events = fopen(optarg, "we")))
			return fail("bad option or file");
	}
	errno = EINVAL;
	if (argc - optind < 2)
		return fail("no library or no command");
	l.library = argv[optind];
	status = open_bpf(&l) ?: listen_to(&l, argv + optind + 1);
	ring_buffer__free(l.ring);
	listener_bpf__destroy(l.skel);
	if (l.events && fclose(l.events))
		status = fail("write");
	return status;
}
