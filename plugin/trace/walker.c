// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/control.h"
#include "churn.skel.h"
#include "probes.h"
#include "rings.h"
#include "util/msg.h"
#include "walker.h"

#define CHUNK_BYTES	(WALK_CHUNK_ROWS * sizeof(__u32))
#define CHUNK_MAP_BYTES	(WALKER_CHUNKS_A_MAP * CHUNK_BYTES)

enum { TRACK_FORK, TRACK_RENAME, TRACK_EXEC, TRACK_EXIT, TRACK_NR };

struct walker {
	struct churn_bpf *skel;
	struct walk_memory mem;
	char *chunks[WALKER_MAX_CHUNK_MAPS];
	struct bpf_link *links[TRACK_NR];
};

static size_t round_to_pages(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

static void *map_array(const struct bpf_map *map, size_t bytes)
{
	void *at = mmap(NULL, round_to_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

/* A further 1 MB of rows. It stays when its descriptor goes: the outer map and we hold it. */
static char *make_chunk_map(struct walker *w, __u32 outer)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	char *at = NULL;
	int fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "walk_chunks", sizeof(__u32), CHUNK_BYTES,
			    WALKER_CHUNKS_A_MAP, &opts);
	if (fd < 0)
		return NULL;
	at = mmap(NULL, CHUNK_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		at = NULL;
	} else if (bpf_map__update_elem(w->skel->maps.walk_rows, &outer, sizeof(outer), &fd,
					sizeof(fd), BPF_ANY)) {
		munmap(at, CHUNK_MAP_BYTES);
		at = NULL;
	}
	close(fd);
	return at;
}

static __u32 *get_chunk(void *ctx, __u32 idx)
{
	__u32 outer = idx / WALKER_CHUNKS_A_MAP;
	struct walker *w = ctx;

	if (outer >= WALKER_MAX_CHUNK_MAPS)
		return NULL;
	if (!w->chunks[outer])
		w->chunks[outer] = make_chunk_map(w, outer);
	if (!w->chunks[outer])
		return NULL;
	return (__u32 *)(w->chunks[outer] + idx % WALKER_CHUNKS_A_MAP * CHUNK_BYTES);
}

static int set_proc(void *ctx, pid_t pid, const struct walk_proc *proc)
{
	struct walker *w = ctx;
	__u32 tgid = pid;

	if (!proc)
		return bpf_map__delete_elem(w->skel->maps.walk_procs, &tgid, sizeof(tgid), 0);
	return bpf_map__update_elem(w->skel->maps.walk_procs, &tgid, sizeof(tgid), proc,
				    sizeof(*proc), BPF_ANY);
}

static int map_tables(struct walker *w)
{
	struct walk_memory *mem = &w->mem;

	mem->rules = map_array(w->skel->maps.walk_rules, WALK_MAX_RULES * sizeof(*mem->rules));
	mem->pages = map_array(w->skel->maps.walk_pages, WALK_MAX_PAGES * sizeof(*mem->pages));
	mem->maps = map_array(w->skel->maps.walk_maps, WALK_MAX_MAPS * sizeof(*mem->maps));
	mem->chunk = get_chunk;
	mem->set_proc = set_proc;
	mem->ctx = w;
	return mem->rules && mem->pages && mem->maps ? 0 : -ENOMEM;
}

static int attach_one(struct bpf_program *prog, struct bpf_link **ret)
{
	*ret = bpf_program__attach(prog);
	return *ret ? 0 : -errno;
}

static int attach_tracking(struct walker *w)
{
	return attach_one(w->skel->progs.walk_fork, &w->links[TRACK_FORK]) ?:
	       attach_one(w->skel->progs.walk_rename, &w->links[TRACK_RENAME]) ?:
	       attach_one(w->skel->progs.walk_exec_end, &w->links[TRACK_EXEC]) ?:
	       attach_one(w->skel->progs.walk_exit, &w->links[TRACK_EXIT]);
}

int walker__new(struct probes *probes, struct walker **ret)
{
	struct walker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->skel = probes__bpf(probes);
	err = map_tables(w) ?: attach_tracking(w);
	if (err) {
		pr_err("Cannot set up the stack walker: %s\n", strerror(-err));
		walker__free(w);
		return err;
	}
	*ret = w;
	return 0;
}

static void unmap(void *at, size_t bytes)
{
	if (at)
		munmap(at, round_to_pages(bytes));
}

void walker__free(struct walker *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < TRACK_NR; i++)
		bpf_link__destroy(w->links[i]);
	for (i = 0; i < WALKER_MAX_CHUNK_MAPS; i++)
		unmap(w->chunks[i], CHUNK_MAP_BYTES);
	unmap(w->mem.rules, WALK_MAX_RULES * sizeof(*w->mem.rules));
	unmap(w->mem.pages, WALK_MAX_PAGES * sizeof(*w->mem.pages));
	unmap(w->mem.maps, WALK_MAX_MAPS * sizeof(*w->mem.maps));
	free(w);
}

/* Children inherit the program with the event. */
static int put_on_event(void *ctx, int fd)
{
	struct walker *w = ctx;

	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(w->skel->progs.churn_cpu)))
		return -errno;
	return 0;
}

int walker__connect(struct walker *w, const struct rings *rings)
{
	int nr, i, fd, err = 0;
	const int *cpus;

	nr = rings__cpus(rings, &cpus);
	for (i = 0; i < nr && !err; i++) {
		fd = rings__stack_fd(rings, i);
		err = bpf_map__update_elem(w->skel->maps.cpu_stacks, &cpus[i], sizeof(cpus[i]),
					   &fd, sizeof(fd), BPF_ANY);
		fd = rings__copy_fd(rings, i);
		if (!err && fd >= 0)
			err = bpf_map__update_elem(w->skel->maps.cpu_copies, &cpus[i],
						   sizeof(cpus[i]), &fd, sizeof(fd), BPF_ANY);
	}
	err = err ?: rings__each_cpu_event(rings, put_on_event, w);
	if (err)
		pr_err("Cannot put the stack walker on the CPU events: %s\n", strerror(-err));
	return err;
}

const struct walk_memory *walker__memory(const struct walker *w)
{
	return &w->mem;
}

void walker__allow_copies(struct walker *w, bool allow)
{
	w->skel->bss->copies_off = !allow;
}

void walker__took_copy(struct walker *w, bool is_cpu, __u32 bytes)
{
	volatile __u64 *taken = &w->skel->bss->taken_bytes[is_cpu];

	*taken += bytes;
}

void walker__stats(const struct walker *w, struct walker_stats *ret)
{
	memcpy(ret->nr_ends, w->skel->bss->walk_ends, sizeof(ret->nr_ends));
	ret->nr_copied = w->skel->bss->nr_copied;
	ret->nr_lost_cpu = w->skel->bss->nr_lost_cpu_output;
}
