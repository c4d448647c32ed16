// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "bpf/churn.h"
#include "bpf/preload.h"
#include "elf_file.h"
#include "hook.h"
#include "probe.h"
#include "target/process.h"

static const char *const hooks[] = { PRELOAD_HOOK_SYMBOL, PRELOAD_FAST_SYMBOL };

#define NR_HOOKS	(sizeof(hooks) / sizeof(hooks[0]))

struct hook_vaddrs {
	__u64 vaddrs[NR_HOOKS];
};

static int match_hook(void *ctx, const struct elf_function *fn)
{
	struct hook_vaddrs *found = ctx;

	for (size_t i = 0; i < NR_HOOKS; i++) {
		if (fn->is_exported && !strcmp(fn->name, hooks[i]))
			found->vaddrs[i] = fn->vaddr;
	}
	return 0;
}

static int describe_site(const struct elf_file *file, const char *symbol, __u64 vaddr,
			 struct probe_site *ret)
{
	__u8 first;

	if (elf_file__read(file, vaddr, &first, 1) != 1)
		return -ENOENT;
	*ret = (struct probe_site){
		.fn = CHURN_FN_NONE, .symbol = symbol, .vaddr = vaddr, .emulated = true,
		.insn = "nop",
	};
	return elf_file__offset(file, ret->vaddr, &ret->offset);
}

static int describe_sites(const struct elf_file *file, const struct hook_vaddrs *found,
			  struct probe_image *img)
{
	int err = 0;

	for (size_t i = 0; i < NR_HOOKS && !err; i++)
		err = describe_site(file, hooks[i], found->vaddrs[i], &img->sites[img->nr_sites++]);
	return err;
}

bool hook__is_shadowed(pid_t pid, const struct process_image *library)
{
	struct elf_file *file;
	__u16 epoch = 0;
	__u64 offset;
	int err = elf_file__open(library->open_path, &file);

	if (err)
		return false;
	err = elf_file__variable(file, PRELOAD_COUNTER_SYMBOL, &offset) ?:
	      process__read_variable(pid, library->path, offset + PRELOAD_EPOCH_OFFSET, &epoch, sizeof(epoch));
	elf_file__close(file);
	return !err && epoch == PRELOAD_EPOCH_SHADOWED;
}

int hook_image__new(const struct elf_file *file, const char *name, struct probe_image **ret)
{
	struct hook_vaddrs found = {};
	struct probe_image *img;
	__u64 counter;
	int err;

	elf_file__each_function(file, match_hook, &found);
	if (!found.vaddrs[0] || !found.vaddrs[1] ||
	    elf_file__variable(file, PRELOAD_COUNTER_SYMBOL, &counter))
		return -ENOENT;
	img = calloc(1, sizeof(*img));
	if (!img)
		return -ENOMEM;
	img->family = "perf churn";
	img->counter_offset = counter;
	img->path = strdup(name);
	img->sites = calloc(NR_HOOKS, sizeof(*img->sites));
	err = img->path && img->sites ? describe_sites(file, &found, img) : -ENOMEM;
	if (err) {
		probe_image__free(img);
		return err;
	}
	*ret = img;
	return 0;
}
