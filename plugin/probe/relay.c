// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "relay.h"
#include "site.h"

/* A function that only passes its arguments on is short. */
#define MAX_FN_BYTES	256
#define PLT_ENTRY_BYTES	16
#define CHUNK_BYTES	(64 * 1024)
/* No allocator's library is larger; a hostile file could be. */
#define MAX_TEXT_BYTES	(64UL << 20)
#define CALL_BYTES	5

struct relay {
	const struct elf_file *file;
	const char *via;
	__u64 via_vaddr;
};

static bool read_code(const struct elf_file *file, __u64 vaddr, __u8 *buf, size_t nr_bytes,
		      struct site_code *ret)
{
	long nr_read = elf_file__read(file, vaddr, buf, nr_bytes);

	if (nr_read <= 0)
		return false;
	*ret = (struct site_code){ .bytes = buf, .nr_bytes = nr_read, .vaddr = vaddr };
	return true;
}

/* Symbol that a PLT entry at this address jumps to, or NULL when there is no PLT entry. */
static const char *plt_name(const struct elf_file *file, __u64 vaddr)
{
	__u8 buf[PLT_ENTRY_BYTES];
	struct site_code code;
	bool is_slot;
	__u64 slot;

	if (!read_code(file, vaddr, buf, sizeof(buf), &code) ||
	    !site__tail_jump(&code, &slot, &is_slot) || !is_slot)
		return NULL;
	return elf_file__slot_name(file, slot);
}

static const char *target_name(const struct elf_file *file, __u64 target, bool is_slot)
{
	return is_slot ? elf_file__slot_name(file, target) : plt_name(file, target);
}

static bool is_relay_branch(void *ctx, __u64 target, bool is_slot)
{
	struct relay *relay = ctx;
	const char *name;

	if (!is_slot && target == relay->via_vaddr)
		return true;
	name = target_name(relay->file, target, is_slot);
	return name && !strcmp(name, relay->via);
}

static size_t fn_bytes_to_read(const struct elf_function *fn)
{
	return fn->size_bytes && fn->size_bytes < MAX_FN_BYTES ? fn->size_bytes : MAX_FN_BYTES;
}

bool relay__reaches(const struct elf_file *file, const struct elf_function *fn, const char *via,
		    __u64 via_vaddr)
{
	struct relay relay = { .file = file, .via = via, .via_vaddr = via_vaddr };
	__u8 buf[MAX_FN_BYTES];
	struct site_code code;

	return read_code(file, fn->vaddr, buf, fn_bytes_to_read(fn), &code) &&
	       site__each_branch(&code, is_relay_branch, &relay);
}

bool relay__tail_jump(const struct elf_file *file, const struct elf_function *fn, __u64 *vaddr,
		      const char **symbol)
{
	__u8 buf[MAX_FN_BYTES];
	struct site_code code;
	bool is_slot;

	if (!read_code(file, fn->vaddr, buf, fn_bytes_to_read(fn), &code) ||
	    !site__tail_jump(&code, vaddr, &is_slot))
		return false;
	*symbol = target_name(file, *vaddr, is_slot);
	return *symbol || !is_slot;
}

struct call_search {
	__u64 entry_vaddr;
	__u64 *ret;
	size_t max;
	size_t nr_calls;
};

/* Every byte may start a call: where instructions begin is not known, and 5 bytes rarely lie. */
static void search_calls(struct call_search *search, const __u8 *buf, size_t nr_bytes, __u64 vaddr)
{
	for (size_t i = 0; i + CALL_BYTES <= nr_bytes; i++) {
		__u64 next = vaddr + i + CALL_BYTES;
		__s32 rel;

		if (buf[i] != 0xe8)
			continue;
		memcpy(&rel, buf + i + 1, sizeof(rel));
		if (next + (__s64)rel != search->entry_vaddr)
			continue;
		if (search->nr_calls < search->max)
			search->ret[search->nr_calls] = next;
		search->nr_calls++;
	}
}

static int search_range(const struct elf_file *file, struct call_search *search, __u8 *buf,
			__u64 vaddr, __u64 nr_bytes)
{
	__u64 end = vaddr + nr_bytes;

	/* Chunks overlap by all but one byte of a call, so that none is missed or seen twice. */
	while (vaddr < end) {
		long nr_read = elf_file__read(file, vaddr, buf, CHUNK_BYTES);

		if (nr_read < 0)
			return nr_read;
		search_calls(search, buf, nr_read, vaddr);
		if (nr_read < CALL_BYTES)
			return 0;
		vaddr += nr_read - (CALL_BYTES - 1);
	}
	return 0;
}

long relay__direct_calls(const struct elf_file *file, __u64 entry_vaddr, __u64 *ret, size_t max)
{
	struct call_search search = { .entry_vaddr = entry_vaddr, .ret = ret, .max = max };
	__u8 *buf = malloc(CHUNK_BYTES);
	__u64 vaddr, nr_bytes;
	__u64 nr_left = MAX_TEXT_BYTES;
	int err = 0;

	if (!buf)
		return -ENOMEM;
	for (size_t i = 0; !err && elf_file__segment(file, i, &vaddr, &nr_bytes); i++) {
		if (nr_bytes > nr_left)
			break;
		nr_left -= nr_bytes;
		err = search_range(file, &search, buf, vaddr, nr_bytes);
	}
	free(buf);
	return err ?: (long)search.nr_calls;
}
