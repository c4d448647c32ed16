// SPDX-License-Identifier: GPL-2.0-only
/*
 * The child waits for orders on a socket and answers with the time that a loop of calls took, by its
 * own CPU clock. It is never traced by anything but the calibration, and dies with its parent.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hit_cost.h"

#include "bpf/churn.h"
#include "bpf/control.h"
#include "gate.h"
#include "probes.h"
#include "util/clock.h"
#include "util/msg.h"

#define HOT_CALLS	500
#define COLD_CALLS	60
#define STEPPED_CALLS	30
#define COLD_BYTES	(256 << 10)	/* touched between calls: more than a first level cache */
#define LINE_BYTES	64

typedef void *(*hit_fn)(void *arg);

/*
 * One function for each probe. A push is emulated by the kernel, an xor is single-stepped; what
 * follows is the same.
 */
#define HIT_FUNCTION(name, first, undo)						\
	asm(".pushsection .text\n.balign 16\n.type " #name ", @function\n"	\
	    #name ":\n\t" first "\n\t" undo "\n\tmov %rsp, %rax\n\tret\n"	\
	    ".size " #name ", . - " #name "\n.popsection\n");			\
	void *name(void *arg)

HIT_FUNCTION(hit_alloc_emulated, "push %rbp", "pop %rbp");
HIT_FUNCTION(hit_free_emulated, "push %rbp", "pop %rbp");
HIT_FUNCTION(hit_wrapping_emulated, "push %rbp", "pop %rbp");
HIT_FUNCTION(hit_alloc_stepped, "xor %eax, %eax", "nop");
HIT_FUNCTION(hit_free_stepped, "xor %eax, %eax", "nop");
HIT_FUNCTION(hit_wrapping_stepped, "xor %eax, %eax", "nop");

static const hit_fn functions[HIT_KINDS][HIT_CLASSES] = {
	[HIT_ALLOC] = { hit_alloc_emulated, hit_alloc_stepped },
	[HIT_FREE] = { hit_free_emulated, hit_free_stepped },
	[HIT_WRAPPING] = { hit_wrapping_emulated, hit_wrapping_stepped },
};

/* @kind: HIT_KINDS: an allocation and its free. */
struct hit_order {
	int kind, class;
	int cold;
};

struct hit_child {
	pid_t pid;
	int fd;
	double hot_ns;			/* HIT_ALLOC, when calibrated */
};

static void touch(volatile char *memory)
{
	size_t i;

	for (i = 0; i < COLD_BYTES; i += LINE_BYTES)
		memory[i]++;
}

static double run_pairs(void)
{
	__u64 start = clock__thread_ns();
	int i;

	for (i = 0; i < HOT_CALLS; i++)
		hit_free_emulated(hit_alloc_emulated(NULL));
	return (double)(clock__thread_ns() - start) / HOT_CALLS;
}

/* realloc(NULL, size) and malloc(size): no block is looked up. free() needs a pointer. */
static double run(const struct hit_order *o, char *memory)
{
	int nr = o->class == HIT_STEPPED ? STEPPED_CALLS : o->cold ? COLD_CALLS : HOT_CALLS, i;
	hit_fn fn = functions[o->kind][o->class];
	void *arg = o->kind == HIT_FREE ? memory : NULL;
	double sum = 0;
	__u64 start;

	if (!o->cold) {
		start = clock__thread_ns();
		for (i = 0; i < nr; i++)
			fn(arg);
		return (double)(clock__thread_ns() - start) / nr;
	}
	for (i = 0; i < nr; i++) {
		touch(memory);
		start = clock__thread_ns();
		fn(arg);
		sum += clock__thread_ns() - start;
	}
	return sum / nr;
}

/* No descriptor of ours may outlive us in it. */
static void keep_only(int fd)
{
	dup2(fd, STDIN_FILENO);
	close_range(STDIN_FILENO + 1, ~0U, 0);
}

static void serve(int fd)
{
	char *memory = calloc(1, COLD_BYTES);
	struct hit_order order;
	double ns;

	keep_only(fd);
	fd = STDIN_FILENO;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	while (memory && read(fd, &order, sizeof(order)) == sizeof(order)) {
		ns = order.kind == HIT_KINDS ? run_pairs() : run(&order, memory);
		if (write(fd, &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

int hit_child__new(struct hit_child **ret)
{
	struct hit_child *c = calloc(1, sizeof(*c));
	int fds[2];

	if (!c)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		free(c);
		return -errno;
	}
	c->pid = fork();
	if (!c->pid) {
		close(fds[0]);
		serve(fds[1]);
	}
	close(fds[1]);
	c->fd = fds[0];
	if (c->pid < 0) {
		int err = -errno;

		close(c->fd);
		free(c);
		return err;
	}
	*ret = c;
	return 0;
}

void hit_child__free(struct hit_child *c)
{
	if (!c)
		return;
	close(c->fd);
	waitpid(c->pid, NULL, 0);
	free(c);
}

static int ask(struct hit_child *c, int kind, int class, bool cold, double *ret)
{
	struct hit_order order = { .kind = kind, .class = class, .cold = cold };

	if (write(c->fd, &order, sizeof(order)) != sizeof(order) ||
	    read(c->fd, ret, sizeof(*ret)) != sizeof(*ret))
		return -EPIPE;
	return 0;
}

static int measure_all(struct hit_child *c, struct hit_times times[HIT_KINDS][HIT_CLASSES],
		       bool probed)
{
	struct hit_times *t;
	int run, kind, class, err = 0;

	for (run = 0; run < HIT_RUNS; run++) {
		for (kind = 0; kind < HIT_KINDS; kind++) {
			for (class = 0; class < HIT_CLASSES; class++) {
				t = &times[kind][class];
				err = err ?: ask(c, kind, class, false,
						 probed ? &t->probed_hot[run] : &t->bare_hot[run]);
				err = err ?: ask(c, kind, class, true,
						 probed ? &t->probed_cold[run] : &t->bare_cold[run]);
			}
		}
	}
	return err;
}

/* Where in our own file a function is; the child has it mapped there, too. */
static int file_offset(const void *fn, unsigned long *ret)
{
	unsigned long start, end, offset, addr = (unsigned long)fn;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int err = -ENOENT;

	if (!maps)
		return -errno;
	while (err && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3 ||
		    addr < start || addr >= end)
			continue;
		*ret = addr - start + offset;
		err = 0;
	}
	fclose(maps);
	return err;
}

static int plant(struct hit_child *c, struct probes *probes)
{
	static const __u32 fns[HIT_KINDS] = { CHURN_FN_MALLOC, CHURN_FN_FREE, CHURN_FN_REALLOC };
	unsigned long offsets[HIT_KINDS * HIT_CLASSES];
	__u64 cookies[HIT_KINDS * HIT_CLASSES];
	int kind, class, err = 0, n = 0;

	for (kind = 0; kind < HIT_KINDS; kind++) {
		for (class = 0; class < HIT_CLASSES && !err; class++, n++) {
			err = file_offset(functions[kind][class], &offsets[n]);
			cookies[n] = CHURN_COOKIE(fns[kind], CHURN_CALIBRATION_SITE,
						  CHURN_MAX_IMAGES);
		}
	}
	return err ?: probes__attach_own(probes, offsets, cookies, n, c->pid);
}

static void unplant(struct hit_child *c, struct probes *probes)
{
	gate__shut(probes, c->pid);
	probes__forget(probes, c->pid);
	gate__drop(probes, c->pid);
	probes__drop_totals(probes, c->pid);
}

static int open_on_child(struct hit_child *c, struct probes *probes)
{
	int err = plant(c, probes);

	return err ?: gate__open(probes, c->pid, CHURN_CALIBRATE_UNSAMPLED, NULL);
}

static int measure_bare_pairs(struct hit_child *c, struct pair_times *t)
{
	int run, err = 0;

	for (run = 0; run < HIT_RUNS && !err; run++)
		err = ask(c, HIT_KINDS, HIT_EMULATED, false, &t->bare[run]);
	return err;
}

static int measure_sampled_pairs(struct hit_child *c, struct probes *probes, struct pair_times *t)
{
	struct churn_totals before, after;
	int run, err;

	err = gate__open(probes, c->pid, CHURN_CALIBRATE_SAMPLED, NULL);
	for (run = 0; run < HIT_RUNS && !err; run++) {
		err = probes__read_totals(probes, c->pid, &before) ?:
		      ask(c, HIT_KINDS, HIT_EMULATED, false, &t->probed[run]) ?:
		      probes__read_totals(probes, c->pid, &after);
		if (!err)
			t->timed[run] = (double)(after.cost_ns - before.cost_ns) / HOT_CALLS;
	}
	return err;
}

int hit_child__calibrate(struct hit_child *c, struct probes *probes, struct hit_cost *ret)
{
	struct hit_times times[HIT_KINDS][HIT_CLASSES];
	struct pair_times pair;
	int err, i;

	err = measure_all(c, times, false) ?: measure_bare_pairs(c, &pair) ?:
	      open_on_child(c, probes);
	if (!err) {
		err = measure_all(c, times, true) ?: measure_sampled_pairs(c, probes, &pair);
		unplant(c, probes);
	}
	if (err) {
		pr_err("Cannot measure what a probe costs: %s\n", strerror(-err));
		return err;
	}
	hit_cost__judge(times, &pair, ret);
	c->hot_ns = times[HIT_ALLOC][HIT_EMULATED].probed_hot[0];
	for (i = 1; i < HIT_RUNS; i++) {
		if (times[HIT_ALLOC][HIT_EMULATED].probed_hot[i] < c->hot_ns)
			c->hot_ns = times[HIT_ALLOC][HIT_EMULATED].probed_hot[i];
	}
	return 0;
}

int hit_child__recalibrate(struct hit_child *c, struct probes *probes, double *factor)
{
	double best = 0, ns;
	int err, i;

	err = open_on_child(c, probes);
	if (err)
		return err;
	for (i = 0; i < HIT_RUNS && !err; i++) {
		err = ask(c, HIT_ALLOC, HIT_EMULATED, false, &ns);
		if (!err && (!best || ns < best))
			best = ns;
	}
	unplant(c, probes);
	if (!err)
		*factor = best / c->hot_ns;
	return err;
}
