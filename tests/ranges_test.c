// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code of allocators: of this machine's libc, told by symbols and without them, and of objects
 * linked here, whose truth linker and symbols tell.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "probe/probe.h"
#include "stack/locate.h"
#include "stack/ranges.h"

#define LIBC	"/lib/x86_64-linux-gnu/libc.so.6"
#define SOURCE	"tests/data/allocator.c"

static int __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

/* Numbers that a command prints, in hexadecimal. */
static size_t numbers_of(const char *command, __u64 *ret, size_t max)
{
	FILE *out = popen(command, "r");
	size_t nr = 0;

	while (out && nr < max && fscanf(out, "%llx", &ret[nr]) == 1)
		nr++;
	if (out)
		pclose(out);
	return nr;
}

static int find_ranges(const char *path, struct alloc_ranges **ret)
{
	struct probe_image *img;
	int err = probe_image__new(path, path, &img);

	if (err)
		return err;
	err = alloc_ranges__new(path, img, ret);
	probe_image__free(img);
	return err;
}

static bool holds(const struct alloc_ranges *r, __u64 addr)
{
	for (size_t i = 0; i < r->nr; i++) {
		if (addr >= r->ranges[i].start && addr < r->ranges[i].end)
			return true;
	}
	return false;
}

FIXTURE(ranges) {
	char dir[64], path[128], full[128], map[128];
	struct alloc_ranges *r;
};

FIXTURE_SETUP(ranges)
{
	memset(self, 0, sizeof(*self));
	strcpy(self->dir, "/tmp/ranges_test_XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/object", self->dir);
	snprintf(self->full, sizeof(self->full), "%s/full", self->dir);
	snprintf(self->map, sizeof(self->map), "%s/map", self->dir);
}

FIXTURE_TEARDOWN(ranges)
{
	alloc_ranges__free(self->r);
	run("rm -rf %s", self->dir);
}

/* ------------------------------------------------------------------ this machine's libc */

static Dwarf *open_libc_dwarf(void)
{
	struct build_id id;
	char *file = NULL;
	Dwarf *dwarf;
	int fd = locate__open(LIBC);

	if (fd < 0)
		return NULL;
	id = locate__build_id(fd);
	close(fd);
	fd = locate__debug(LOCATE_HERE, LIBC, &id, NULL, 0, &file);
	dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);	/* fd stays open as long */
	free(file);
	return dwarf;
}

/* All that the compiler made of malloc.c, as its DWARF says: [*start, *end) in one piece. */
static bool malloc_unit(Dwarf *dwarf, __u64 *start, __u64 *end)
{
	Dwarf_Off off = 0, next;
	size_t header_bytes;

	for (; !dwarf_nextcu(dwarf, off, &next, &header_bytes, NULL, NULL, NULL); off = next) {
		Dwarf_Addr base, lo, hi;
		const char *name;
		ptrdiff_t at = 0;
		Dwarf_Die die;
		int nr = 0;

		name = dwarf_offdie(dwarf, off + header_bytes, &die) ? dwarf_diename(&die) : NULL;
		if (!name || strcmp(name, "malloc.c"))
			continue;
		while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0) {
			*start = lo;
			*end = hi;
			nr++;
		}
		return nr == 1;
	}
	return false;
}

/* A copy whose build-id no debug file has. */
static bool copy_without_debug(const char *to)
{
	int fd = locate__open(LIBC);
	struct build_id id;
	char *bytes;
	struct stat st;
	bool done;
	char *at;

	if (fd < 0 || fstat(fd, &st))
		return false;
	id = locate__build_id(fd);
	bytes = malloc(st.st_size);
	done = pread(fd, bytes, st.st_size, 0) == st.st_size;
	close(fd);
	at = done ? memmem(bytes, st.st_size, id.bits, id.bytes) : NULL;
	if (at)
		*at ^= 0xff;
	fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	done = at && write(fd, bytes, st.st_size) == st.st_size;
	close(fd);
	free(bytes);
	return done;
}

TEST_F(ranges, libc_by_its_debug_file_is_what_the_compiler_made_of_malloc_c)
{
	Dwarf *dwarf = open_libc_dwarf();
	__u64 start, end;

	if (!dwarf)
		SKIP(return, "libc6-dbg is not installed");
	ASSERT_TRUE(malloc_unit(dwarf, &start, &end));
	dwarf_end(dwarf);
	ASSERT_EQ(0, find_ranges(LIBC, &self->r));
	EXPECT_EQ(CHURN_RANGE_DEBUG, self->r->how);
	ASSERT_EQ(1, self->r->nr);
	EXPECT_EQ(start, self->r->ranges[0].start);
	EXPECT_EQ(end, self->r->ranges[0].end);
	EXPECT_EQ(20, self->r->build_id.bytes);
}

TEST_F(ranges, libc_by_its_calls_is_what_the_compiler_made_of_malloc_c)
{
	Dwarf *dwarf = open_libc_dwarf();
	__u64 start, end;

	if (!dwarf)
		SKIP(return, "libc6-dbg is not installed");
	ASSERT_TRUE(malloc_unit(dwarf, &start, &end));
	dwarf_end(dwarf);
	ASSERT_TRUE(copy_without_debug(self->path));
	ASSERT_EQ(0, find_ranges(self->path, &self->r));
	EXPECT_EQ(CHURN_RANGE_CALLS, self->r->how);
	ASSERT_EQ(1, self->r->nr);
	EXPECT_EQ(start, self->r->ranges[0].start);
	EXPECT_EQ(end, self->r->ranges[0].end);
}

TEST_F(ranges, static_glibc_is_what_the_linker_took_of_malloc_o)
{
	char command[512];
	__u64 linked[2];

	ASSERT_EQ(0, run("echo 'int main(void) { return !__builtin_malloc(23); }' |"
			 " gcc -x c -O0 -static -Wl,-Map=%s -o %s -", self->map, self->path));
	snprintf(command, sizeof(command),
		 "awk '$1 == \".text\" && $4 ~ /libc.a.malloc.o/ { print $2, $3 }' %s", self->map);
	ASSERT_EQ(2, numbers_of(command, linked, 2));
	ASSERT_EQ(0, find_ranges(self->path, &self->r));
	EXPECT_EQ(CHURN_RANGE_SYMTAB, self->r->how);
	ASSERT_EQ(1, self->r->nr);
	EXPECT_EQ(linked[0], self->r->ranges[0].start);
	EXPECT_EQ(linked[0] + linked[1], self->r->ranges[0].end);
}

/* ------------------------------------------------------------------ other allocators */

/* The functions of an object whose names begin so. */
static size_t functions_of(const char *path, const char *prefix, __u64 *ret, size_t max)
{
	char command[512];

	snprintf(command, sizeof(command), "nm %s | awk '$3 ~ /^%s/ { print $1 }'", path, prefix);
	return numbers_of(command, ret, max);
}

static void expect_all(struct __test_metadata *_metadata, const struct alloc_ranges *r,
		       const char *path, const char *prefix, size_t nr, bool inside)
{
	__u64 addrs[32];

	ASSERT_EQ(nr, functions_of(path, prefix, addrs, 32));
	for (size_t i = 0; i < nr; i++) {
		EXPECT_EQ(inside, holds(r, addrs[i]))
			TH_LOG("%s at %#llx", prefix, addrs[i]);
	}
}

TEST_F(ranges, of_a_stripped_allocator_what_only_its_entry_points_lead_to)
{
	ASSERT_EQ(0, run("gcc -O1 -fPIC -shared -o %s " SOURCE, self->full));
	ASSERT_EQ(0, run("strip -o %s %s", self->path, self->full));
	ASSERT_EQ(0, find_ranges(self->path, &self->r));
	EXPECT_EQ(CHURN_RANGE_CALLS, self->r->how);
	expect_all(_metadata, self->r, self->full, "in_", 4, true);
	expect_all(_metadata, self->r, self->full, "out_", 3, false);
	expect_all(_metadata, self->r, self->full, "(malloc|calloc|free)$", 3, true);
	expect_all(_metadata, self->r, self->full, "other_api", 1, false);
}

TEST_F(ranges, names_with_an_allocators_prefix_belong_to_it)
{
	ASSERT_EQ(0, run("sed 's/out_unused/je_unused/g; s/out_shared/je_shared/g' " SOURCE " |"
			 " gcc -x c -O1 -fPIC -shared -o %s -", self->path));
	ASSERT_EQ(0, find_ranges(self->path, &self->r));
	EXPECT_EQ(CHURN_RANGE_SYMTAB, self->r->how);
	expect_all(_metadata, self->r, self->path, "je_", 2, true);
	expect_all(_metadata, self->r, self->path, "in_", 4, true);
	expect_all(_metadata, self->r, self->path, "out_", 1, false);
}

TEST_F(ranges, of_an_allocators_own_library_all_code)
{
	__u64 segment[3];
	char command[512];

	ASSERT_EQ(0, run("gcc -O1 -fPIC -shared -Wl,-soname,libjemalloc.so.2 -o %s " SOURCE,
			 self->path));
	ASSERT_EQ(0, find_ranges(self->path, &self->r));
	EXPECT_EQ(CHURN_RANGE_OBJECT, self->r->how);
	snprintf(command, sizeof(command),
		 "readelf -lW %s | awk '$1 == \"LOAD\" && $8 == \"E\" { print $2, $3, $5 }'",
		 self->path);
	ASSERT_EQ(3, numbers_of(command, segment, 3));
	ASSERT_EQ(1, self->r->nr);
	EXPECT_EQ(segment[0], self->r->ranges[0].offset);
	EXPECT_EQ(segment[1], self->r->ranges[0].start);
	EXPECT_EQ(segment[1] + segment[2], self->r->ranges[0].end);
}

TEST_F(ranges, offsets_are_of_the_file_where_addresses_are_others)
{
	ASSERT_EQ(0, run("gcc -O1 -fPIC -shared -Wl,-Ttext-segment=0x7000000 -o %s " SOURCE,
			 self->path));
	ASSERT_EQ(0, find_ranges(self->path, &self->r));
	for (size_t i = 0; i < self->r->nr; i++)
		EXPECT_EQ(self->r->ranges[i].start - 0x7000000, self->r->ranges[i].offset);
}

TEST_F(ranges, ranges_are_sorted_and_do_not_overlap)
{
	ASSERT_EQ(0, run("gcc -O1 -fPIC -shared -o %s " SOURCE, self->path));
	ASSERT_EQ(0, find_ranges(self->path, &self->r));
	ASSERT_LE(2, self->r->nr);
	for (size_t i = 0; i < self->r->nr; i++) {
		EXPECT_LT(self->r->ranges[i].start, self->r->ranges[i].end);
		if (i)
			EXPECT_LT(self->r->ranges[i - 1].end, self->r->ranges[i].start);
	}
}

/* ------------------------------------------------------------------ damaged files */

static int write_copy(const char *path, const char *bytes, size_t nr_bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	bool done = fd >= 0 && write(fd, bytes, nr_bytes) == (ssize_t)nr_bytes;

	if (fd >= 0)
		close(fd);
	return done ? 0 : -EIO;
}

static bool is_sane(const struct alloc_ranges *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		if (r->ranges[i].start >= r->ranges[i].end)
			return false;
	}
	return r->nr > 0;
}

TEST_F(ranges, damaged_files_do_no_harm)
{
	unsigned int seed = 23;
	size_t nr_found = 0;
	char bytes[65536];
	ssize_t nr_bytes;
	int fd;

	ASSERT_EQ(0, run("gcc -O1 -fPIC -shared -s -o %s " SOURCE, self->path));
	fd = open(self->path, O_RDONLY | O_CLOEXEC);
	nr_bytes = read(fd, bytes, sizeof(bytes));
	close(fd);
	ASSERT_LT(4096, nr_bytes);
	for (int i = 0; i < 2000; i++) {
		struct alloc_ranges *r;
		char copy[sizeof(bytes)];

		memcpy(copy, bytes, nr_bytes);
		for (int j = 0; j < 1 + i % 64; j++)
			copy[rand_r(&seed) % nr_bytes] = rand_r(&seed);
		ASSERT_EQ(0, write_copy(self->path, copy,
					i % 3 ? nr_bytes : rand_r(&seed) % nr_bytes));
		if (find_ranges(self->path, &r))
			continue;
		nr_found++;
		EXPECT_TRUE(is_sane(r));
		alloc_ranges__free(r);
	}
	EXPECT_LT(100, nr_found);
}

TEST_HARNESS_MAIN
