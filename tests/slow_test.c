// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slow functions of a stripped glibc, by what calls what: in objects made here, whose symbols tell
 * the truth before they are stripped. Of this machine's libc: tests/slow_path.sh.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/types.h>

#include "bpf/churn.h"
#include "kselftest_harness.h"
#include "probe/elf_file.h"
#include "probe/probe.h"
#include "stack/slow.h"
#include "stack/slow_calls.h"
#include "util/msg.h"

FIXTURE(slow)
{
	char dir[64], named[96], stripped[96];
	struct probe_image *img;
};

FIXTURE_VARIANT(slow)
{
	const char *flags;
	int want;
};

FIXTURE_VARIANT_ADD(slow, as_glibc) { .flags = "", .want = 0 };
FIXTURE_VARIANT_ADD(slow, two_that_fit) { .flags = "-DTWO", .want = -ENOTUNIQ };
FIXTURE_VARIANT_ADD(slow, too_few_callers) { .flags = "-DFEW", .want = -ENODATA };
FIXTURE_VARIANT_ADD(slow, a_way_round) { .flags = "-DROUND", .want = -ENODATA };
FIXTURE_VARIANT_ADD(slow, no_call_frame_information) {
	.flags = "-fno-asynchronous-unwind-tables", .want = -ENODATA,
};

FIXTURE_SETUP(slow)
{
	char command[512];

	strcpy(self->dir, "/tmp/churn-slow-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->named, sizeof(self->named), "%s/named.so", self->dir);
	snprintf(self->stripped, sizeof(self->stripped), "%s/stripped.so", self->dir);
	snprintf(command, sizeof(command),
		 "gcc -O2 -fno-toplevel-reorder -w -shared -fPIC -fvisibility=hidden -fno-builtin -nostdlib %s "
		 "-Wl,-soname,libc.so.6 -Wl,-Bsymbolic -Wl,--build-id=none -o %s tests/data/slow_libc.c && "
		 "strip -o %s %s", variant->flags, self->named, self->stripped, self->named);
	ASSERT_EQ(0, system(command));
	self->img = NULL;
	msg__set_verbose(-2);
}

FIXTURE_TEARDOWN(slow)
{
	probe_image__free(self->img);
	unlink(self->named);
	unlink(self->stripped);
	rmdir(self->dir);
}

static __u64 entry_of(const struct probe_image *img, const char *symbol)
{
	for (size_t i = 0; i < img->nr_sites; i++) {
		if (!strcmp(img->sites[i].symbol, symbol))
			return img->sites[i].vaddr - img->sites[i].delta;
	}
	return 0;
}

static int find_by_calls(const char *path)
{
	struct probe_function fns[SLOW_CALLS_MAX];
	struct probe_image *img;
	struct elf_file *file;
	size_t nr;
	int err = probe_image__new(path, path, &img) ?: elf_file__open(path, &file);

	if (err)
		return err;
	err = slow_calls__find(file, img, fns, &nr);
	elf_file__close(file);
	probe_image__free(img);
	return err;
}

TEST_F(slow, calls_tell_or_nothing_is_probed)
{
	static const char *const names[] = { "_int_malloc", "sysmalloc", "systrim" };
	struct probe_image *named;

	ASSERT_EQ(variant->want, find_by_calls(self->stripped));
	ASSERT_EQ(variant->want ? -ENODATA : 0,
		  slow_image__new(self->stripped, "libc.so.6", &self->img));
	if (variant->want)
		return;
	ASSERT_EQ(0, slow_image__new(self->named, "libc.so.6", &named));
	EXPECT_EQ(3, named->nr_sites);
	ASSERT_EQ(3, self->img->nr_sites);
	for (size_t i = 0; i < 3; i++) {
		EXPECT_NE(0, entry_of(named, names[i]));
		EXPECT_EQ(entry_of(named, names[i]), entry_of(self->img, names[i]));
	}
	EXPECT_EQ(CHURN_FN_REFILL, self->img->sites[0].fn);
	EXPECT_EQ(2, self->img->sites[0].size_arg);
	probe_image__free(named);
}

/* Where the names are, they are enough. */
TEST_F(slow, symbols_tell_in_any_case)
{
	ASSERT_EQ(0, slow_image__new(self->named, "libc.so.6", &self->img));
	EXPECT_NE(0, entry_of(self->img, "_int_malloc"));
	EXPECT_EQ(5, self->img->nr_entries);
}

TEST_HARNESS_MAIN
