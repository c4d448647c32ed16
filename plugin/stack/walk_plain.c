// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tables.h"

#define NR_CHUNKS	8192		/* 512 MB, 134 million rows */

/* Only what is written takes memory, so all arrays are as large as they may get from the start. */
struct layout {
	struct walk_rule rules[WALK_MAX_RULES];
	struct walk_page pages[WALK_MAX_PAGES];
	struct walk_map maps[WALK_MAX_MAPS];
	__u32 chunks[NR_CHUNKS][WALK_CHUNK_ROWS];
};

static __u32 *get_chunk(void *ctx, __u32 idx)
{
	struct layout *layout = ctx;

	return idx < NR_CHUNKS ? layout->chunks[idx] : NULL;
}

/* Whoever walks here brings the process along. */
static int set_proc(void *ctx, pid_t pid, const struct walk_proc *proc)
{
	(void)ctx;
	(void)pid;
	(void)proc;
	return 0;
}

int walk_memory__new_plain(struct walk_memory **ret)
{
	struct walk_memory *mem = calloc(1, sizeof(*mem));
	struct layout *layout;
	int err;

	if (!mem)
		return -ENOMEM;
	layout = mmap(NULL, sizeof(*layout), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (layout == MAP_FAILED) {
		err = -errno;
		free(mem);
		return err;
	}
	*mem = (struct walk_memory) {
		.rules = layout->rules, .pages = layout->pages, .maps = layout->maps,
		.chunk = get_chunk, .set_proc = set_proc, .ctx = layout,
	};
	*ret = mem;
	return 0;
}

void walk_memory__free_plain(struct walk_memory *mem)
{
	if (!mem)
		return;
	munmap(mem->ctx, sizeof(struct layout));
	free(mem);
}
