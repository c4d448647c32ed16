// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child process calls small functions of our own executable in a loop, with the probes and programs on
 * them that allocators get, and tells the CPU time. All functions take turns, so that a change of the
 * machine's speed meets them alike. It tells the times of the bare calls, waits until the probes are
 * there, and tells the times again.
 *
 * Programs and probes belong to a process of their own, the child's parent: trace events and their guard
 * go by the recorder's process id, and what is counted is in nobody's way.
 */
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe_cost.h"
#include "probe/probe.h"
#include "util/clock.h"
#include "util/median.h"
#include "util/msg.h"

#define NR_FUNCTIONS	(COST_NR_CLASSES * COST_NR_CALLS)
#define NR_BATCHES	15
#define BATCH_NS	500000
#define BARE_BATCH_NS	50000
#define NR_WARM_CALLS	64
#define FUNCTION_BYTES	64
#define LONG_PERIOD	(1ULL << 24)	/* samples are rare enough not to matter */

/* One function for each class and kind of call, FUNCTION_BYTES apart; each returns its argument. */
asm(".pushsection .text, \"ax\", @progbits\n"
    ".balign 4096\n"
    "probe_cost_code:\n"
    ".rept 3\n"
    "	.balign 64\n"
    "	push %rbp\n"
    "	mov %rdi, %rax\n"
    "	pop %rbp\n"
    "	ret\n"
    ".endr\n"
    ".rept 3\n"
    "	.balign 64\n"
    "	test %rdi, %rdi\n"
    "	mov %rdi, %rax\n"
    "	ret\n"
    ".endr\n"
    ".balign 64\n"
    ".popsection\n");
extern const char probe_cost_code[] __attribute__((visibility("hidden")));

/* CPU time of a call, of each function and batch. */
struct times {
	double ns[NR_FUNCTIONS][NR_BATCHES];
};

/* Return: CPU time of a call. */
static double run_batch(int function, long nr_calls)
{
	void *(*call)(const void *ptr, size_t nr_bytes) =
		(void *)(probe_cost_code + function * FUNCTION_BYTES);
	__u64 start_ns = clock__thread_ns();

	for (long i = 0; i < nr_calls; i++)
		call(probe_cost_code, 8);
	return (double)(clock__thread_ns() - start_ns) / nr_calls;
}

static long batch_calls(int function, long batch_ns)
{
	run_batch(function, NR_WARM_CALLS);
	return batch_ns / (run_batch(function, NR_WARM_CALLS) + 1) + 1;
}

static bool measure_and_tell(int fd, long batch_ns)
{
	long nr_calls[NR_FUNCTIONS];
	struct times times;

	for (int i = 0; i < NR_FUNCTIONS; i++)
		nr_calls[i] = batch_calls(i, batch_ns);
	for (int batch = 0; batch < NR_BATCHES; batch++) {
		for (int i = 0; i < NR_FUNCTIONS; i++)
			times.ns[i][batch] = run_batch(i, nr_calls[i]);
	}
	return send(fd, &times, sizeof(times), MSG_NOSIGNAL) == sizeof(times);
}

static void __attribute__((noreturn)) run_child(int fd)
{
	char go;

	if (measure_and_tell(fd, BARE_BATCH_NS) && recv(fd, &go, sizeof(go), 0) == sizeof(go))
		measure_and_tell(fd, BATCH_NS);
	_exit(0);
}

static int hear(int fd, void *ret, size_t size_bytes)
{
	ssize_t nr_bytes;

	do {
		nr_bytes = recv(fd, ret, size_bytes, MSG_WAITALL);
	} while (nr_bytes < 0 && errno == EINTR);
	if (nr_bytes < 0)
		return -errno;
	return nr_bytes == (ssize_t)size_bytes ? 0 : -ECHILD;
}

static int find_segment(struct dl_phdr_info *info, size_t size __attribute__((unused)), void *ctx)
{
	__u64 *offset = ctx, vaddr = (__u64)probe_cost_code - info->dlpi_addr;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && vaddr - phdr->p_vaddr < phdr->p_filesz) {
			*offset = vaddr - phdr->p_vaddr + phdr->p_offset;
			return 1;
		}
	}
	return 0;
}

/* Our own code, as if it were an allocator's. */
static bool describe_code(struct probe_image *image, struct probe_site *sites)
{
	static const __u32 fns[COST_NR_CALLS] = {
		[COST_ALLOC] = CHURN_FN_MALLOC, [COST_FREE] = CHURN_FN_FREE,
		[COST_WRAPPING] = CHURN_FN_REALLOC,
	};
	__u64 offset;

	if (!dl_iterate_phdr(find_segment, &offset))
		return false;
	for (int i = 0; i < NR_FUNCTIONS; i++) {
		sites[i] = (struct probe_site){
			.fn = fns[i % COST_NR_CALLS],
			.symbol = "probe_cost_code",
			.offset = offset + i * FUNCTION_BYTES,
		};
	}
	*image = (struct probe_image){
		.family = "calibration", .path = "/proc/self/exe",
		.sites = sites, .nr_sites = NR_FUNCTIONS,
	};
	return true;
}

static struct probe_cost summarise(double *bare_ns, double *probed_ns)
{
	double call_ns = median(bare_ns, NR_BATCHES), ns = median(probed_ns, NR_BATCHES);
	double deviations[NR_BATCHES];

	for (int i = 0; i < NR_BATCHES; i++)
		deviations[i] = fabs(probed_ns[i] - ns);
	return (struct probe_cost){ .ns = ns - call_ns, .mad_ns = median(deviations, NR_BATCHES) };
}

/* Some instructions take a probe, but never hit it. */
static int find_hits(struct probes *p, const struct probe_image *image, bool *was_hit)
{
	struct probe_site_stats *stats;
	size_t nr;
	int err = probes__site_stats(p, &stats, &nr);

	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		if (stats[i].image == image)
			was_hit[stats[i].site] = stats[i].nr_hits;
	}
	free(stats);
	return 0;
}

static int take_times(struct probes *p, int fd, pid_t child, struct probe_image *image,
		      struct times times[2])
{
	size_t index;
	int err;

	err = hear(fd, &times[0], sizeof(times[0])) ?:
	      probes__add_image(p, image, image->path, &index) ?:
	      probes__attach(p, index, child);
	if (err)
		return err;
	probes__start(p);
	err = send(fd, "", 1, MSG_NOSIGNAL) == 1 ? hear(fd, &times[1], sizeof(times[1])) : -ECHILD;
	probes__stop(p);
	return err;
}

static int measure(struct probes *p, int fd, pid_t child, struct probe_image *image,
		   struct probe_costs *ret)
{
	bool was_hit[NR_FUNCTIONS] = {};
	struct times times[2];
	int err;

	err = take_times(p, fd, child, image, times) ?: find_hits(p, image, was_hit);
	for (int i = 0; i < NR_FUNCTIONS && !err; i++) {
		struct probe_cost *cost = &ret->costs[i / COST_NR_CALLS][i % COST_NR_CALLS];

		*cost = summarise(times[0].ns[i], times[1].ns[i]);
		if (!was_hit[i])
			cost->ns = cost->mad_ns = NAN;
	}
	return err;
}

/*
 * Fork, with a socket between both ends.
 *
 * Return: 0 in the child, its process id in the parent, or a negative errno.
 */
static pid_t fork_with_socket(int *fd)
{
	int fds[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	pid = fork();
	err = pid < 0 ? -errno : 0;
	*fd = fds[pid == 0];
	close(fds[pid != 0]);
	if (err)
		close(*fd);
	return err ?: pid;
}

/* The end of the stream ends it, whatever it waits for. */
static void end_child(pid_t pid, int fd)
{
	close(fd);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int measure_in_child(struct probes *p, struct probe_image *image, struct probe_costs *ret)
{
	int fd = -1, err;
	pid_t child = fork_with_socket(&fd);

	if (!child)
		run_child(fd);
	if (child < 0)
		return child;
	err = measure(p, fd, child, image, ret);
	end_child(child, fd);
	return err;
}

static int load_and_measure(enum probe_method method, struct probe_costs *ret)
{
	const struct probes_opts opts = {
		.method = method, .period = LONG_PERIOD, .max_live = 1, .uid = (uid_t)-1,
	};
	struct probe_site sites[NR_FUNCTIONS];
	struct probe_image image;
	struct probes *p;
	int err = probes__new(&opts, &p);

	if (err)
		return err;
	err = describe_code(&image, sites) ? measure_in_child(p, &image, ret) : -ENOEXEC;
	if (err)
		pr_err("Cannot measure what a probe costs: %s\n", strerror(-err));
	ret->method = probes__method(p);
	probes__free(p);
	return err;
}

/* What the process that has the probes tells. */
struct result {
	int err;
	struct probe_costs costs;
};

static void __attribute__((noreturn)) run_prober(enum probe_method method, int fd)
{
	struct result result = {};

	result.err = load_and_measure(method, &result.costs);
	_exit(send(fd, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result));
}

int probe_cost__measure(enum probe_method method, struct probe_costs *ret)
{
	struct result result;
	int fd = -1, err;
	pid_t prober = fork_with_socket(&fd);

	if (!prober)
		run_prober(method, fd);
	err = prober < 0 ? prober : hear(fd, &result, sizeof(result));
	if (prober > 0)
		end_child(prober, fd);
	if (err) {
		pr_err("Cannot measure what a probe costs: %s\n", strerror(-err));
		return err;
	}
	if (!result.err)
		*ret = result.costs;
	return result.err;
}

enum probe_class probe_cost__class(const struct probe_site *site)
{
	return site->emulated ? COST_EMULATED : COST_STEPPED;
}

const char *probe_class__name(enum probe_class class)
{
	static const char *const names[COST_NR_CLASSES] = {
		[COST_EMULATED] = "emulated", [COST_STEPPED] = "single-stepped",
	};

	return names[class];
}

enum probe_call probe_cost__call(const struct probe_image *image, const struct probe_site *site)
{
	if (image->may_forward)
		return COST_WRAPPING;
	switch (site->fn) {
	case CHURN_FN_MALLOC:
	case CHURN_FN_CALLOC:
	case CHURN_FN_REFILL:
		return COST_ALLOC;
	case CHURN_FN_FREE:
	case CHURN_FN_OS_ALLOC:
	case CHURN_FN_OS_FREE:
		return COST_FREE;
	default:
		return COST_WRAPPING;
	}
}
