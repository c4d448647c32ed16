// SPDX-License-Identifier: GPL-2.0-only
/*
 * tables_bench - what the walker's tables of files take: CPU time to compile them, and memory.
 *
 *	tables_bench [-r RUNS] FILE...
 *	tables_bench [-r RUNS] -p PID		all files that the process runs code of
 *
 * Times are medians of RUNS. "adding" is what it takes to put a table among the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stack/cfi.h"
#include "stack/tables.h"
#include "target/maps.h"

#define MAX_RUNS	99
#define MAX_FILES	512

struct cost {
	size_t nr_rows, nr_rules, nr_pages;
	double compile_ms, add_ms;
};

static int nr_runs = 5;

static double thread_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, int nr)
{
	qsort(values, nr, sizeof(*values), by_value);
	return values[nr / 2];
}

static int compile(const char *path, struct cfi_table **ret, double *ms)
{
	double start = thread_ms();
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = cfi_table__new(fd, ret);
	close(fd);
	*ms = thread_ms() - start;
	return err;
}

static int add(const struct cfi_table *cfi, struct cost *ret)
{
	struct walk_tables_size size;
	struct walk_tables *tables;
	struct walk_memory *mem;
	struct walk_file file;
	int err;

	err = walk_memory__new_plain(&mem);
	if (err)
		return err;
	err = walk_tables__new(mem, &tables);
	if (!err) {
		ret->add_ms = thread_ms();
		err = walk_tables__add(tables, cfi, &file);
		ret->add_ms = thread_ms() - ret->add_ms;
		walk_tables__size(tables, &size);
		ret->nr_rows = size.nr_rows;
		ret->nr_rules = size.nr_rules;
		ret->nr_pages = size.nr_pages;
		walk_tables__free(tables);
	}
	walk_memory__free_plain(mem);
	return err;
}

static int measure(const char *path, struct cost *ret)
{
	double compile_ms[MAX_RUNS], add_ms[MAX_RUNS];
	struct cfi_table *cfi;
	int i, err = 0;

	for (i = 0; i < nr_runs && !err; i++) {
		err = compile(path, &cfi, &compile_ms[i]);
		if (err)
			break;
		err = add(cfi, ret);
		add_ms[i] = ret->add_ms;
		cfi_table__free(cfi);
	}
	if (err) {
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
		return err;
	}
	ret->compile_ms = median(compile_ms, nr_runs);
	ret->add_ms = median(add_ms, nr_runs);
	return 0;
}

static double kilobytes(const struct cost *c)
{
	return (c->nr_rows * sizeof(__u32) + c->nr_pages * sizeof(struct walk_page) +
		c->nr_rules * sizeof(struct walk_rule)) / 1024.0;
}

static void print(const char *name, const struct cost *c)
{
	const char *slash = strrchr(name, '/');

	printf("%-28.28s %9zu %7zu %7zu %9.1f %11.2f %10.2f\n", slash ? slash + 1 : name, c->nr_rows,
	       c->nr_rules, c->nr_pages, kilobytes(c), c->compile_ms, c->add_ms);
}

/* @nr files, and the sum of them; rules that files share are counted once for each. */
static int print_all(char **paths, int nr)
{
	struct cost c, sum = {};
	int i, nr_failed = 0;
	char name[32];

	printf("%-28s %9s %7s %7s %9s %11s %10s\n", "table", "rows", "rules", "pages", "KB",
	       "compile ms", "adding ms");
	for (i = 0; i < nr; i++) {
		if (measure(paths[i], &c)) {
			nr_failed++;
			continue;
		}
		print(paths[i], &c);
		sum.nr_rows += c.nr_rows;
		sum.nr_rules += c.nr_rules;
		sum.nr_pages += c.nr_pages;
		sum.compile_ms += c.compile_ms;
		sum.add_ms += c.add_ms;
	}
	snprintf(name, sizeof(name), "%d files together", nr - nr_failed);
	print(name, &sum);
	return nr_failed == nr;
}

static bool has(char **paths, int nr, const char *path)
{
	while (nr--) {
		if (!strcmp(paths[nr], path))
			return true;
	}
	return false;
}

static int list_files(int pid, char **paths)
{
	struct maps_entry entry;
	char name[32], *line = NULL;
	size_t room = 0;
	int nr = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	if (!maps)
		return 0;
	while (nr < MAX_FILES && getline(&line, &room, maps) > 0) {
		if (maps_entry__parse(line, &entry) && entry.is_executable &&
		    entry.path[0] == '/' && !has(paths, nr, entry.path))
			paths[nr++] = strdup(entry.path);
	}
	free(line);
	fclose(maps);
	return nr;
}

int main(int argc, char **argv)
{
	char *paths[MAX_FILES];
	int c, pid = 0;

	while ((c = getopt(argc, argv, "r:p:")) != -1) {
		if (c == 'r')
			nr_runs = atoi(optarg);
		else if (c == 'p')
			pid = atoi(optarg);
		else
			return 2;
	}
	if (nr_runs < 1 || nr_runs > MAX_RUNS || (!pid && optind == argc))
		return 2;
	return pid ? print_all(paths, list_files(pid, paths)) : print_all(argv + optind, argc - optind);
}
