// SPDX-License-Identifier: GPL-2.0-only
/*
 * stacks_bench - what a user stack costs inside BPF programs, walked by CFI and got in the kernel's ways.
 *
 *	stacks_bench [-r RUNS]
 *
 * A thread of this process recurses to a known depth. There it either calls a function with a uprobe, or
 * is interrupted by a CPU event. The time is what the kernel counts as the program's (run_time_ns);
 * that of a program which does nothing is taken off. All ways take turns in each run, and the medians of
 * the runs are shown. The process keeps frame pointers, so that all ways have the same frames to find, and
 * has more stack above than the largest copy. The kernel finds the end of a chain of frame pointers by a
 * fault, unless what stands there can be no address: both are measured.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.skel.h"
#include "bpf/control.h"
#include "stack/walk_spaces.h"

#define MAX_RUNS	99
#define NR_CALLS	10000		/* a run, of the function with the uprobe */
#define SPIN_MS		250		/* a run, under the CPU event */
#define CPU_PERIOD_NS	100000
#define ROOM_BYTES	(128 << 10)	/* stack above the frames */
#define RING_BYTES	(1UL << 20)
#define COPY_RING_BYTES	(16UL << 20)
#define CHUNK_BYTES	(WALK_CHUNK_ROWS * sizeof(__u32))
#define CHUNK_MAP_BYTES	(WALKER_CHUNKS_A_MAP * CHUNK_BYTES)
#define MAX_STACK_IPS	127
#define NOINLINE	__attribute__((noinline, noclone))

enum { NONE, WALK, RECORD, STACKID, EMIT, PROG_NR };
enum { RING_PLAIN, RING_CHAIN, RING_8K, RING_16K, RING_64K, RING_NR };
enum { UPROBE, CPU_EVENT, PLACE_NR };

static const struct way {
	const char *name;
	int prog, ring;
	bool faults;
} ways[] = {
	{ "empty program (taken off below)", NONE, RING_PLAIN, false },
	{ "walk", WALK, RING_PLAIN, false },
	{ "walk, record", RECORD, RING_PLAIN, false },
	{ "bpf_get_stackid, no fault", STACKID, RING_PLAIN, false },
	{ "bpf_get_stackid", STACKID, RING_PLAIN, true },
	{ "record without a stack", EMIT, RING_PLAIN, false },
	{ "record, fp callchain, no fault", EMIT, RING_CHAIN, false },
	{ "record, fp callchain", EMIT, RING_CHAIN, true },
	{ "record, copy of 8192", EMIT, RING_8K, false },
	{ "record, copy of 16384", EMIT, RING_16K, false },
	{ "record, copy of 65528", EMIT, RING_64K, false },
};
#define WAY_NR	(sizeof(ways) / sizeof(ways[0]))

static const struct ring {
	__u64 sample_type;
	__u32 stack_bytes;
	size_t bytes;
} rings[RING_NR] = {
	[RING_PLAIN] = { 0, 0, RING_BYTES },
	[RING_CHAIN] = { PERF_SAMPLE_CALLCHAIN, 0, RING_BYTES },
	[RING_8K] = { PERF_SAMPLE_STACK_USER, 8192, COPY_RING_BYTES },
	[RING_16K] = { PERF_SAMPLE_STACK_USER, 16384, COPY_RING_BYTES },
	[RING_64K] = { PERF_SAMPLE_STACK_USER, 65528, COPY_RING_BYTES },
};

static const int depths[] = { 8, 34 };
#define DEPTH_NR	(sizeof(depths) / sizeof(depths[0]))

struct bench {
	struct bench_bpf *skel;
	struct walk_memory mem;
	struct walk_spaces *spaces;
	char *chunks[WALKER_MAX_CHUNK_MAPS];
	struct bpf_program *progs[PLACE_NR][PROG_NR];
	int ring_fds[RING_NR];
	int cpu, nr_runs;
	double ns[PLACE_NR][DEPTH_NR][WAY_NR][MAX_RUNS];
	__u32 nr_walked[PLACE_NR][DEPTH_NR], nr_stackid[PLACE_NR][DEPTH_NR];
};

static int fail(const char *what, int err)
{
	fprintf(stderr, "stacks_bench: %s: %s\n", what, strerror(-err));
	return err ?: -EINVAL;
}

/*
 * What is measured.
 */
NOINLINE void bench_hit(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Where the chain of frame pointers ends. */
static void **root_frame;

/* What the program saw last at the bottom: later a CPU event may interrupt us elsewhere. */
static const struct bench_bpf__bss *watched;
static __u32 seen_nr, seen_status, seen_id;

static void look(void)
{
	if (!watched)
		return;
	seen_nr = watched->last_nr;
	seen_status = watched->last_status;
	seen_id = watched->last_id;
}

NOINLINE static void call_probed(long nr)
{
	while (nr--)
		bench_hit();
	look();
}

NOINLINE static void spin(long rounds)
{
	while (rounds--)
		__asm__ volatile("" : "+r"(rounds));
	look();
}

NOINLINE static void dive(long depth, void (*bottom)(long), long arg)
{
	if (depth > 1)
		dive(depth - 1, bottom, arg);
	else
		bottom(arg);
	__asm__ volatile("" ::: "memory");
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static long rounds_of(double ms)
{
	long rounds = 1 << 20;
	double start = now_ms(), took;

	spin(rounds);
	took = now_ms() - start;
	return took > 0 ? rounds * ms / took : rounds;
}

/*
 * Set up.
 */
static __u32 *get_chunk(void *ctx, __u32 idx)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	__u32 outer = idx / WALKER_CHUNKS_A_MAP;
	struct bench *b = ctx;
	int fd;

	if (outer >= WALKER_MAX_CHUNK_MAPS)
		return NULL;
	if (!b->chunks[outer]) {
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "walk_chunks", sizeof(__u32), CHUNK_BYTES,
				    WALKER_CHUNKS_A_MAP, &opts);
		b->chunks[outer] = mmap(NULL, CHUNK_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (b->chunks[outer] == MAP_FAILED ||
		    bpf_map__update_elem(b->skel->maps.walk_rows, &outer, sizeof(outer), &fd,
					 sizeof(fd), BPF_ANY))
			return NULL;
		close(fd);
	}
	return (__u32 *)(b->chunks[outer] + idx % WALKER_CHUNKS_A_MAP * CHUNK_BYTES);
}

static int set_proc(void *ctx, pid_t pid, const struct walk_proc *proc)
{
	struct bench *b = ctx;
	__u32 tgid = pid;

	if (!proc)
		return 0;
	return bpf_map__update_elem(b->skel->maps.walk_procs, &tgid, sizeof(tgid), proc,
				    sizeof(*proc), BPF_ANY);
}

static void *map_array(const struct bpf_map *map)
{
	size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *at = mmap(NULL, (bytes + 4095) & ~4095UL, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static int make_tables(struct bench *b)
{
	int err;

	b->mem = (struct walk_memory){
		.rules = map_array(b->skel->maps.walk_rules),
		.pages = map_array(b->skel->maps.walk_pages),
		.maps = map_array(b->skel->maps.walk_maps),
		.chunk = get_chunk, .set_proc = set_proc, .ctx = b,
	};
	if (!b->mem.rules || !b->mem.pages || !b->mem.maps)
		return fail("mapping the tables", -ENOMEM);
	err = walk_spaces__new(&b->mem, &b->spaces) ?: walk_spaces__add_process(b->spaces, getpid());
	if (err)
		return fail("making the tables", err);
	walk_spaces__wait(b->spaces, 10000);
	walk_spaces__update(b->spaces, 0);
	return 0;
}

/* Mapped read-only: the kernel writes over what is old, so the ring is never full. */
static int open_ring(struct bench *b, const struct ring *ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT, .size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_RAW | ring->sample_type,
		.exclude_callchain_kernel = 1,
		.sample_stack_user = ring->stack_bytes,
		.wakeup_events = 1 << 30,
	};
	int fd;

	if (ring->stack_bytes) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER;
		attr.sample_regs_user = 0xff0fff;	/* perf's: all but segments */
	}
	fd = syscall(SYS_perf_event_open, &attr, -1, b->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fail("perf_event_open", -errno);
	if (mmap(NULL, ring->bytes + 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		return fail("mmap of a ring", -errno);
	return fd;
}

static int open_rings(struct bench *b)
{
	int i;

	for (i = 0; i < RING_NR; i++) {
		b->ring_fds[i] = open_ring(b, &rings[i]);
		if (b->ring_fds[i] < 0)
			return b->ring_fds[i];
	}
	return 0;
}

static int load(struct bench *b)
{
	struct bench_bpf *skel = bench_bpf__open();
	struct bpf_program *progs[PLACE_NR][PROG_NR];

	if (!skel)
		return fail("opening the programs", -errno);
	b->skel = skel;
	skel->rodata->walking = true;
	bpf_program__set_autoload(skel->progs.walk_fork, false);
	bpf_program__set_autoload(skel->progs.walk_rename, false);
	bpf_program__set_autoload(skel->progs.walk_exec_end, false);
	bpf_program__set_autoload(skel->progs.walk_exit, false);
	if (bench_bpf__load(skel))
		return fail("loading the programs", -errno);
	skel->bss->copies_off = true;
	watched = skel->bss;
	memcpy(progs, (struct bpf_program *[PLACE_NR][PROG_NR]){
		{ skel->progs.uprobe_none, skel->progs.uprobe_walk, skel->progs.uprobe_record,
		  skel->progs.uprobe_stackid, skel->progs.uprobe_emit },
		{ skel->progs.cpu_none, skel->progs.cpu_walk, skel->progs.churn_cpu,
		  skel->progs.cpu_stackid, skel->progs.cpu_emit },
	}, sizeof(progs));
	memcpy(b->progs, progs, sizeof(progs));
	return open_rings(b) ?: make_tables(b);
}

/*
 * One run.
 */
static struct bpf_link *attach_uprobe(struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "bench_hit");

	return bpf_program__attach_uprobe_opts(prog, getpid(), "/proc/self/exe", 0, &opts);
}

static struct bpf_link *attach_cpu_event(struct bpf_program *prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .size = sizeof(attr),
		.sample_period = CPU_PERIOD_NS, .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link)
		close(fd);
	return link;
}

static int read_stats(const struct bpf_program *prog, struct bpf_prog_info *ret)
{
	__u32 bytes = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return bpf_obj_get_info_by_fd(bpf_program__fd(prog), ret, &bytes);
}

/* Return: ns a run of the program, or a negative errno. */
static double run_once(struct bench *b, int place, const struct way *way, long depth, long arg)
{
	struct bpf_program *prog = b->progs[place][way->prog];
	struct bpf_prog_info before, after;
	struct bpf_link *link;
	__u32 cpu = b->cpu;

	if (bpf_map__update_elem(b->skel->maps.cpu_stacks, &cpu, sizeof(cpu),
				 &b->ring_fds[way->ring], sizeof(int), BPF_ANY))
		return fail("choosing a ring", -errno);
	link = place == UPROBE ? attach_uprobe(prog) : attach_cpu_event(prog);
	if (!link)
		return fail("attaching", -errno);
	*root_frame = way->faults ? NULL : (void *)~0UL;
	read_stats(prog, &before);
	dive(depth, place == UPROBE ? call_probed : spin, arg);
	read_stats(prog, &after);
	bpf_link__destroy(link);
	if (after.run_cnt == before.run_cnt)
		return fail("the program has not run", -ENODATA);
	return (double)(after.run_time_ns - before.run_time_ns) / (after.run_cnt - before.run_cnt);
}

static __u32 nr_of_stackid(const struct bench *b)
{
	__u64 ips[MAX_STACK_IPS] = {};
	__u32 id = seen_id, nr = 0;

	if (bpf_map__lookup_elem(b->skel->maps.stacks, &id, sizeof(id), ips, sizeof(ips), 0))
		return 0;
	while (nr < MAX_STACK_IPS && ips[nr])
		nr++;
	return nr;
}

/* The recursion that gives a stack of so many frames. */
static long find_recursion(struct bench *b, int place, int depth, long arg)
{
	double ns = run_once(b, place, &ways[WALK], 1, arg);
	long recursion = 1 + depth - (long)seen_nr;

	if (ns < 0)
		return -1;
	if (seen_status != WALK_END) {
		fprintf(stderr, "stacks_bench: a walk does not reach the root (status %u)\n",
			seen_status);
		return -1;
	}
	return recursion > 0 ? recursion : 1;
}

static int measure(struct bench *b, int place, int depth)
{
	long arg = place == UPROBE ? NR_CALLS : rounds_of(SPIN_MS);
	long recursion = find_recursion(b, place, depths[depth], arg);
	size_t way;
	int i;

	if (recursion < 0)
		return -EINVAL;
	for (i = 0; i < b->nr_runs; i++) {
		for (way = 0; way < WAY_NR; way++) {
			double ns = run_once(b, place, &ways[way], recursion, arg);

			if (ns < 0)
				return -EINVAL;
			b->ns[place][depth][way][i] = ns;
			if (ways[way].prog == WALK)
				b->nr_walked[place][depth] = seen_nr;
			if (ways[way].prog == STACKID)
				b->nr_stackid[place][depth] = nr_of_stackid(b);
		}
	}
	return 0;
}

/*
 * What came out.
 */
static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of the differences to the empty program's run of the same turn. */
static double cost(const struct bench *b, int place, int depth, size_t way)
{
	double ns[MAX_RUNS];
	int i;

	for (i = 0; i < b->nr_runs; i++)
		ns[i] = b->ns[place][depth][way][i] - (way ? b->ns[place][depth][0][i] : 0);
	qsort(ns, b->nr_runs, sizeof(*ns), by_value);
	return ns[b->nr_runs / 2];
}

/* A column each of uprobe and CPU event, shallow and deep. */
static void print_row(const struct bench *b, const char *name, size_t way, bool is_ratio)
{
	int place, depth;

	printf("%-32s", name);
	for (place = 0; place < PLACE_NR; place++) {
		for (depth = 0; depth < (int)DEPTH_NR; depth++) {
			double ns = cost(b, place, depth, way);

			if (is_ratio)
				printf(" %11.2f", ns / cost(b, place, depth, 2));
			else
				printf(" %11.0f", ns);
		}
	}
	printf("\n");
}

static void print_frames(const char *name, const __u32 nr[PLACE_NR][DEPTH_NR])
{
	printf("%-32s %11u %11u %11u %11u\n", name, nr[0][0], nr[0][1], nr[1][0], nr[1][1]);
}

static void print_per_frame(const struct bench *b, int place)
{
	double more_ns = cost(b, place, 1, 1) - cost(b, place, 0, 1);
	int more = b->nr_walked[place][1] - b->nr_walked[place][0];

	printf("%-32s %23.1f\n", place == UPROBE ? "walk, a further frame, uprobe" :
						   "walk, a further frame, CPU event",
	       more_ns / more);
}

static void print(const struct bench *b)
{
	size_t way;

	printf("%-32s %11s %11s %11s %11s\n", "ns a stack", "uprobe", "uprobe", "CPU event",
	       "CPU event");
	print_frames("frames of the walk", b->nr_walked);
	print_frames("frames of bpf_get_stackid", b->nr_stackid);
	for (way = 0; way < WAY_NR; way++)
		print_row(b, ways[way].name, way, false);
	print_per_frame(b, UPROBE);
	print_per_frame(b, CPU_EVENT);
	printf("as parts of \"walk, record\":\n");
	for (way = 1; way < WAY_NR; way++)
		print_row(b, ways[way].name, way, true);
	if (b->skel->bss->nr_failed)
		printf("%llu calls of helpers failed\n", b->skel->bss->nr_failed);
}

static void pin(struct bench *b)
{
	cpu_set_t set;

	b->cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET(b->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *run(void *arg)
{
	void **frame = __builtin_frame_address(0), *kept = *frame;
	char room[ROOM_BYTES];
	struct bench *b = arg;
	long err = 0;
	int place, depth;

	memset(room, 1, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	root_frame = frame;
	for (place = 0; place < PLACE_NR && !err; place++) {
		for (depth = 0; depth < (int)DEPTH_NR && !err; depth++)
			err = measure(b, place, depth);
	}
	*frame = kept;
	return (void *)err;
}

int main(int argc, char **argv)
{
	static struct bench b = { .nr_runs = 5 };
	int stats_fd, err, c;
	pthread_t thread;
	void *failed;

	while ((c = getopt(argc, argv, "r:")) != -1) {
		if (c == 'r')
			b.nr_runs = atoi(optarg);
		else
			return 2;
	}
	if (optind < argc || b.nr_runs < 1 || b.nr_runs > MAX_RUNS)
		return 2;
	pin(&b);
	stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats_fd < 0)
		return fail("bpf_enable_stats", stats_fd) != 0;
	if (load(&b))
		return 1;
	err = pthread_create(&thread, NULL, run, &b) ?: pthread_join(thread, &failed);
	if (err || failed)
		return 1;
	print(&b);
	close(stats_fd);
	return 0;
}
